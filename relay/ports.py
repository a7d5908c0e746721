"""The ports every package shares: time and chance. Their adapters stand in `relay/clock.py`."""

from typing import Protocol


class Clock(Protocol):
    """Time as the programs see it; a simulated one moves only when told to."""

    def wall(self) -> float:
        """Seconds since 1970 UTC; may jump either way, so it decides nothing by itself."""
        ...

    def monotonic(self) -> float:
        """Seconds since some moment of this boot; never goes back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Block for `seconds`; not at all for zero or less."""
        ...

    def boot_id(self) -> str:
        """Names this boot of this machine; two equal ids share one monotonic clock."""
        ...


class Ids(Protocol):
    """The source of chance."""

    def new_id(self) -> str:
        """32 lower-case hexadecimal digits that were never given before, over restarts too."""
        ...
