"""A clean stop: SIGTERM and Ctrl-C end the agent where nothing can be half done. Real signals only, no decisions."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

from relay.ports import Clock


class Stopped(BaseException):
    """Somebody wants the agent to end. No `Exception`, so that nothing on the way takes it for a fault."""


class Stop:
    """Signals, heard at once inside `open_to_stop` and at its next beginning otherwise.

    Waiting for the gap or for the hub may be broken off at any instruction: what is asked of the hub is in the journal
    and is asked again. A request to Jira and a write of the journal may not.
    """

    def __init__(self) -> None:
        self._requested = False
        self._open = False

    def hear(self) -> None:
        """Install the handlers; the main thread only."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._heard)

    def _heard(self, _number: int, _frame: FrameType | None) -> None:
        self._requested = True
        if self._open:
            self._open = False  # a second signal must not break into the way out
            raise Stopped

    @contextlib.contextmanager
    def open_to_stop(self) -> Iterator[None]:
        self._open = True
        try:
            self.check()
            yield
        finally:
            self._open = False

    def check(self) -> None:
        """Raise `Stopped` if a stop was asked for."""
        if self._requested:
            self._open = False
            raise Stopped


class StoppableClock:
    """A clock whose sleep a stop breaks off."""

    def __init__(self, clock: Clock, stop: Stop) -> None:
        self._clock = clock
        self._stop = stop

    def wall(self) -> float:
        return self._clock.wall()

    def monotonic(self) -> float:
        return self._clock.monotonic()

    def sleep(self, seconds: float) -> None:
        with self._stop.open_to_stop():
            self._clock.sleep(seconds)

    def boot_id(self) -> str:
        return self._clock.boot_id()
