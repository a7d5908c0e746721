"""Two stations, hub and agent, at one share, each asking the other; and the verdict on what came of it."""

import contextlib
import hashlib
import json
import os
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from relay import create_link
from tests.contracts.shares.mounts import ROOT, wait_until
from tests.contracts.shares.station import Orders, content, orders_json, request_id

Side = Literal["hub", "agent"]
SIDES: tuple[Side, Side] = ("hub", "agent")
LINK_SERVED_BY: dict[Side, str] = {"hub": "up", "agent": "down"}
PEER: dict[Side, Side] = {"hub": "agent", "agent": "hub"}
STATUS_SECONDS = 20.0
FULL = os.environ.get("BRIDGE_PROFILE", "quick") != "quick"


def make_links(share: Path) -> None:
    """Both links in the share: on each, one side serves and the other calls."""
    for name in LINK_SERVED_BY.values():
        create_link(share / name, name)


def lay_decoy(point: Path) -> None:
    """Empty folders of both links where a share is going to be mounted, as an `init` before the first mount leaves."""
    for name in LINK_SERVED_BY.values():
        for side in SIDES:
            (point / name / f"to-{side}" / ".tmp").mkdir(parents=True)


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if not path.is_dir()]


class StationProcess:
    """A station's process: started, killed, stopped and started again with the same home."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        self.home = Path(orders.home)
        self.home.mkdir(exist_ok=True)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process_id(self) -> int:
        assert self._process is not None, f"{self.orders.side} is not running"
        return self._process.pid

    def start(self) -> None:
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.contracts.shares.station", orders_json(self.orders)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,
            )

    def kill(self) -> None:
        """kill -9."""
        self._end(signal.SIGKILL)

    def send(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def tell(self, line: str) -> None:
        assert self._process and self._process.stdin
        self._process.stdin.write(line.encode() + b"\n")

    def status(self) -> dict[str, Any]:
        """Asked of the living process; fails the test where it does not answer."""
        self.tell("status")
        return self.last_word()

    def last_word(self) -> dict[str, Any]:
        """The next line of the process."""
        assert self._process and self._process.stdout
        answer, end = b"", time.monotonic() + STATUS_SECONDS
        while not answer.endswith(b"\n"):
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, end - time.monotonic()))
            piece = self._process.stdout.read(65_536) if ready else b""
            assert piece, f"{self.orders.side} does not tell its status:\n{self.log()}"
            answer += piece
        told: dict[str, Any] = json.loads(answer)
        return told

    def hang_up(self) -> None:
        """The order to end in good order."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()

    def ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def stop(self) -> None:
        """The process ends by itself once it is told to; else by force."""
        self.hang_up()
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(15)
            self._end(signal.SIGKILL)

    def log(self) -> str:
        return (self.home / "log").read_text(encoding="utf-8", errors="replace")[-4_000:]

    def _end(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(15)
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None and not stream.closed:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()
            self._process = None


class Traffic:
    """Both stations at work. `shares` says where each side sees the share."""

    def __init__(self, home: Path, shares: dict[Side, Path], *, count: int, **orders: Any) -> None:
        home.mkdir(exist_ok=True)
        self.kills = 0
        self.stations: dict[Side, StationProcess] = {}
        for side in SIDES:
            self.stations[side] = StationProcess(
                Orders(
                    side=side,
                    serve=str(shares[side] / LINK_SERVED_BY[side]),
                    call=str(shares[side] / LINK_SERVED_BY[PEER[side]]),
                    home=str(home / side),
                    **({"count": count, "callers": min(count, 64)} | orders),
                )
            )

    def kill_and_restart(self, side: Side) -> None:
        self.kills += 1
        self.stations[side].kill()
        self.stations[side].start()

    def answered(self) -> int:
        """How many answers both sides have, read from their disks: no process is asked."""
        return sum(1 for side in SIDES for answer in self._asked(side).values() if answer is not None)

    def wait_for(self, answers: int, seconds: float) -> None:
        """Until both sides together have so many answers."""
        end = time.monotonic() + seconds
        while self.answered() < answers:
            assert time.monotonic() < end, f"not within {seconds} s: {self.report()}"
            time.sleep(0.05)

    def wait_for_all(self, seconds: float) -> None:
        """Until every request that was asked, or will be, is answered."""
        self.wait_for(sum(self.stations[side].orders.count for side in SIDES), seconds)

    def settle(self, seconds: float) -> None:
        """Ask nothing new; wait until all that was asked is answered."""
        for station in self.stations.values():
            station.tell("enough")
        end = time.monotonic() + seconds
        while any(answer is None for side in SIDES for answer in self._asked(side).values()):
            assert time.monotonic() < end, f"not within {seconds} s: {self.report()}"
            time.sleep(0.05)

    def wait_for_word(self, side: Side, share: str) -> None:
        """Until both roles of `side` say that their share is in this state."""

        def told() -> bool:
            status = self.stations[side].status()
            return status["client"]["share"] == status["server"]["share"] == share

        wait_until(told, f"the word of {side} that the share is {share}", STATUS_SECONDS)

    def report(self) -> str:
        lines = [f"{self.answered()} answers"]
        for side, station in self.stations.items():
            missing = [number for number, answer in self._asked(side).items() if answer is None]
            lines.append(f"{side}: {len(missing)} without answer, such as {missing[:5]}")
            with contextlib.suppress(AssertionError, BrokenPipeError):
                lines.append(json.dumps(station.status()))
            lines.append(station.log())
        return "\n".join(lines)

    def judge(self) -> None:
        """Nothing lost, nothing doubled, nothing mixed up. Fails the test with the first thing that is wrong."""
        for side in SIDES:
            asked = self._asked(side)
            assert asked and None not in asked.values(), f"{side} lacks answers"
            ids = {request_id(side, number) for number in asked}
            effects, runs = self._effects(PEER[side])
            assert set(effects) == ids, f"{len(ids)} requests of {side}, {len(effects)} effects"
            for number, answer in asked.items():
                one = request_id(side, number)
                body = content(side, number, self.stations[side].orders.large_every)
                expected = {"id": one, "serial": effects[one], "sha256": hashlib.sha256(body).hexdigest()}
                assert answer is not None and json.loads(answer) == expected, f"{one} got {answer}, not {expected}"
            self._judge_runs(side, runs)

    def _judge_runs(self, side: Side, runs: list[tuple[str, str]]) -> None:
        """No life of a server runs one request twice; only a kill in the middle lets a later life run it again."""
        assert [run for run, times in Counter(runs).items() if times > 1] == []
        again = [one for one, times in Counter(one for one, _ in runs).items() if times > 1]
        most = self.kills * self.stations[side].orders.callers
        assert len(again) <= most, f"{len(again)} requests of {side} ran again after {self.kills} kills"

    def ask_all_again(self, side: Side) -> None:
        """The station of `side` forgets every answer and asks again from a new process, under the same ids."""
        station = self.stations[side]
        station.stop()
        with contextlib.closing(sqlite3.connect(station.home / "asked.db", timeout=30)) as database, database:
            database.execute("UPDATE asked SET answer = NULL")
        station.start()

    def answers(self, side: Side) -> dict[int, str | None]:
        """What was answered to the requests of `side`, by number."""
        return self._asked(side)

    def executions(self, side: Side) -> int:
        """How often handlers ran for the requests of `side`."""
        return len(self._effects(PEER[side])[1])

    def _asked(self, side: Side) -> dict[int, str | None]:
        return dict(self._rows(side, "asked.db", "SELECT number, answer FROM asked"))

    def _effects(self, side: Side) -> tuple[dict[str, int], list[tuple[str, str]]]:
        effects = dict(self._rows(side, "effects.db", "SELECT id, serial FROM effects"))
        return effects, self._rows(side, "effects.db", "SELECT id, life FROM runs")

    def _rows(self, side: Side, file: str, sql: str) -> list[Any]:
        path = self.stations[side].home / file
        if not path.exists():
            return []
        with contextlib.closing(sqlite3.connect(path, timeout=30)) as database:
            try:
                return database.execute(sql).fetchall()
            except sqlite3.OperationalError:
                return []  # its process has only just begun

    def __enter__(self) -> "Traffic":
        for station in self.stations.values():
            station.start()
        return self

    def __exit__(self, *_: object) -> None:
        for station in self.stations.values():
            with contextlib.suppress(AssertionError):
                station.send(signal.SIGCONT)
            station.stop()


@contextlib.contextmanager
def traffic(home: Path, shares: dict[Side, Path], *, count: int, **orders: Any) -> Iterator[Traffic]:
    """Stations at work while the block lasts, judged at its end."""
    with Traffic(home, shares, count=count, **orders) as made:
        yield made
        made.judge()
