"""More frames than any event queue holds, while their reader stands still: each is handled once all the same."""

import contextlib
import random
import signal
import sqlite3
from pathlib import Path

from relay import create_link
from relay.names import FrameName
from tests.contracts.shares.forgery import sealed_request
from tests.contracts.shares.mounts import wait_until
from tests.contracts.shares.station import Orders
from tests.contracts.shares.traffic import FULL, StationProcess, make_links

FRAMES = 20_000 if FULL else 2_000  # inotify's queue holds 16,384
LIFE = 2_000_000_000
EPOCH = "abcdef012345"


class Flood:
    """A server's process and a sender made by hand, which knows no window."""

    def __init__(self, tmp_path: Path, frames: int) -> None:
        self.frames = frames
        share = tmp_path / "share"
        share.mkdir()
        make_links(share)
        self._link = create_link(share / "flooded", "flooded").link
        self._target = share / "flooded" / "to-hub"
        self._drafts = tmp_path / "drafts"
        self._drafts.mkdir()
        self._home = tmp_path / "home"
        orders = Orders(
            side="hub",
            serve=str(share / "flooded"),
            call=str(share / "down"),
            home=str(self._home),
            count=0,
            callers=0,
        )
        self.station = StationProcess(orders)

    def send(self, number: int, attempt: int = 0) -> None:
        name = FrameName(EPOCH, number, attempt)
        draft = self._drafts / str(name)
        draft.write_bytes(sealed_request(self._link, "agent", name, LIFE, f"flood-{number}"))
        draft.rename(self._target / str(name))

    def counters(self) -> dict[str, int]:
        counters: dict[str, int] = self.station.status()["server"]["counters"]
        return counters

    def executions(self) -> dict[str, int]:
        with contextlib.closing(sqlite3.connect(self._home / "effects.db", timeout=30)) as database:
            return dict(database.execute("SELECT id, count(*) FROM runs GROUP BY id").fetchall())

    def judge(self) -> None:
        """Wait until all are handled; each once."""
        wait_until(lambda: len(self.executions()) == self.frames, f"{self.frames} requests", 240.0)
        assert self.executions() == {f"flood-{number}": 1 for number in range(1, self.frames + 1)}
        counters = self.counters()
        assert counters["requests"] == counters["taken"] == self.frames

    def __enter__(self) -> "Flood":
        self.station.start()
        wait_until(lambda: self.station.status()["server"]["life"] is not None, "the server at work")
        return self

    def __exit__(self, *_: object) -> None:
        self.station.send(signal.SIGCONT)
        self.station.stop()


def test_frames_that_arrive_while_the_process_is_stopped_are_all_handled_once(tmp_path: Path) -> None:
    with Flood(tmp_path, FRAMES) as flood:
        flood.station.send(signal.SIGSTOP)
        numbers = list(range(1, FRAMES + 1))
        random.Random(20).shuffle(numbers)  # no order of events or of directory entries helps
        for number in numbers:
            flood.send(number)
            if number % 100 == 0:  # as a sender does that has waited too long
                flood.send(number, attempt=1)
        flood.station.send(signal.SIGCONT)
        flood.judge()


def test_frames_seen_long_before_their_turn_are_taken_when_it_comes(tmp_path: Path) -> None:
    with Flood(tmp_path, frames=FRAMES // 10) as flood:
        for number in range(flood.frames, 1, -1):
            flood.send(number)
        wait_until(lambda: flood.station.status()["server"]["peer_heard_seconds"] is not None, "the first frame read")
        assert flood.counters()["taken"] == 0
        flood.send(1)
        flood.judge()
