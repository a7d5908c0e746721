"""The high-water mark: a file beside the database that outlives its being replaced by a copy. No decision in here."""

import os
import re
from pathlib import Path
from typing import Final

from hub.restoring import Mark

_LINE: Final = re.compile(r"epoch=([0-9a-f]{1,64}) event=([0-9]{20}) restored=([01])\n")


class MarkFile:
    """One line of one width, overwritten in place: a single write, so a killed process leaves the old line or the new.

    Written after each commit and never before: the database is at the mark or above, unless it was replaced. The
    power may take the newest of it; the mark is then lower than the database, which is no harm.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._written: Mark | None = None

    def read(self) -> Mark | None:
        """None where there is no mark yet, or nothing that can be read as one."""
        try:
            found = _LINE.fullmatch(self._path.read_text(encoding="ascii", errors="replace"))
        except FileNotFoundError:
            return None
        return None if found is None else Mark(found[1], int(found[2]), found[3] == "1")

    def write(self, mark: Mark) -> None:
        """Raises `OSError`."""
        if mark == self._written:
            return
        if self._descriptor is None:
            self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600)
        line = f"epoch={mark.epoch} event={mark.event_id:020d} restored={int(mark.restored)}\n".encode("ascii")
        os.pwrite(self._descriptor, line, 0)
        if self._written is None or self._written.epoch != mark.epoch:
            os.ftruncate(self._descriptor, len(line))
        if mark.restored:
            os.fsync(self._descriptor)
        self._written = mark

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
