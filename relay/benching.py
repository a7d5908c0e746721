"""`folder-relay bench`: how fast requests travel over a person's own share. Measures; decides and stores nothing."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from relay.calls import Reply, Request
from relay.client import Client
from relay.ports import Clock

_BODY = b"x" * 1_024


@dataclass(frozen=True, slots=True)
class Figures:
    """Milliseconds for a round trip of 1 KiB by one caller; messages a second with many callers."""

    calls: int
    median_ms: float
    slowest_ms: float
    callers: int
    per_second: float

    def __str__(self) -> str:
        return (
            f"round trip of 1 KiB: median {self.median_ms:.2f} ms, slowest {self.slowest_ms:.2f} ms of {self.calls}\n"
            f"{self.callers} callers at once: {self.per_second:.0f} answers a second"
        )


def echo(request: Request) -> Reply:
    """What the answering side of a measurement does."""
    return Reply(200, {}, request.body)


def figures_of(
    client: Client, clock: Clock, *, calls: int, callers: int, told: Callable[[str], None] = lambda _: None
) -> Figures:
    """Measure over a client whose other side echoes."""
    client.call("POST", "/", _BODY)  # both sides have met, and nothing is cold
    times = []
    for _ in range(calls):
        started = clock.monotonic()
        client.call("POST", "/", _BODY)
        times.append((clock.monotonic() - started) * 1000)
    times.sort()
    told(f"{calls} calls one after the other are through")
    started = clock.monotonic()
    with ThreadPoolExecutor(callers) as pool:
        for _ in pool.map(lambda _: client.call("POST", "/", _BODY), range(calls * 4)):
            pass
    seconds = clock.monotonic() - started
    return Figures(calls, times[len(times) // 2], times[-1], callers, calls * 4 / seconds)
