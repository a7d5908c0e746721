"""What one mount of the fault-injection file system sees of the backing folder, and what it believes to remember.

Nothing is changed on disk here.
"""
# ruff: noqa: PTH208  # a file system passes bare calls and their errors on

import errno
import os
import stat
import threading
import time
from collections import Counter
from pathlib import Path

from tests.contracts.shares.faults import Faults

SNAPSHOT_BYTES = 4 << 20  # larger files are never served from memory: a sparse giant must not become a real one
_ATTRIBUTES = ("st_mode", "st_nlink", "st_uid", "st_gid", "st_size")

Attributes = dict[str, int]


class Sight:
    """Caches, delays and blind spots of one machine."""

    def __init__(self, backing: Path) -> None:
        self.root = str(backing)
        self.faults = Faults()
        self.lock = threading.RLock()
        self.counts: Counter[str] = Counter()
        self.pending: dict[str, Path] = {}  # renamed through this mount, but not carried out yet: seen here alone
        self._own: set[str] = set()  # made through this mount: a machine sees its own files at once
        self._missed: dict[str, float] = {}
        self._listings: dict[str, tuple[float, list[str]]] = {}
        self._snapshots: dict[str, tuple[float, bytes, Attributes]] = {}

    def put_in_force(self, faults: Faults) -> None:
        with self.lock:
            self.faults = faults
            self._missed.clear()
            self._listings.clear()
            self._snapshots.clear()

    def count(self, fault: str) -> None:
        with self.lock:
            self.counts[fault] += 1

    def at(self, path: str) -> str:
        """Where `path` really is: in the backing folder, or still on its way there."""
        waiting = self.pending.get(path)
        return str(waiting) if waiting else self.root + path

    def changed(self, path: str, *, own: bool = True) -> None:
        """A machine's own changes do away with what it had cached of them."""
        with self.lock:
            if own:
                self._own.add(path)
            self._missed.pop(path, None)
            self._snapshots.pop(path, None)
            self._listings.pop(path.rpartition("/")[0] or "/", None)

    def look_up(self, path: str) -> None:
        """Raise ENOENT where this machine cannot find `path` now."""
        if time.monotonic() < self._missed.get(path, 0.0):
            self.count("negative")
            raise OSError(errno.ENOENT, path)
        if not self._sees(path):
            if self.faults.negative_seconds and not self.faults.spares(path):
                self._missed[path] = time.monotonic() + self.faults.negative_seconds
            raise OSError(errno.ENOENT, path)
        self._missed.pop(path, None)

    def allow_opening(self, path: str) -> None:
        """Raise what the faults in force say for this file."""
        if path not in self._own and (code := self.faults.refusal(path)):
            self.count("unreadable")
            raise OSError(getattr(errno, code), path)

    def listing(self, path: str) -> list[str]:
        until, names = self._listings.get(path, (0.0, []))
        if time.monotonic() < until:
            self.count("listing")
            return names
        base = path.rstrip("/")
        with self.lock:
            waiting = [name.rpartition("/")[2] for name in self.pending if name.rpartition("/")[0] == base]
        names = [".", ".."]
        names += [name for name in sorted({*waiting, *os.listdir(self.root + path)}) if self._sees(f"{base}/{name}")]
        if self.faults.listing_seconds:
            self._listings[path] = (time.monotonic() + self.faults.listing_seconds, names)
        return names

    def attributes(self, path: str, descriptor: int | None) -> Attributes:
        if snapshot := self._snapshot(path):
            return snapshot[2]
        return self._attributes(path, os.lstat(self.at(path)) if descriptor is None else os.fstat(descriptor))

    def content(self, path: str, descriptor: int) -> bytes | None:
        """What the opener of `path` will read, where that is not simply the file."""
        if snapshot := self._snapshot(path):
            self.count("stale")
            return snapshot[1]
        looks = os.fstat(descriptor)
        if not stat.S_ISREG(looks.st_mode) or looks.st_size > SNAPSHOT_BYTES:
            return None
        attributes = self._attributes(path, looks)
        content = os.pread(descriptor, attributes["st_size"], 0)
        if self.faults.stale_seconds > 0 and path not in self._own:
            with self.lock:
                self._snapshots[path] = (time.monotonic() + self.faults.stale_seconds, content, attributes)
            return content
        return content if len(content) < looks.st_size else None

    def _sees(self, path: str) -> bool:
        faults = self.faults
        try:
            looks = os.lstat(self.at(path))
        except OSError:
            return False
        if path in self._own or stat.S_ISDIR(looks.st_mode) or faults.spares(path):
            return True
        if faults.strikes(faults.drop_rate, "drop", path):
            self.count("drop")
            return False
        first, last = faults.delay
        # One machine, one clock here: the time of the rename into place is exact.
        if last > 0 and time.time() - looks.st_ctime < first + (last - first) * faults.draw("delay", path):
            self.count("delay")
            return False
        return True

    def _snapshot(self, path: str) -> tuple[float, bytes, Attributes] | None:
        found = self._snapshots.get(path)
        return found if found and time.monotonic() < found[0] else None

    def _attributes(self, path: str, looks: os.stat_result) -> Attributes:
        found = {name: getattr(looks, name) for name in _ATTRIBUTES}
        found |= {"st_atime": looks.st_atime_ns, "st_mtime": looks.st_mtime_ns, "st_ctime": looks.st_ctime_ns}
        return found | {"st_size": self._visible_size(path, looks)}

    def _visible_size(self, path: str, looks: os.stat_result) -> int:
        faults = self.faults
        if path in self._own or faults.spares(path) or not stat.S_ISREG(looks.st_mode):
            return looks.st_size
        young = time.time() - looks.st_ctime < faults.short_seconds
        if not young or not faults.strikes(faults.short_rate, "short", path):
            return looks.st_size
        self.count("short")
        return int(looks.st_size * faults.draw("cut", path))
