"""For tests of programs that use the relay: shares that need no disk, calm (`MemoryShare`) and faulty (`FaultyShare`).

`relay.testing.strategies` draws schedules of faults (needs hypothesis); `relay.testing.plugin` holds pytest fixtures.
"""

from relay.testing.faulty import FaultyShare, FaultyView, SteppingClock
from relay.testing.habits import FAULT_KINDS, HABITS, Fault, FaultKind, Habits
from relay.testing.memory import MemoryShare, MemoryView

__all__ = [
    "FAULT_KINDS",
    "HABITS",
    "Fault",
    "FaultKind",
    "FaultyShare",
    "FaultyView",
    "Habits",
    "MemoryShare",
    "MemoryView",
    "SteppingClock",
]
