"""When to look into the folder again: back-off of the scan, how far events can be trusted, files not whole yet."""

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from relay.profile import Profile

TRUSTED_SHARE: Final = 0.95
TRUSTED_AFTER: Final = 20  # arrivals, before their share says anything
METER_MEMORY: Final = 200
ANNOUNCED_FIRST_SECONDS: Final = 0.016  # where events come first, a look before them only stands in their way
COSTS_KEPT: Final = 3  # the least of them counts: one listing held up by something else says nothing about the next
UNWHOLE_READINGS: Final = 3
UNWHOLE_SECONDS: Final = 30.0
# Who was just active looks a few times in a row before he backs off, and where listings are not dear, at a pace that
# takes up to a third of the time: on a share without events that is what the next message waits for.
EAGER_LOOKS: Final = 6
EAGER_COST_FACTOR: Final = 2.0
# Where events tell of most, looks would come before many of them, and they would never prove reliable.
EVENTS_TELL: Final = 0.8
DEAR_LISTING_SECONDS: Final = 0.005
MAX_DOUBTS: Final = 1_000


@dataclass(slots=True)
class EventMeter:
    """Counts what an event announced and what only a scan found."""

    by_event: int = 0
    by_scan: int = 0

    def note(self, arrivals: int, *, announced: bool) -> None:
        """`arrivals` new files were there."""
        if announced:
            self.by_event += arrivals
        else:
            self.by_scan += arrivals
        if self.by_event + self.by_scan > METER_MEMORY:
            self.by_event //= 2
            self.by_scan //= 2

    @property
    def share(self) -> float:
        """The part of the arrivals that events announced, 0 to 1."""
        return self.by_event / max(1, self.by_event + self.by_scan)

    @property
    def trusted(self) -> bool:
        return self.by_event + self.by_scan >= TRUSTED_AFTER and self.share >= TRUSTED_SHARE


class Lookout:
    """The scan's back-off: at once after activity, doubling while nothing comes."""

    def __init__(self, profile: Profile) -> None:
        self.meter = EventMeter()
        self.due = -math.inf
        self._profile = profile
        self._gap = profile.scan_first_seconds
        self._costs: deque[float] = deque(maxlen=COSTS_KEPT)
        self._eager = 0

    def looked(self, now: float, cost: float, *, arrivals: int, announced: bool) -> None:
        """A listing that took `cost` seconds found so many new frames."""
        self._costs.append(cost)
        cost = min(self._costs)
        pace = self._profile.scan_cost_factor
        if arrivals:
            self.meter.note(arrivals, announced=announced)
            self._begin_anew()
        if self._eager and cost <= DEAR_LISTING_SECONDS:
            self._eager -= 1
            pace = EAGER_COST_FACTOR
        elif not arrivals:
            limit = self._profile.scan_limit_seconds
            if self.meter.trusted and self._gap >= limit:
                limit = self._profile.scan_trusting_seconds
            self._gap = min(max(self._gap, self._first_gap()) * 2, limit)
        self.due = now + max(self._gap, pace * cost)

    def active(self, now: float) -> None:
        """An answer is waited for: look often again."""
        self._begin_anew()
        self.due = min(self.due, now + self._gap)

    def _begin_anew(self) -> None:
        self._gap = self._first_gap()
        self._eager = 0 if self.meter.share >= EVENTS_TELL else EAGER_LOOKS

    def _first_gap(self) -> float:
        return ANNOUNCED_FIRST_SECONDS if self.meter.share >= EVENTS_TELL else self._profile.scan_first_seconds


@dataclass(slots=True)
class _Doubt:
    since: float
    readings: int
    again: float
    content: bytes


@dataclass(slots=True)
class Doubts:
    """Files that bear a frame's name and prove nothing: maybe not whole yet, so they are waited for."""

    _doubts: dict[str, _Doubt] = field(default_factory=dict)

    def may_look(self, name: str, now: float) -> bool:
        """Whether it is time to read `name` (again)."""
        doubt = self._doubts.get(name)
        return doubt is None or doubt.again <= now

    def note(self, name: str, content: bytes, now: float) -> bool:
        """`name` read and found wanting; whether it is given up for good, to be kept in quarantine."""
        digest = content[:64] + len(content).to_bytes(8, "big") + content[-64:]
        doubt = self._doubts.get(name)
        if doubt is None or doubt.content != digest:
            if len(self._doubts) >= MAX_DOUBTS:
                return True
            doubt = self._doubts[name] = _Doubt(now, 0, now, digest)
        doubt.readings += 1
        doubt.again = now + min(10.0, 0.01 * 3.0**doubt.readings)
        if doubt.readings >= UNWHOLE_READINGS and now - doubt.since >= UNWHOLE_SECONDS:
            del self._doubts[name]
            return True
        return False

    def settle(self, present: set[str]) -> None:
        """Forget the files that are gone."""
        for name in [name for name in self._doubts if name not in present]:
            del self._doubts[name]

    def clear(self, name: str) -> None:
        """It has become whole."""
        self._doubts.pop(name, None)

    @property
    def wake_at(self) -> float:
        return min((doubt.again for doubt in self._doubts.values()), default=math.inf)

    def __len__(self) -> int:
        return len(self._doubts)
