"""hypothesis strategies: schedules of faults for `FaultyShare`, which shrink to the one fault that matters."""

from collections.abc import Sequence

from hypothesis import strategies as st

from relay.frames import Side
from relay.testing.habits import FAULT_KINDS, Fault, FaultKind

_LONGEST_SECONDS = 0.5
_STEP_SECONDS = 7_200.0


def fault_schedules(
    *,
    kinds: Sequence[FaultKind] = FAULT_KINDS,
    sides: Sequence[Side] = ("hub", "agent"),
    most: int = 8,
    within: int = 30,
) -> st.SearchStrategy[tuple[Fault, ...]]:
    """Up to `most` faults, each at one of the first `within` operations of its sort."""
    return st.lists(_faults(kinds, sides, within), max_size=most).map(tuple)


def _faults(kinds: Sequence[FaultKind], sides: Sequence[Side], within: int) -> st.SearchStrategy[Fault]:
    def fault(kind: FaultKind, side: Side, nth: int, share: float) -> Fault:
        seconds = (2 * share - 1) * _STEP_SECONDS if kind == "clock_step" else share * _LONGEST_SECONDS
        return Fault(kind, side, nth, seconds)

    return st.builds(
        fault,
        st.sampled_from(list(kinds)),
        st.sampled_from(list(sides)),
        st.integers(0, within - 1),
        st.floats(0.0, 1.0, width=32),
    )
