"""An asyncio loop on virtual time, and what lets the hub's real app run on it without a thread or a wait."""

import asyncio
import math
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from relay.running import AsgiRunner


class _NoSelector:
    """Nothing ever arrives from outside: there is no outside."""

    def select(self, timeout: float | None) -> list[Any]:
        return []


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs what is due and stands still between two turns; its time is the machine's monotonic clock."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        super().__init__()
        self._monotonic = monotonic
        self._selector = _NoSelector()
        self._clock_resolution = 1e-9
        self.set_exception_handler(lambda loop, context: None)  # a handler's failure is its caller's matter

    def time(self) -> float:
        return self._monotonic()

    def _process_events(self, event_list: list[Any]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Nobody sleeps who had to be woken."""

    def turn(self) -> float:
        """Run everything that is ready or due; when something is due again."""
        while self._ready or (self._scheduled and self._scheduled[0]._when <= self.time()):
            self.call_soon(self.stop)
            self.run_forever()
        while self._scheduled and self._scheduled[0]._cancelled:
            self.call_soon(self.stop)
            self.run_forever()
        return self._scheduled[0]._when if self._scheduled else math.inf

    def has_work(self) -> bool:
        return bool(self._ready)


class InlineWorkers(ThreadPoolExecutor):
    """Workers for the hub's `Context` that work at once, in the thread that asks."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001  # a power cut too: it has to reach whoever waits for the future
            future.set_exception(error)
        return future


class VirtualAsgi(AsgiRunner):
    """The relay's runner of ASGI apps, on a loop that the world turns."""

    def __init__(self, app: Any, done: Callable[[Any], None], limit_bytes: int, loop: VirtualLoop) -> None:
        super().__init__(app, done, limit_bytes)
        self._loop = loop

    def open(self, link: str) -> None:
        self._link = link

    def close(self) -> None:
        self._closing = True
        for task in list(self._tasks.values()):
            task.cancel()
        self._loop.turn()
