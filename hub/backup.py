"""Copies of the database while it is in use: checked before they count, the oldest rotated away. No use cases."""

import sqlite3
from pathlib import Path
from typing import Final

from hub.moments import moment
from relay.ports import Clock

KEEP: Final = 30  # a month of daily batches
_SCHEMA_COPIES: Final = "-schema-v"  # made before a migration, the only way back: never rotated (design, R-3)


class FolderBackups:
    """Copies of one SQLite file in a folder beside it, named `<time>-<label>.sqlite`."""

    def __init__(self, database: Path, folder: Path, clock: Clock) -> None:
        self._database = database
        self._folder = folder
        self._clock = clock

    def copies(self) -> list[Path]:
        """Every copy there is, the newest first."""
        return sorted(self._folder.glob("*.sqlite"), reverse=True)

    def make(self, label: str) -> Path:
        """A copy of what is committed now; half-made ones are never left. Raises `OSError` or `sqlite3.Error`."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / f"{_stamp(self._clock.wall())}-{label}.sqlite"
        unfinished = path.with_suffix(".unfinished")
        unfinished.touch(mode=0o600)
        try:
            _copy(self._database, unfinished)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
        self._rotate()
        return path

    def _rotate(self) -> None:
        copies = [path for path in self.copies() if _SCHEMA_COPIES not in path.name]
        yesterday = _stamp(self._clock.wall() - 86_400.0)
        # What a killed process left half-made: nobody takes a day for a copy.
        left = [path for path in self._folder.glob("*.unfinished*") if path.name < yesterday]
        for path in (*copies[KEEP:], *left):
            path.unlink(missing_ok=True)


def _stamp(wall: float) -> str:
    return moment(wall).replace(":", "").replace("-", "").replace(".", "-")


def _copy(source: Path, target: Path) -> None:
    """In one step (`pages=-1`): a copy in pieces starts again whenever somebody writes between two of them."""
    reading = sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)
    writing = sqlite3.connect(target)
    try:
        reading.backup(writing, pages=-1)
        verdict = writing.execute("PRAGMA integrity_check").fetchone()[0]
        if verdict != "ok":
            raise sqlite3.DatabaseError(f"the copy {target} is damaged: {verdict}")
        # One file that stands alone: without this the copy would keep the journal mode and want a log beside it.
        writing.execute("PRAGMA journal_mode = DELETE")
    finally:
        writing.close()
        reading.close()
