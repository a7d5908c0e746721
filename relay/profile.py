"""What is assumed of a share, and the limits of a link: numbers only, with their reasons."""

from dataclasses import dataclass
from typing import Final, Literal

Durability = Literal["full", "none"]

PROTOCOL: Final = 1
MAX_FRAME_BYTES: Final = 1 << 20
# Room in a frame for what stands around its messages: under 600 bytes with a full window of `want`.
FRAME_OVERHEAD: Final = 2_048
# A part as base64, with its envelope, fills a frame to nine tenths.
PART_BYTES: Final = 700_000


@dataclass(frozen=True, slots=True)
class Profile:
    """How one share behaves and how hard it may be worked. Seconds, bytes."""

    visibility_seconds: float = 0.0
    """How long the other side's files take to appear; measured by the doctor, 0 on a local disk."""

    resend_seconds: float = 2.0
    """An unacknowledged frame goes out again after this, or after 3 × the visibility delay if that is longer."""

    resend_limit_seconds: float = 60.0
    silent_attempts: int = 12
    """Attempts towards a silent peer (about 10 minutes); then its first sign of life is waited for."""

    ack_soon_seconds: float = 0.05
    ack_late_seconds: float = 1.0
    heartbeat_seconds: float = 30.0
    offline_seconds: float = 90.0
    """Three heartbeats: a peer silent for longer counts as offline."""

    presence_seconds: float = 3.0
    """Where files lie that this side's memory knows nothing of: it begins when nobody adds to them for so long."""

    window: int = 16
    queue_messages: int = 4_096
    queue_bytes: int = 128 << 20
    max_message_bytes: int = 32 << 20
    files_per_tick: int = 200

    scan_first_seconds: float = 0.001
    scan_limit_seconds: float = 0.25
    """Four looks a second cost a tenth of a percent of a core."""

    scan_trusting_seconds: float = 10.0
    """The idle scan where events have proved reliable."""

    guess_seconds: float = 30.0
    """An answer overdue for as long: the next frame's name is tried although no listing shows it. `inf`: never."""

    scan_cost_factor: float = 20.0
    retry_seconds: float = 0.5
    """Between looks at a share that is not ok."""

    stuck_seconds: float = 5.0
    """A call on the share that lasts longer makes it `stuck`."""

    jump_seconds: float = 30.0
    """Wall and monotonic clocks apart by more: the machine slept, so nothing is overdue yet."""

    @property
    def resend_after(self) -> float:
        return max(self.resend_seconds, 3 * self.visibility_seconds)
