"""The ports every package shares: time and chance. Their adapters stand in `relay/clock.py`."""

from collections.abc import Callable
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


class Cipher(Protocol):
    """Hides content from whoever reads the share. Each direction has a key of its own."""

    def hide(self, plain: bytes, context: str) -> str:
        """`plain` as text that says nothing; it can be shown only in the same context."""
        ...

    def show(self, hidden: str, context: str) -> bytes:
        """What the other side hid; raises `ValueError` if it did not, or in another context."""
        ...


class Folder(Protocol):
    """One link folder as one side sees it: it writes one subfolder and reads the other.

    Every method raises `ShareFault` where the share fails, and may block as long as the share does.
    """

    def beacon(self) -> bytes:
        """The bytes of the beacon, fresh; proves that the share is there and tells which link it is."""
        ...

    def check(self) -> bool:
        """Whether the beacon looks as it did when it was last read; if not, read it again before trusting anything."""
        ...

    def prepare(self) -> None:
        """Make the subfolders where only the beacon was brought; never the link's folder itself."""
        ...

    def arrivals(self) -> list[str]:
        """Every name in the folder of the other side's frames, in no order, foreign ones included."""
        ...

    def own(self) -> list[str]:
        """Every name in the folder this side writes."""
        ...

    def read(self, name: str, limit: int) -> bytes:
        """The content of one arrival. Raises `FrameGone`; `FrameUnfit` for what is no plain file of ≤ `limit` bytes."""
        ...

    def read_own(self, name: str, limit: int) -> bytes:
        """The content of a file this side wrote; raises as `read` does."""
        ...

    def publish(self, name: str, data: bytes, *, durable: bool, first: Callable[[], None] = ...) -> None:
        """Make `data` appear under the fresh `name`, whole or not at all; `durable`: after a power cut too.

        `first` is called before it appears; what it raises hinders that.
        """
        ...

    def delete(self, name: str) -> None:
        """Remove one frame of this side; it may be gone already."""
        ...


class Doorbell(Protocol):
    """The only place where a driver waits."""

    def ring(self) -> None:
        """End the wait that is on, or the next one. From any thread."""
        ...

    def wait(self, seconds: float) -> bool:
        """Wait for a ring, or `seconds` at most; whether something moved in the watched folder."""
        ...

    def listens(self) -> bool:
        """Whether events of the watched folder can ring at all; mends the watch where it finds it broken."""
        ...

    def close(self) -> None:
        """Give back what the system lent."""
        ...
