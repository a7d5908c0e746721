"""How one file looks to its reader over time: when it shows, opens, becomes whole, goes, comes back. Values only."""

import math
from dataclasses import dataclass

from relay.testing.habits import Habits


@dataclass(slots=True)
class Shown:
    """Moments on the share's clock. `spoilt` is read until `whole`; what `returns` is read although it was deleted."""

    data: bytes
    from_: float = 0.0
    opens: float = 0.0
    until: float = math.inf
    spoilt: bytes | None = None
    whole: float = 0.0
    comes_back: float | None = None
    returns: bool = False


def first_look(habits: Habits, pace: float, data: bytes, now: float) -> Shown:
    """How a file published `now` shows on a share of these habits."""
    appears = now + habits.appears_seconds * pace
    shown = Shown(data, appears, now + habits.opens_seconds * pace)
    if habits.unwhole_seconds > 0:
        shown.spoilt, shown.whole = data[: len(data) // 3], appears + habits.unwhole_seconds * pace
    return shown
