"""What one mount of the fault-injection file system does wrong, as a value that travels to its process. No I/O here."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Rates are probabilities, all times seconds; as made without arguments, nothing is wrong.

    Faults of *seeing* (delay, drop, caches, short reads) strike the files that other mounts make; faults of *doing*
    (renames, doubles, resurrections, errors) strike what is done through this mount.
    """

    seed: int = 1
    spare: tuple[str, ...] = ("link.json",)
    """Names that faults of seeing pass over. Directories they always pass over."""

    delay: tuple[float, float] = (0.0, 0.0)
    """A new name becomes visible this long after it was made: drawn for each name, so names change their order."""

    drop_rate: float = 0.0
    """A new name never becomes visible here."""

    negative_seconds: float = 0.0
    """A name looked up in vain stays absent for so long, though it is listed (NFS, SMB)."""

    listing_seconds: float = 0.0
    """A listing is served again for so long, though names can be opened that it lacks (sshfs, rclone)."""

    stale_seconds: float = 0.0
    """Content and size of a file stay for so long as they were at its first opening (9p loose, SMB)."""

    short_rate: float = 0.0
    short_seconds: float = 0.0
    """A file younger than this shows only a part of its bytes (uploads to the final name)."""

    double_rate: float = 0.0
    """A rename leaves a second copy, named as sync tools name conflicts."""

    resurrect_rate: float = 0.0
    resurrect_seconds: float = 0.5
    """A deleted file comes back after so long (sync tools)."""

    late_rename_rate: float = 0.0
    late_rename_seconds: float = 0.5
    """A rename is reported as done and reaches the others so much later, or never if the mount dies (write-back)."""

    rename: Literal["atomic", "gap", "copy"] = "atomic"
    rename_seconds: float = 0.05
    """`gap`: neither name exists for so long; `copy`: the new name holds half of the bytes for so long."""

    errors: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    """Operation -> (errno, rate): refused without any effect."""

    errors_after: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    """Operation -> (errno, rate): carried out, and reported as failed all the same."""

    unreadable: Mapping[str, str] = field(default_factory=dict)
    """Pattern of names -> errno: such a file of another mount is listed, and cannot be opened."""

    ignores_exclusive: bool = False
    """O_EXCL opens what another mount made meanwhile."""

    hangs: bool = False
    """Every operation blocks until this is taken back."""

    def strikes(self, rate: float, fault: str, path: str) -> bool:
        """Whether `fault` befalls `path`: chance, but the same for one path as long as the seed is the same."""
        return rate > 0 and self.draw(fault, path) < rate

    def draw(self, fault: str, path: str) -> float:
        """A number in [0, 1) that only seed, fault and path decide."""
        digest = hashlib.blake2b(f"{self.seed}|{fault}|{path}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") / 2.0**64

    def spares(self, path: str) -> bool:
        return any(fnmatchcase(_name(path), pattern) for pattern in self.spare)

    def refusal(self, path: str) -> str | None:
        """The errno with which opening `path` fails, if it does."""
        return next((code for pattern, code in self.unreadable.items() if fnmatchcase(_name(path), pattern)), None)

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def faults_from(text: str) -> Faults:
    """What `Faults.to_json` wrote."""
    members: dict[str, Any] = json.loads(text)
    for name in ("spare", "delay"):
        members[name] = tuple(members[name])
    return Faults(**members)
