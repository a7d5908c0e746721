"""Waiting for the gap: the only place where the agent blocks on purpose. When is decided in `pacing`."""

from agent.pacing import Life, call_allowed_at, settled_at
from agent.ports import Journal
from agent.records import Intent
from relay.ports import Clock


class Pacer:
    """Keeps the gap since the last Jira call, whoever made it and in whichever life (P3)."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self._life = Life(clock.boot_id(), clock.monotonic())

    def allowed_at(self, gap_seconds: float) -> float:
        """The monotonic moment from which a call may start."""
        return call_allowed_at(self._journal.memory.last_call, self._life, gap_seconds, self._clock.monotonic())

    def wait_gap(self, gap_seconds: float) -> None:
        self.wait_until(self.allowed_at(gap_seconds))

    def wait_settled(self, intent: Intent, window_seconds: float) -> None:
        """Wait until the write of `intent` can no longer take effect unseen."""
        now = self._clock.monotonic()
        self.wait_until(settled_at(intent.boot_id, intent.monotonic, self._life, window_seconds, now))

    def wait_until(self, moment: float) -> None:
        # More than once: a sleep may end a little early by the clock it is measured with.
        for _ in range(3):
            left = moment - self._clock.monotonic()
            if left <= 0:
                return
            self._clock.sleep(left)

    def sleep(self, seconds: float) -> None:
        self.wait_until(self._clock.monotonic() + seconds)
