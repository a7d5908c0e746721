"""What a link counts, apart from each other, so that a fault of the folder can be told from a crash."""

from dataclasses import dataclass


@dataclass(slots=True)
class Tally:
    """Frames, since this side was started."""

    published: int = 0
    repeated: int = 0
    acknowledged: int = 0
    taken: int = 0
    doubled: int = 0
    resurrected: int = 0
    malformed: int = 0
    acks: int = 0
