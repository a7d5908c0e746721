"""How the share is, as the last operations on it showed. The driver asks before it reads or writes."""

import math

from relay.errors import ShareFault, ShareState

_OF_WRITING_ALONE = frozenset({"full", "readonly", "denied"})


class ShareHealth:
    """Not ok: sending pauses, deadlines stand still, and every `retry_seconds` it is tried again."""

    def __init__(self, retry_seconds: float, now: float) -> None:
        self.state: ShareState = "lost"  # until it was seen
        self.detail = "not looked at yet"
        self.retry_at = -math.inf
        self._retry_seconds = retry_seconds
        self._writes_fail = False
        self._since = now

    @property
    def readable(self) -> bool:
        """Whether it is worth listening to it as usual: one that refuses to be written to may still be read."""
        return self.state == "ok" or self._writes_fail

    def may_write(self, now: float) -> bool:
        return self.state == "ok" or (self._writes_fail and self.retry_at <= now)

    def failed(self, fault: ShareFault, now: float, *, on_write: bool) -> bool:
        """An operation failed; whether that is news."""
        news = self.state != fault.state
        if self.state == "ok":
            self._since = now
        self.state, self.detail = fault.state, str(fault)
        self._writes_fail = on_write and fault.state in _OF_WRITING_ALONE
        self.retry_at = now + self._retry_seconds
        return news

    def worked(self, now: float, *, on_write: bool) -> float:
        """An operation worked; for how many seconds the share was away until now, 0 if it was not."""
        if self.state == "ok" or self._writes_fail != on_write:
            return 0.0
        self.state, self.detail, self._writes_fail = "ok", "in use", False
        return max(now - self._since, 1e-9)
