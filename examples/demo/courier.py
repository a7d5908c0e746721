"""A sync tool with bad manners: carries files and deletions between two folders, and loses, doubles and delays some.

Hub and agent each see a folder of their own; this process is all that joins them. It knows nothing of frames.
Run as `python -m examples.demo.courier HUB_FOLDER AGENT_FOLDER --log FILE`.
"""

import heapq
import json
import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

import typer

POLL_SECONDS: Final = 0.02
LOST: Final = 0.2
DOUBLED: Final = 0.1  # comes back once after it was deleted, as a deleted file under a sync tool may
DELAYED: Final = 0.2
DELAY_SECONDS: Final = (0.1, 1.2)
MAX_WAITING: Final = 10_000  # a bound for the jobs of a peer that never deletes anything

Job = tuple[float, int, Callable[[], None]]


@dataclass
class Courier:
    """Carries one direction: from the folder of the side that writes to the folder of the side that reads."""

    source: Path
    target: Path
    chance: random.Random
    counts: Counter[str]
    seen: set[str] = field(default_factory=set)
    carried: set[str] = field(default_factory=set)
    doubled: set[str] = field(default_factory=set)
    jobs: list[Job] = field(default_factory=list)
    number: int = 0

    def step(self, now: float) -> None:
        """Look at the source once, decide the fate of each new name, and do what is due."""
        names = {entry.name for entry in os.scandir(self.source) if entry.is_file(follow_symlinks=False)}
        for name in sorted(names - self.seen):
            self._decide(name, now)
        for name in sorted(self.carried - names):
            self._remove(name, now)
        self.seen &= names | self.carried
        self.seen |= names
        while self.jobs and self.jobs[0][0] <= now:
            heapq.heappop(self.jobs)[2]()

    def _decide(self, name: str, now: float) -> None:
        if self.chance.random() < LOST:
            self.counts["lost"] += 1
            return
        if self.chance.random() < DOUBLED:
            self.doubled.add(name)
        delay = 0.0
        if self.chance.random() < DELAYED:
            self.counts["delayed"] += 1
            delay = self.chance.uniform(*DELAY_SECONDS)
        self._later(now + delay, lambda: self._carry(name))

    def _carry(self, name: str) -> None:
        """Copy under a name of the courier's own, then rename: a sync tool does no less."""
        temporary = self.target / f".courier.{name}.tmp"
        try:
            shutil.copyfile(self.source / name, temporary)
        except FileNotFoundError:
            return  # its writer has deleted it meanwhile
        content = temporary.read_bytes()
        temporary.rename(self.target / name)
        self.counts["carried"] += 1
        self.carried.add(name)
        if name in self.doubled:
            self.doubled.discard(name)
            self._later(time.monotonic() + 2.0, lambda: self._bring_back(name, content))

    def _bring_back(self, name: str, content: bytes) -> None:
        """The old file once more, after its writer may long have deleted it; and gone again a little later."""
        temporary = self.target / f".courier.{name}.tmp"
        temporary.write_bytes(content)
        temporary.rename(self.target / name)
        self.counts["doubled"] += 1
        if name not in self.carried:
            self._later(time.monotonic() + 1.0, lambda: (self.target / name).unlink(missing_ok=True))

    def _remove(self, name: str, now: float) -> None:
        self.carried.discard(name)
        self._later(now, lambda: (self.target / name).unlink(missing_ok=True))

    def _later(self, due: float, job: Callable[[], None]) -> None:
        if len(self.jobs) >= MAX_WAITING:
            raise OverflowError(f"{MAX_WAITING} files wait to be carried from {self.source}")
        self.number += 1
        heapq.heappush(self.jobs, (due, self.number, job))


def couriers(hub: Path, agent: Path, seed: int) -> tuple[Courier, Courier]:
    """Both directions of one link, sharing one stream of chance and one set of counts."""
    chance, counts = random.Random(seed), Counter[str]()
    return (
        Courier(hub / "to-agent", agent / "to-agent", chance, counts),
        Courier(agent / "to-hub", hub / "to-hub", chance, counts),
    )


def main(
    hub: Annotated[Path, typer.Argument(help="the hub's link folder")],
    agent: Annotated[Path, typer.Argument(help="the agent's link folder")],
    log: Annotated[Path, typer.Option(help="file for the counts, rewritten as they grow")],
    seed: Annotated[int, typer.Option(help="of the losses")] = 1,
    seconds: Annotated[float, typer.Option(help="stop after so long")] = 86_400.0,
) -> None:
    """Carry until told to stop."""
    pair = couriers(hub, agent, seed)
    stop: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _frame: stop.append(received))
    end, written = time.monotonic() + seconds, ""
    while not stop and time.monotonic() < end:
        for courier in pair:
            courier.step(time.monotonic())
        counts = json.dumps(pair[0].counts, sort_keys=True)
        if counts != written:
            fresh = log.with_suffix(".new")
            fresh.write_text(counts, encoding="utf-8")
            fresh.rename(log)
            written = counts
        time.sleep(POLL_SECONDS)


if __name__ == "__main__":
    typer.run(main)
