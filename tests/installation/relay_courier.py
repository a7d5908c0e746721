"""A courier between two folders of one link, as a sync tool is: it loses, doubles and delays new files."""

import random
import shutil
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

LOSS = 0.2
DOUBLED = 0.1
DELAYS = (0.0, 0.0, 0.0, 0.05, 0.15)


class Courier:
    """Carries `hub`'s frames to `agent` and back. A lost try is never seen by its reader; its writer keeps it."""

    def __init__(self, hub: Path, agent: Path, seed: int) -> None:
        self.lost = 0
        self.doubled = 0
        self._chance = random.Random(seed)
        self._ways = ((hub / "to-agent", agent / "to-agent"), (agent / "to-hub", hub / "to-hub"))
        self._under_way: list[tuple[float, Path, bytes]] = []
        self._carried: dict[Path, bool] = {}  # by source; whether the reader has it
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="courier", daemon=True)
        agent.mkdir(exist_ok=True)
        shutil.copy(hub / "link.json", agent / "link.json")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(10)

    def _work(self) -> None:
        while not self._stop.wait(0.005):
            now = time.monotonic()
            for source, target in self._ways:
                if source.is_dir() and target.is_dir():
                    self._pick_up(source, target, now)
            self._hand_over(now)

    def _pick_up(self, source: Path, target: Path, now: float) -> None:
        present = {path for path in source.iterdir() if path.suffix == ".json"}
        for path in present - self._carried.keys():
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                continue
            self._carried[path] = self._chance.random() >= LOSS
            if not self._carried[path]:
                self.lost += 1
                continue
            self._under_way.append((now + self._chance.choice(DELAYS), target / path.name, data))
            if self._chance.random() < DOUBLED:
                self.doubled += 1
                self._under_way.append((now + self._chance.random(), target / path.name, data))
        for path in [path for path in self._carried if path.parent == source and path not in present]:
            if self._carried.pop(path):
                (target / path.name).unlink(missing_ok=True)

    def _hand_over(self, now: float) -> None:
        due = [one for one in self._under_way if one[0] <= now]
        self._under_way = [one for one in self._under_way if one[0] > now]
        for _, path, data in due:
            temporary = path.parent / ".tmp" / f"courier-{path.name}"
            temporary.write_bytes(data)
            temporary.rename(path)
