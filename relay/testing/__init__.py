"""For tests of programs that use the relay: shares that need no disk."""

from relay.testing.memory import MemoryShare, MemoryView

__all__ = ["MemoryShare", "MemoryView"]
