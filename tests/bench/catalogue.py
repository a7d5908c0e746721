"""Every contender of a measurement over a folder, by name, and how its ends obey the runner."""

import importlib.util
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Protocol

from tests.bench.folder_floors import RawOneWay, RawRoundTrip
from tests.bench.folder_peers import HueyFile, Kombu, PersistFile, Watchdog
from tests.bench.our_relay import OurRelay

PAYLOAD_BYTES: Final = 1024
PAYLOAD: Final = json.dumps({"pad": "x" * (PAYLOAD_BYTES - 11)}).encode()

RAW: Final = "raw inotify"
RAW_DURABLE: Final = "raw inotify, fsync file + dir"
OURS: Final = "ours"
OURS_DURABLE: Final = "ours, durable"
ONE_WAY: Final = "raw, one file a message"
ONE_WAY_DURABLE: Final = "raw, one file a message, fsync file + dir"


class RoundTrip(Protocol):
    """Requests and replies between two processes."""

    def prepare(self, share: Path) -> None: ...
    def serve(self, share: Path, local: Path, ready: Callable[[], None]) -> None: ...
    def caller(self, share: Path, local: Path) -> Callable[[bytes], bytes | None]: ...


class OneWay(Protocol):
    """Messages from a sender to a receiver."""

    def prepare(self, share: Path) -> None: ...
    def send(self, share: Path, count: int, payload: bytes) -> None: ...
    def receive(self, share: Path, count: int) -> int: ...


ROUND_TRIPS: Final[dict[str, RoundTrip]] = {
    RAW: RawRoundTrip(durable=False),
    RAW_DURABLE: RawRoundTrip(durable=True),
    OURS: OurRelay("none"),
    OURS_DURABLE: OurRelay("full"),
    "watchdog Observer": Watchdog(),
    "watchdog, taken by rename out": Watchdog(rename_out=True),
    "watchdog PollingObserver 1 s": Watchdog(polling=1.0),
    "kombu filesystem": Kombu(),
    "kombu filesystem, poll 5 ms": Kombu(0.005),
    "huey file": HueyFile(),
    "huey file, poll 1 ms": HueyFile(0.001),
}
ONE_WAYS: Final[dict[str, OneWay]] = {
    ONE_WAY: RawOneWay(durable=False),
    ONE_WAY_DURABLE: RawOneWay(durable=True),
    "kombu filesystem": Kombu(0.001),
    "huey file": HueyFile(),
}
PERSIST: Final = "persist-queue file (one process)"
_NEEDS: Final = {"kombu": "kombu", "huey": "huey", "persist-queue": "persistqueue", "litequeue": "litequeue"}


def installed(name: str) -> bool:
    """Whether what this contender is made of is there."""
    module = _NEEDS.get(name.split(" ")[0])
    return module is None or importlib.util.find_spec(module) is not None


def end_of(role: str, name: str, share: Path, local: Path) -> Callable[..., Any]:
    """What obeys the runner's orders in the process of one end."""
    match role:
        case "call":
            return _caller(ROUND_TRIPS[name].caller(share, local))
        case "crowd" | "flood":
            ours = ROUND_TRIPS[name]
            assert isinstance(ours, OurRelay)
            return (ours.crowd if role == "crowd" else ours.flood)(share, local, PAYLOAD)
        case "send":
            return lambda count: _timed(lambda: ONE_WAYS[name].send(share, count, PAYLOAD))
        case "receive":
            return lambda count: _timed(lambda: ONE_WAYS[name].receive(share, count))
        case "both":
            return lambda count: _timed(lambda: PersistFile().put_and_get(share, count, PAYLOAD))
    raise ValueError(f"no such end: {role}")


def _caller(call: Callable[[bytes], bytes | None]) -> Callable[..., Any]:
    def obey(count: int, think: float = 0.0, seconds: float = 3600.0) -> dict[str, Any]:
        """Up to `count` calls for about `seconds`, each after a pause of up to `think` seconds; in milliseconds."""
        took, lost, until = [], 0, time.monotonic() + seconds
        for number in range(count):
            if number and time.monotonic() > until:
                break
            if think:
                time.sleep(random.uniform(think / 2, think))  # no call may fall in step with a poll
            begin = time.perf_counter_ns()
            answer = call(PAYLOAD)
            if answer is None:
                lost += 1
                continue
            took.append((time.perf_counter_ns() - begin) / 1e6)
            if answer != PAYLOAD:
                raise AssertionError("a reply of another request")
        return {"ms": took, "lost": lost}

    return obey


def _timed(work: Callable[[], int | None]) -> dict[str, Any]:
    begin = time.monotonic()  # one clock for all processes of this machine
    lost = work()
    return {"begin": begin, "end": time.monotonic(), "lost": lost or 0}
