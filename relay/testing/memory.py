"""A share in memory with a view for each side: the `Folder` port without a disk."""

import threading
from collections.abc import Callable

from relay.beacon import beacon_bytes
from relay.clock import SystemIds
from relay.errors import FrameGone, FrameUnfit, ShareFault, ShareState
from relay.frames import PEER_OF, Side
from relay.ports import Ids


class MemoryShare:
    """One link folder in memory. `view("hub")` and `view("agent")` are to be given to a `Server` and a `Client`.

    `state` other than "ok" makes every operation of both views fail as such a share would.
    """

    def __init__(self, name: str = "main", *, ids: Ids | None = None) -> None:
        self.link = (ids or SystemIds()).new_id()
        self.beacon: bytes | None = beacon_bytes(self.link, name)
        self.files: dict[Side, dict[str, bytes]] = {"hub": {}, "agent": {}}  # by the side that reads them
        self.state: ShareState = "ok"
        self.lock = threading.Lock()
        self._listeners: dict[Side, Callable[[], None]] = {}

    def view(self, side: Side) -> "MemoryView":
        """The share as this side sees it."""
        return MemoryView(self, side)

    def listen(self, side: Side, listener: Callable[[], None]) -> None:
        """Call `listener` whenever a file appears for `side`."""
        self._listeners[side] = listener

    def appear(self, reader: Side, name: str, data: bytes) -> None:
        """Put a file where `reader` finds it, as its peer, or anybody else with access, would."""
        with self.lock:
            self.files[reader][name] = data
        self.ring(reader)

    def ring(self, reader: Side) -> None:
        """Tell `reader` that something has appeared."""
        if (listener := self._listeners.get(reader)) is not None:
            listener()


class MemoryView:
    """One side's view (`Folder`)."""

    def __init__(self, share: MemoryShare, side: Side) -> None:
        self.share = share
        self.side: Side = side
        self._looked: bytes | None = None

    def beacon(self) -> bytes:
        self._must_be_there()
        if self.share.beacon is None:
            raise ShareFault("lost", "beacon: no such file")
        self._looked = self.share.beacon
        return self.share.beacon

    def check(self) -> bool:
        self._must_be_there()
        if self.share.beacon is None:
            raise ShareFault("lost", "beacon: no such file")
        return self.share.beacon == self._looked

    def prepare(self) -> None:
        self._must_be_there()

    def arrivals(self) -> list[str]:
        self._must_be_there()
        with self.share.lock:
            return list(self.share.files[self.side])

    def own(self) -> list[str]:
        self._must_be_there()
        with self.share.lock:
            return list(self.share.files[PEER_OF[self.side]])

    def read(self, name: str, limit: int) -> bytes:
        return self._content(self.side, name, limit)

    def read_own(self, name: str, limit: int) -> bytes:
        return self._content(PEER_OF[self.side], name, limit)

    def _content(self, reader: Side, name: str, limit: int) -> bytes:
        self._must_be_there()
        with self.share.lock:
            data = self.share.files[reader].get(name)
        if data is None:
            raise FrameGone(name)
        if len(data) > limit:
            raise FrameUnfit(name)
        return data

    def publish(self, name: str, data: bytes, *, durable: bool, first: Callable[[], None] = lambda: None) -> None:
        self._must_be_writable(name)
        first()
        self.share.appear(PEER_OF[self.side], name, data)

    def delete(self, name: str) -> None:
        self._must_be_writable(name)
        with self.share.lock:
            self.share.files[PEER_OF[self.side]].pop(name, None)

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever a file appears for this side."""
        self.share.listen(self.side, listener)

    def _must_be_there(self) -> None:
        if self.share.state not in ("ok", "full", "readonly"):
            raise ShareFault(self.share.state, "told so by the test")

    def _must_be_writable(self, name: str) -> None:
        if self.share.state != "ok":
            raise ShareFault(self.share.state, f"{name}: told so by the test")
