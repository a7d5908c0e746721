"""How long frames take to the other side and back: an average to wait by, a histogram to look at. Pure."""

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any, Final

WEIGHT: Final = 0.125  # of one new sample, as in TCP (RFC 6298)
# Seconds, from a local disk to a sync tool that takes its time.
LIMITS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


@dataclass(slots=True)
class RoundTrips:
    """Times from publishing a frame to its acknowledgement; `counts` per limit, the last for what is above all."""

    average: float = 0.0
    seconds: float = 0.0
    counts: list[int] = field(default_factory=lambda: [0] * (len(LIMITS) + 1))

    def note(self, seconds: float) -> None:
        self.average += WEIGHT * (seconds - self.average)
        self.seconds += seconds
        self.counts[bisect_left(LIMITS, seconds)] += 1

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON: limits, how many took at most so long but longer than the one before, their sum."""
        return {"limits": list(LIMITS), "counts": list(self.counts), "seconds": round(self.seconds, 6)}
