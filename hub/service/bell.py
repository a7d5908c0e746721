"""The bell that wakes parked claims and watchers when something was committed; heard across threads and event loops."""

import asyncio
import threading


class Bell:
    """A counter of rings. Who waits says what he has seen, so a ring between the look and the wait is not lost."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rings = 0
        self._closed = False
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = set()

    @property
    def closed(self) -> bool:
        """The hub is stopping: nobody may park any more."""
        return self._closed

    def count(self) -> int:
        return self._rings

    def ring(self) -> None:
        """Wake everybody who waits, whichever loop he waits on."""
        with self._lock:
            self._rings += 1
            waiting, self._waiting = self._waiting, set()
        for loop, future in waiting:
            if not loop.is_closed():
                loop.call_soon_threadsafe(_wake, future)

    def close(self) -> None:
        """Wake everybody for the last time."""
        self._closed = True
        self.ring()

    async def heard(self, seen: int, timeout: float) -> bool:
        """Whether it rang since `seen`, or rings within `timeout` seconds."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        place = (loop, future)
        with self._lock:
            if self._rings != seen or self._closed:
                return True
            self._waiting.add(place)
        try:
            await asyncio.wait((future,), timeout=timeout)
            return future.done()
        finally:
            with self._lock:
                self._waiting.discard(place)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
