"""What each kind of share does to files by its nature, measured or reported, and the faults a test may add. Values."""

from dataclasses import dataclass
from typing import Final, Literal, get_args

from relay.frames import Side

FaultKind = Literal[
    "lost",
    "late",
    "doubled",
    "reordered",
    "truncated",
    "nul_filled",
    "old_content",
    "conflict_copy",
    "resurrected",
    "stale_listing",
    "stale_negative",
    "sharing_violation",
    "enospc",
    "estale",
    "eio",
    "enotconn",
    "unmounted",
    "readonly",
    "clock_step",
]
FAULT_KINDS: Final[tuple[FaultKind, ...]] = get_args(FaultKind)
# Which of a side's operations a fault strikes.
ON_PUBLISH: Final[frozenset[FaultKind]] = frozenset(
    {
        "lost",
        "late",
        "doubled",
        "reordered",
        "truncated",
        "nul_filled",
        "old_content",
        "conflict_copy",
        "resurrected",
        "enospc",
        "readonly",
        "sharing_violation",
        "clock_step",
    }
)
ON_LISTING: Final[frozenset[FaultKind]] = frozenset({"stale_listing", "eio", "enotconn", "unmounted"})
ON_READING: Final[frozenset[FaultKind]] = frozenset({"stale_negative", "estale"})


@dataclass(frozen=True, slots=True)
class Fault:
    """It strikes the `nth` operation (from 0) of its sort that `side` does, and lasts `seconds` where it lasts.

    On publishing, the file is what the other side sees; `clock_step` moves the wall clock of both by `seconds`.
    """

    kind: FaultKind
    side: Side
    nth: int
    seconds: float = 0.2


@dataclass(frozen=True, slots=True)
class Habits:
    """How one kind of share shows the other side's files, in seconds, and what goes wrong on it."""

    appears_seconds: float = 0.0
    """A new file shows in the listing."""

    vanishes_seconds: float = 0.0
    """A deleted file shows no more; until then it cannot be opened."""

    opens_seconds: float = 0.0
    """A file that is listed can be opened."""

    unwhole_seconds: float = 0.0
    """A file opened too early is cut short."""

    announces: bool = False
    """Whether events tell of the other side's files; hardly any share does."""

    weather: tuple[FaultKind, ...] = ()
    """What strikes by itself, now and then, where a test asks for weather."""


HABITS: Final[dict[str, Habits]] = {
    # listing fresh, opening 30 s late after a negative lookup; ESTALE where the server replaced a file
    "nfs": Habits(3.0, 3.0, 30.0, weather=("estale", "stale_negative", "stale_listing", "eio")),
    # directory cache 10 s, delete pending, virus scanners and indexers hold files open
    "smb": Habits(10.0, 10.0, 5.0, weather=("sharing_violation", "stale_listing", "enotconn", "truncated")),
    # listing 20 s late and a deleted name 21 s listed, opening fresh; a dead server leaves an empty folder
    "sshfs": Habits(20.0, 21.0, 0.0, weather=("enotconn", "unmounted", "stale_listing")),
    # old content with the new length; mounts lost over suspend
    "hgfs": Habits(1.0, 1.0, 0.0, 2.0, weather=("old_content", "nul_filled", "unmounted", "clock_step")),
    # no mmap coherence: stale pages until the cache is dropped
    "vboxsf": Habits(1.0, 1.0, 1.0, 1.0, weather=("old_content", "truncated", "sharing_violation", "clock_step")),
    # attribute cache of one second; the host replaces files under the guest
    "virtiofs": Habits(1.0, 1.0, 0.0, weather=("estale", "stale_listing", "old_content")),
    # watcher waits 10 s, deletions a minute; conflict copies, files that come back
    "syncthing": Habits(
        10.0, 60.0, 0.0, weather=("conflict_copy", "resurrected", "doubled", "reordered", "late", "lost")
    ),
}
