"""A link folder on a file system (`Folder`), and the making of a new one. Every failure comes out as `ShareFault`."""

import contextlib
import errno
import math
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

from tenacity import RetryError, Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from relay.beacon import BEACON_LIMIT, BEACON_NAME, NAME_PATTERN, Beacon, beacon_bytes, beacon_from
from relay.clock import SystemIds
from relay.errors import FrameGone, FrameUnfit, LinkExists, NotAFrame, RelayError, ShareFault, ShareState
from relay.frames import PEER_OF, Side
from relay.ignoring import ignore_temporary
from relay.names import frame_name
from relay.ports import Clock, Ids

T = TypeVar("T")
_STATES: Final[dict[int, ShareState]] = {
    errno.ENOSPC: "full",
    errno.EDQUOT: "full",
    errno.EROFS: "readonly",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
}
# The other side, an indexer or an antivirus holds the file for a moment (traps 19, 20, 28).
_TRANSIENT: Final = frozenset({errno.EBUSY, errno.ESTALE})
_TRANSIENT_WINDOWS: Final = frozenset({5, 32, 33})
_GONE: Final = frozenset({errno.ENOENT, errno.ESTALE, errno.ENOTDIR})
_O_BINARY: Final = getattr(os, "O_BINARY", 0)
# A FIFO, device or symbolic link named like a frame must neither block us nor lead us elsewhere.
_O_READ: Final = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | _O_BINARY
)
_O_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | _O_BINARY
_PIECE: Final = 1 << 16
FREE_BYTES: Final = 4 << 20  # a window of frames fits, and what others are just writing
_FREE_CHECK_SECONDS: Final = 1.0
_CHECKED: Final = 5  # attempts of a transient failure: 0.15 + 0.3 + 0.6 + 1.2 = 2.25 s at most
# The folders inherit their group and rights from the share, whose owner decides who may write; see `security.md`.
_FILE_MODE: Final = 0o666


def create_link(folder: str | os.PathLike[str], name: str, *, ids: Ids | None = None) -> Beacon:
    """Make `folder` the link `name`: beacon and subfolders. Raises `LinkExists`; never overwrites.

    The folder above (the share) has to be there: creating it would hide that it is not mounted.
    """
    root = Path(folder)
    if re.fullmatch(NAME_PATTERN, name) is None:
        raise ValueError(f"{name!r} is no link name: lower-case letters, digits, dots and dashes, 32 at most")
    root.mkdir(exist_ok=True)
    _make_subfolders(root)
    ignore_temporary(root)
    data = beacon_bytes((ids or SystemIds()).new_id(), name)
    try:
        _write(root / BEACON_NAME, data, durable=True)
    except FileExistsError as error:
        raise LinkExists(f"{root / BEACON_NAME} is there already; a beacon is written once") from error
    _fsync_directory(root)
    return beacon_from(data)


def link_of(folder: str | os.PathLike[str]) -> Beacon:
    """The beacon in `folder`. Raises `ShareFault` where none can be read."""
    try:
        return beacon_from(LocalFolder(folder, "hub").beacon())
    except NotAFrame as error:
        raise ShareFault("lost", str(error)) from error


class LocalFolder:
    """A link folder reached by a path; directories are opened anew at each use, for held ones go stale."""

    def __init__(self, folder: str | os.PathLike[str], side: Side, clock: Clock | None = None) -> None:
        self.root = Path(folder)
        self.inbox = self.root / f"to-{side}"
        self.outbox = self.root / f"to-{PEER_OF[side]}"
        self._beacon = str(self.root / BEACON_NAME)
        self._clock = clock
        self._looked: tuple[int, int, int, int] | None = None
        self._free_until = -math.inf
        self._temporary_cleared = False

    def beacon(self) -> bytes:
        with _faults("beacon"):
            looks = self._looks()
            data = _read(self._beacon, BEACON_LIMIT)
            self._looked = looks
            return data

    def check(self) -> bool:
        try:  # hot path: before every read and write
            return self._looks() == self._looked
        except OSError as error:
            raise _fault(error, "beacon") from error

    def prepare(self) -> None:
        """Make the subfolders where a sync tool brought only the beacon; the link's folder itself is never made."""
        with _faults("subfolders"):
            _make_subfolders(self.root)

    def arrivals(self) -> list[str]:
        try:
            names = os.listdir(self.inbox)  # noqa: PTH208 - hot path: a Path costs more than the call
        except OSError as error:
            raise _fault(error, "listing") from error
        return [name for name in names if name != ".tmp"]

    def own(self) -> list[str]:
        with _faults("listing"), os.scandir(self.outbox) as entries:
            return [entry.name for entry in entries if entry.name != ".tmp"]

    def read(self, name: str, limit: int) -> bytes:
        return self._content(f"{self.inbox}/{name}", limit)

    def read_own(self, name: str, limit: int) -> bytes:
        return self._content(f"{self.outbox}/{name}", limit)

    def publish(self, name: str, data: bytes, *, durable: bool, first: Callable[[], None] = lambda: None) -> None:
        temporary, final = f"{self.outbox}/.tmp/{name}", f"{self.outbox}/{name}"
        self._must_have_room(name)
        self._clear_temporary()
        try:
            self._write_temporary(temporary, data, durable=durable)
            first()
            self._patiently(lambda: os.rename(temporary, final))  # noqa: PTH104 - hot path: a Path costs more than the call
        except (OSError, RelayError) as error:
            with contextlib.suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108 - as below
            if isinstance(error, RelayError):  # what had to be done `first`, and not here
                raise
            # Only the rename touches the final name; the temporary one is ours alone and may be used again.
            raise _fault(error, f"publishing {name}", name_used=not isinstance(error, FileNotFoundError)) from error
        if durable:
            _fsync_directory(self.outbox)

    def delete(self, name: str) -> None:
        try:
            self._patiently(lambda: os.unlink(f"{self.outbox}/{name}"))  # noqa: PTH108 - hot path: a Path costs more than the call
        except OSError as error:
            if error.errno not in _GONE:
                raise _fault(error, f"deleting {name}") from error

    def _clear_temporary(self) -> None:
        """What power cuts have left of frames half written, once: the next ones have other names."""
        if self._temporary_cleared:
            return
        self._temporary_cleared = True
        with contextlib.suppress(OSError):
            for name in os.listdir(f"{self.outbox}/.tmp"):  # noqa: PTH208 - names are wanted, not paths
                if frame_name(name) is not None:
                    os.unlink(f"{self.outbox}/.tmp/{name}")  # noqa: PTH108 - as below

    def _must_have_room(self, name: str) -> None:
        """A disk that is full to the brim leaves half a file; asked once a second, and each time while it is full."""
        now = 0.0 if self._clock is None else self._clock.monotonic()
        if now < self._free_until or not hasattr(os, "statvfs"):
            return
        try:
            found = os.statvfs(self.outbox)
        except OSError:
            return  # the write itself will tell
        # File systems that do not know say 0 blocks in all.
        if found.f_blocks and found.f_bavail * found.f_frsize < FREE_BYTES:
            raise ShareFault("full", f"publishing {name}: less than {FREE_BYTES >> 20} MiB are free")
        self._free_until = now + _FREE_CHECK_SECONDS

    def _content(self, path: str, limit: int) -> bytes:
        try:
            return _read(path, limit)
        except OSError as error:
            if error.errno in _GONE:
                raise FrameGone(path) from error
            if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
                raise FrameUnfit(path) from error
            raise _fault(error, f"reading {path}") from error

    def _write_temporary(self, path: str, data: bytes, *, durable: bool) -> None:
        try:
            _write(path, data, durable=durable)
        except FileExistsError:
            # Left by a power cut in an earlier attempt at this very frame.
            os.unlink(path)  # noqa: PTH108 - as below
            _write(path, data, durable=durable)

    def _patiently(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except OSError as error:
            if not _is_transient(error) or self._clock is None:
                raise
        retrying = Retrying(
            sleep=self._clock.sleep,
            stop=stop_after_attempt(_CHECKED),
            wait=wait_exponential(multiplier=0.15),
            retry=retry_if_exception(_is_transient),
            reraise=True,
        )
        try:
            return retrying(action)
        except RetryError as error:
            raise OSError(errno.EBUSY, "held by somebody else") from error

    def _looks(self) -> tuple[int, int, int, int]:
        found = os.stat(self._beacon)  # noqa: PTH116 - hot path: a Path costs more than the call
        return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


@contextlib.contextmanager
def _faults(what: str) -> Iterator[None]:
    try:
        yield
    except FrameUnfit as error:
        raise ShareFault("lost", f"{what}: {error}") from error
    except OSError as error:
        raise _fault(error, what) from error


def _fault(error: OSError, what: str, *, name_used: bool = False) -> ShareFault:
    state = _STATES.get(error.errno or 0, "lost")
    return ShareFault(state, f"{what}: {error.strerror or error}", name_used=name_used)


def _is_transient(error: BaseException) -> bool:
    if not isinstance(error, OSError):
        return False
    return error.errno in _TRANSIENT or getattr(error, "winerror", None) in _TRANSIENT_WINDOWS


def _make_subfolders(root: Path) -> None:
    for side in PEER_OF:
        for path in (root / f"to-{side}", root / f"to-{side}" / ".tmp"):
            path.mkdir(exist_ok=True)


def _read(path: str, limit: int) -> bytes:
    descriptor = os.open(path, _O_READ)
    try:
        looks = os.fstat(descriptor)
        # More than one link: somebody else holds the same content under another name and may change it.
        if not stat.S_ISREG(looks.st_mode) or looks.st_nlink > 1 or looks.st_size > limit:
            raise FrameUnfit(path)
        # One byte more than there seems to be tells the end, and no buffer of a megabyte is made for a short frame.
        pieces, wanted = [], looks.st_size + 1
        while limit > 0 and (piece := os.read(descriptor, min(limit + 1, wanted))):
            pieces.append(piece)
            limit -= len(piece)
            wanted = max(wanted - len(piece), _PIECE)
        if limit < 0:
            raise FrameUnfit(path)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)
    finally:
        os.close(descriptor)


def _write(path: str | Path, data: bytes, *, durable: bool) -> None:
    descriptor = os.open(path, _O_WRITE, _FILE_MODE)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if durable:
            # For visibility too: 9p loose shows an empty file for ever without it, and reports a full disk only here.
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _fsync_directory(path: str | Path) -> None:
    # Best effort: Windows and some FUSE file systems refuse it (trap 17).
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
