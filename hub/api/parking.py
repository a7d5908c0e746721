"""Parked claims: one an agent; a newer one, a withdrawal or the end of the hub releases the older without effect."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.requests import Request


class Parked:
    """One claim that is being served; `wanted` may be asked from any thread."""

    def __init__(self) -> None:
        self._released = threading.Event()

    def wanted(self) -> bool:
        return not self._released.is_set()

    def release(self) -> None:
        self._released.set()


class ParkingPlace:
    """The newest claim of each agent. Shared by all apps of a hub, whichever loop they run on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: dict[tuple[str, str], Parked] = {}

    def park(self, link: str, session: str) -> Parked:
        """A place for a new claim; the older one of the same agent is no longer wanted."""
        parked = Parked()
        with self._lock:
            older = self._newest.get((link, session))
            self._newest[link, session] = parked
        if older is not None:
            older.release()
        return parked

    def leave(self, link: str, session: str, parked: Parked) -> None:
        with self._lock:
            if self._newest.get((link, session)) is parked:
                del self._newest[link, session]


@asynccontextmanager
async def watching_for_withdrawal(request: Request, withdrawn: Callable[[], None]) -> AsyncIterator[None]:
    """Calls `withdrawn` when the caller goes away; the body must have been read before."""

    async def listen() -> None:
        message = await request.receive()
        while message["type"] != "http.disconnect":
            message = await request.receive()
        withdrawn()

    task = asyncio.create_task(listen())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait((task,))
