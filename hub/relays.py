"""The relay of one link of a hub: begun again by itself when the local disk has room again. No route in here."""

import logging
import math
from collections.abc import Callable
from typing import Any, Final, Protocol

from relay import RelayError, RelayStatus, StateUnusable

LOOK_SECONDS: Final = 5.0  # a disk that is full stays so until somebody makes room
FIRST_PAUSE_SECONDS: Final = 5.0
LONGEST_PAUSE_SECONDS: Final = 60.0
_log = logging.getLogger("hub")


class OneLife(Protocol):
    """What a `relay.Server` is here: one that has ended is never started again, another one takes its place."""

    @property
    def refusal(self) -> RelayError | None: ...

    def start(self) -> Any: ...

    def stop(self) -> None: ...

    def status(self) -> RelayStatus: ...


class LinkRelay:
    """One server after the other, each made by `make`; `step` is called by whoever does the waiting."""

    def __init__(self, link: str, make: Callable[[], OneLife]) -> None:
        self._link = link
        self._make = make
        self._server = make()
        self._again_at: float | None = None  # monotonic; None while it serves
        self._begun_at = -math.inf
        self._pause = FIRST_PAUSE_SECONDS
        self._stopped = False

    def start(self) -> None:
        """Raises whatever refuses a relay at the start of the hub: there somebody is looking."""
        self._server.start()

    def step(self, now: float) -> float:
        """Begin again what has ended for want of a disk, if it is time; when to be woken."""
        if self._stopped or not isinstance(self._server.refusal, StateUnusable):
            return now + LOOK_SECONDS
        if self._again_at is None:
            lasted = now - self._begun_at >= LONGEST_PAUSE_SECONDS  # else there was room for little more than a start
            self._wait(now, FIRST_PAUSE_SECONDS if lasted else 2 * self._pause)
            _log.error("the relay of the link %s waits for the local disk: %s", self._link, self._server.refusal)
        elif now >= self._again_at:
            self._begin_again(now)
        return now + LOOK_SECONDS if self._again_at is None else self._again_at

    def _wait(self, now: float, pause: float) -> None:
        self._pause = min(pause, LONGEST_PAUSE_SECONDS)
        self._again_at = now + self._pause

    def _begin_again(self, now: float) -> None:
        self._server.stop()  # its thread has let go of the memory then
        try:
            self._server = self._make()
            self._server.start()
        except (StateUnusable, OSError):
            self._wait(now, 2 * self._pause)
        except RelayError as refusal:
            self._again_at = None
            _log.error("the relay of the link %s cannot begin again: %s; restart the hub", self._link, refusal)
        else:
            self._again_at, self._begun_at = None, now
            _log.warning("the relay of the link %s goes on", self._link)
        if self._stopped:  # meanwhile, by another thread
            self._server.stop()

    def stop(self) -> None:
        self._stopped = True
        self._server.stop()

    def status(self) -> dict[str, Any]:
        """How the relay is, and that nobody has to start it where it waits for a disk."""
        status = self._server.status().as_dict()
        if isinstance(self._server.refusal, StateUnusable):
            status["detail"] += "; the hub goes on by itself then"
        return status
