"""What the hub does by itself now and then: automatic refreshes, forgetting old answers. Each step is due or not."""

import logging
from typing import Final

from hub.errors import Refusal
from hub.refreshing import LOOK_SECONDS
from hub.service import Service
from hub.store.opening import operating_faults

HOUSEKEEPING_SECONDS: Final = 3_600.0
_log = logging.getLogger(__name__)


class Chores:
    """Driven by `step`; the one who calls it does the waiting."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._housekeeping_at = HOUSEKEEPING_SECONDS  # the start has just done it
        self._started_at: float | None = None

    def step(self, now: float) -> float:
        """Do what is due at `now` (monotonic seconds); answers when to be woken."""
        if self._started_at is None:
            self._started_at = now
        try:
            for batch_id in self._service.renew_mirrors():
                _log.info("automatic refresh: batch %d", batch_id)
            if now - self._started_at >= self._housekeeping_at:
                self._housekeeping_at += HOUSEKEEPING_SECONDS
                self._service.housekeeping()
        except operating_faults():
            _log.warning("the database was busy; the next round tries again", exc_info=True)
        except Refusal as refusal:
            _log.warning("%s", refusal.detail.en)
        return now + LOOK_SECONDS
