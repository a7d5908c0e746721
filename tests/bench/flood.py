"""Thousands of requests waiting at once, without a thread each: an `Exchange` that only asks and counts the replies."""

import threading
import time
from pathlib import Path
from typing import Any, Final

from relay.beacon import Beacon
from relay.clock import SystemIds
from relay.exchange import Settings
from relay.frames import Message, RequestHead
from relay.link import Link, Received
from relay.parts import parcels_of
from relay.side import SideDriver
from relay.state import State

FLOOD_SECONDS: Final = 110.0
NEVER: Final = float("inf")


class Flood:
    """Keeps `waiting` requests waiting until `total` replies have come."""

    def __init__(self) -> None:
        self._ids = SystemIds()
        self.done = threading.Event()
        self._got = 0
        self._sent = 0
        self._total = 0

    def open(self, state: State, link: Link, beacon: Beacon) -> None:
        self._link = link

    def handle(self, item: Any, now: float) -> None:
        waiting, self._total, self._payload = item
        self._got, self._sent = 0, 0
        self._send(min(waiting, self._total))

    def _send(self, count: int) -> None:
        for _ in range(count):
            request = Message("request", self._ids.new_id(), RequestHead("POST", "/echo", []), self._payload)
            self._link.send(parcels_of(request))
        self._sent += count

    def take(self, received: Received, now: float) -> None:
        replies = sum(message.kind == "reply" for message in received.messages)
        self._got += replies
        self._send(min(replies, self._total - self._sent))
        if replies and self._got >= self._total:
            self.done.set()

    def prepare(self, now: float) -> bool:
        return False

    def settle(self) -> None:
        """Nobody is woken."""

    def requests_open(self) -> bool:
        return self._got < self._sent

    def wake_at(self) -> float:
        return NEVER

    def close(self) -> None:
        """Nothing is kept."""

    def failed(self, error: BaseException) -> None:
        raise error

    def counters(self) -> dict[str, int]:
        return {"replies": self._got}


class Flooder:
    """The flood's driver on the calling side."""

    def __init__(self, folder: Path, state: Path, payload: bytes) -> None:
        self._folder, self._payload = folder, payload
        self._flood = Flood()
        self._driver = SideDriver(Settings(folder, "agent", state, "none"), self._flood)
        self._driver.start("flood")

    def __call__(self, waiting: int, total: int) -> dict[str, Any]:
        """Milliseconds a message, and the most frames that one folder of the link held while it ran."""
        self._flood.done.clear()
        begin, most = time.perf_counter(), 0
        self._driver.submit((waiting, total, self._payload))
        while not self._flood.done.wait(0.01):
            most = max(most, *(self._frames_in(name) for name in ("to-hub", "to-agent")))
            if time.perf_counter() - begin > FLOOD_SECONDS:
                raise TimeoutError(f"{self._driver.status()}")
        return {"ms": (time.perf_counter() - begin) * 1000 / total, "most": most}

    def _frames_in(self, name: str) -> int:
        # Bare acknowledgements have a limit of their own.
        return sum("-ack-" not in each.name for each in (self._folder / name).glob("*.json"))
