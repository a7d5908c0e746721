"""A FUSE file system that shows a backing folder through chosen faults: one process per mount, switched while it runs.

Two mounts of one backing folder are two machines at one share. Run as `python -m tests.contracts.shares.faultfs BACKING
POINT PENDING`; each line on standard input is a `Faults` to put in force or the word `counts`, answered by one line.
The end of standard input is the end of the mount, so nothing stays behind a test run that was killed.
"""
# ruff: noqa: PTH101, PTH102, PTH104, PTH106, PTH115, PTH211  # a file system passes bare calls and errors on

import contextlib
import errno
import functools
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mfusepy

from tests.contracts.shares.faults import Faults, faults_from
from tests.contracts.shares.sight import Sight

HANG_LIMIT_SECONDS = 600.0
_SPACE = (
    "f_bavail",
    "f_bfree",
    "f_blocks",
    "f_bsize",
    "f_favail",
    "f_ffree",
    "f_files",
    "f_flag",
    "f_frsize",
    "f_namemax",
)


def operation(function: Callable[..., Any]) -> Callable[..., Any]:
    """A file operation, refused, delayed or belied as the faults in force say."""

    @functools.wraps(function)
    def faulty(view: "FaultyView", *arguments: Any) -> Any:
        view.enter(function.__name__)
        answer = function(view, *arguments)
        view.leave(function.__name__)
        return answer

    return faulty


class FaultyView(mfusepy.Operations):
    """One machine's view of the backing folder. Paths begin with a slash and are relative to the mount."""

    use_ns = True

    def __init__(self, backing: Path, pending: Path) -> None:
        self._sight = Sight(backing)
        self._root = str(backing)
        self._pending_root = pending
        self._dice = random.Random(1)
        self._released = threading.Event()
        self._released.set()
        self._served: dict[int, bytes] = {}
        self._serial = 0

    # --- faults

    def put_in_force(self, faults: Faults) -> None:
        if faults.seed != self._sight.faults.seed:
            self._dice = random.Random(faults.seed)
        self._sight.put_in_force(faults)
        if faults.hangs:
            self._released.clear()
        else:
            self._released.set()

    def counts(self) -> dict[str, int]:
        """How often each fault has struck since the mount was made."""
        with self._sight.lock:
            return dict(self._sight.counts)

    def enter(self, name: str) -> None:
        if not self._released.is_set():
            self._sight.count("hang")
            if not self._released.wait(HANG_LIMIT_SECONDS):
                raise OSError(errno.EIO, "hung for too long")
        self._fail(name, self._sight.faults.errors.get(name), "error")

    def leave(self, name: str) -> None:
        self._fail(name, self._sight.faults.errors_after.get(name), "error_after")

    def _fail(self, name: str, fault: tuple[str, float] | None, counter: str) -> None:
        if fault is None:
            return
        code, rate = fault
        with self._sight.lock:
            strikes = self._dice.random() < rate
        if strikes:
            self._sight.count(counter)
            raise OSError(getattr(errno, code), f"{name} refused on purpose")

    def _later(self, seconds: float, action: Callable[[], None]) -> None:
        def wait_and_act() -> None:
            time.sleep(seconds)
            with self._sight.lock, contextlib.suppress(OSError):
                action()

        threading.Thread(target=wait_and_act, daemon=True).start()

    # --- seeing

    @operation
    def getattr(self, path: str, fh: int | None = None) -> dict[str, int]:
        if fh is None:
            self._sight.look_up(path)
        return self._sight.attributes(path, fh)

    @operation
    def readdir(self, path: str, fh: int) -> list[str]:
        return self._sight.listing(path)

    @operation
    def open(self, path: str, flags: int) -> int:
        self._sight.look_up(path)
        self._sight.allow_opening(path)
        descriptor = os.open(self._sight.at(path), flags & ~(os.O_CREAT | os.O_EXCL))
        if flags & os.O_ACCMODE == os.O_RDONLY and (content := self._sight.content(path, descriptor)) is not None:
            self._served[descriptor] = content
        return descriptor

    @operation
    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        content = self._served.get(fh)
        return os.pread(fh, size, offset) if content is None else content[offset : offset + size]

    @operation
    def readlink(self, path: str) -> str:
        self._sight.look_up(path)
        return os.readlink(self._sight.at(path))

    @operation
    def statfs(self, path: str) -> dict[str, int]:
        found = os.statvfs(self._root)
        return {name: getattr(found, name) for name in _SPACE}

    # --- doing

    @operation
    def create(self, path: str, mode: int, flags: int) -> int:
        if self._sight.faults.ignores_exclusive and flags & os.O_EXCL:
            flags &= ~os.O_EXCL
            if os.path.lexists(self._root + path):
                self._sight.count("exclusive")
        descriptor = os.open(self._root + path, flags | os.O_CREAT, mode)
        self._sight.changed(path)
        return descriptor

    @operation
    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        return os.pwrite(fh, data, offset)

    @operation
    def flush(self, path: str, fh: int) -> int:
        return 0

    @operation
    def fsync(self, path: str, datasync: int, fh: int) -> int:
        os.fsync(fh)
        return 0

    @operation
    def fsyncdir(self, path: str, datasync: int, fh: int) -> int:
        descriptor = os.open(self._root + path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return 0

    def release(self, path: str, fh: int) -> int:
        self._served.pop(fh, None)
        os.close(fh)
        return 0

    @operation
    def truncate(self, path: str, length: int, fh: int | None = None) -> int:
        os.truncate(self._sight.at(path), length)
        self._sight.changed(path)
        return 0

    @operation
    def rename(self, old: str, new: str) -> int:
        faults, source, target = self._sight.faults, self._sight.at(old), self._root + new
        with self._sight.lock:
            self._sight.pending.pop(old, None)
        late = faults.strikes(faults.late_rename_rate, "late_rename", new)
        if late:
            self._rename_late(source, new)
        elif faults.rename == "gap":
            self._rename_with_gap(source, new)
        elif faults.rename == "copy":
            self._copy_slowly(Path(source), Path(target))
        else:
            os.rename(source, target)
        self._sight.changed(old, own=False)
        self._sight.changed(new)
        if not late and faults.strikes(faults.double_rate, "double", new):
            self._sight.count("double")
            stem, dot, ending = target.rpartition(".")
            Path(f"{stem}.sync-conflict-20260101-120000-ABCDEFG{dot}{ending}").write_bytes(Path(target).read_bytes())
        return 0

    def _hide(self, source: str, name: str) -> Path:
        with self._sight.lock:
            self._serial += 1
            hidden = self._pending_root / f"{self._serial}-{name.rpartition('/')[2]}"
        os.rename(source, hidden)
        return hidden

    def _rename_late(self, source: str, new: str) -> None:
        self._sight.count("late_rename")
        hidden = self._hide(source, new)
        with self._sight.lock:
            self._sight.pending[new] = hidden

        def arrive() -> None:
            if self._sight.pending.get(new) == hidden:
                os.rename(hidden, self._root + new)
                del self._sight.pending[new]

        self._later(self._sight.faults.late_rename_seconds, arrive)

    def _rename_with_gap(self, source: str, new: str) -> None:
        self._sight.count("gap")
        hidden = self._hide(source, new)
        Path(self._root + new).unlink(missing_ok=True)
        time.sleep(self._sight.faults.rename_seconds)
        os.rename(hidden, self._root + new)

    def _copy_slowly(self, source: Path, target: Path) -> None:
        self._sight.count("copy")
        content = source.read_bytes()
        with target.open("wb", buffering=0) as file:
            file.write(content[: len(content) // 2])
            time.sleep(self._sight.faults.rename_seconds)
            file.write(content[len(content) // 2 :])
        source.unlink()

    @operation
    def unlink(self, path: str) -> int:
        faults, place = self._sight.faults, Path(self._sight.at(path))
        returns = faults.strikes(faults.resurrect_rate, "resurrect", path) and place.is_file()
        content = place.read_bytes() if returns else b""
        with self._sight.lock:
            place.unlink()
            self._sight.pending.pop(path, None)
        self._sight.changed(path, own=False)
        if returns:
            self._sight.count("resurrect")
            self._later(faults.resurrect_seconds, lambda: self._come_back(Path(self._root + path), content))
        return 0

    @staticmethod
    def _come_back(place: Path, content: bytes) -> None:
        if not os.path.lexists(place):
            place.write_bytes(content)

    @operation
    def mkdir(self, path: str, mode: int) -> int:
        os.mkdir(self._root + path, mode)
        self._sight.changed(path)
        return 0

    @operation
    def rmdir(self, path: str) -> int:
        os.rmdir(self._root + path)
        self._sight.changed(path, own=False)
        return 0

    @operation
    def link(self, target: str, source: str) -> int:
        os.link(self._sight.at(source), self._root + target)
        self._sight.changed(target)
        return 0

    @operation
    def symlink(self, target: str, source: str) -> int:
        os.symlink(source, self._root + target)
        self._sight.changed(target)
        return 0

    @operation
    def mknod(self, path: str, mode: int, dev: int) -> int:
        os.mknod(self._root + path, mode, dev)
        self._sight.changed(path)
        return 0

    @operation
    def chmod(self, path: str, mode: int) -> int:
        os.chmod(self._sight.at(path), mode)
        return 0

    @operation
    def utimens(self, path: str, times: tuple[int, int] | None = None) -> int:
        os.utime(self._sight.at(path), ns=times)
        return 0


def listen(view: FaultyView, point: str) -> None:
    """Obey standard input to its end, then take the mount down."""
    for line in sys.stdin:
        answer: dict[str, int] = {}
        if line.strip() == "counts":
            answer = view.counts()
        else:
            view.put_in_force(faults_from(line))
        print(json.dumps(answer), flush=True)
    view.put_in_force(Faults())
    subprocess.run(["fusermount3", "-uz", point], check=False, timeout=10, stderr=subprocess.DEVNULL)
    os._exit(0)


def main() -> None:
    backing, point, pending = sys.argv[1:]
    view = FaultyView(Path(backing), Path(pending))
    threading.Thread(target=listen, args=(view, point), daemon=True).start()
    # No caching in the kernel: every wrong answer shall be ours. Direct reads: sizes lie here.
    timeouts = {"entry_timeout": 0, "attr_timeout": 0, "negative_timeout": 0}
    mfusepy.FUSE(view, point, foreground=True, fsname="faultfs", direct_io=True, **timeouts)


if __name__ == "__main__":
    main()
