"""Local disks on which the power may go: the agent's journal, and every SQLite connection of either side."""

import contextlib
import os
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent.journal import JournalFile, line_of
from agent.records import AnyRecord, Call
from hub.store.connection import Database
from relay.ports import Clock
from tests.simulation.virtual_time import PowerCut, Process


class SimulatedJournal(JournalFile):
    """The real journal on a real file; a cut inside a write leaves a part of it, a machine's cut takes the unsynced."""

    def __init__(
        self,
        path: Path,
        clock: Clock,
        process: Process,
        chance: random.Random,
        written: Callable[[AnyRecord], None] = lambda _: None,
    ) -> None:
        self._process, self._chance, self._written = process, chance, written
        self.glued = ""  # the kind of a record that was written onto a torn line
        self.calls_for: int | None = None  # the command that the newest request to Jira belongs to
        self.synced = path.stat().st_size if path.exists() else 0
        self.path = path
        super().__init__(path, clock, sync=self._synced)

    def append(self, record: AnyRecord) -> None:
        if isinstance(record, Call):
            self.calls_for = record.command_id
        self._whole = False
        try:
            super().append(record)
            self._check_line(record)
        finally:
            if self._whole:  # it may be durable although the power went before anybody was told
                self._written(record)

    def _check_line(self, record: AnyRecord) -> None:
        """A record that shares its line with the torn rest of another is lost."""
        size = self.path.stat().st_size
        before = size - len(line_of(record)) - 1
        if before >= 0 and os.pread(self._file, 1, before) != b"\n":
            self.glued = record.kind

    def _synced(self, file: int) -> None:
        self._process.point("fsync before")
        self.synced = self.path.stat().st_size
        self._process.point("fsync after")

    def _write(self, data: bytes) -> None:
        self._process.point("journal before")
        try:
            self._process.point("journal inside")
        except PowerCut:
            super()._write(data[: self._chance.randrange(len(data))])
            raise
        super()._write(data)
        self._whole = True
        self._process.point("journal after")

    def lose_unsynced(self) -> None:
        """The machine is gone: of what was not synced, as much is left as fate has it."""
        size = self.path.stat().st_size
        if size > self.synced:
            os.truncate(self.path, self._chance.randint(self.synced, size))


class CutConnection:
    """A SQLite connection whose statements are passed by points; the rest of it is the real one's."""

    def __init__(self, connection: sqlite3.Connection, process: Process, name: str) -> None:
        self._connection, self._process, self._name = connection, process, name
        self.after_commit: Callable[[], None] = lambda: None
        self.before: Callable[[str], None] = lambda _: None  # may raise what SQLite would
        self.newest_key: str | None = None  # the newest request key an answer was stored under

    def execute(self, sql: str, values: Any = ()) -> sqlite3.Cursor:
        word = sql.lstrip()[:6].upper()
        if word in ("SELECT", "PRAGMA"):
            if not self._process.alive:
                raise PowerCut(self._process.name)
            return self._connection.execute(sql, values)
        if word == "ROLLBA" and not self._process.alive:
            return self._connection.execute(sql, values)  # the death of a process does the same
        self.before(word)
        self._process.point(f"{self._name} {word} before")
        cursor = self._connection.execute(sql, values)
        if sql.startswith("INSERT INTO answer"):
            self.newest_key = values["request_key"]
        if word == "COMMIT":
            self.after_commit()
            self._process.point(f"{self._name} COMMIT after")
        return cursor

    def executemany(self, sql: str, rows: Any) -> sqlite3.Cursor:
        self._process.point(f"{self._name} MANY before")
        return self._connection.executemany(sql, rows)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


class CutDatabase(Database):
    """The hub's real database; after each commit the world has a look (`after_commit`)."""

    def __init__(self, path: Path, process: Process, after_commit: Callable[[], None]) -> None:
        self._process, self._after_commit = process, after_commit
        super().__init__(path, synchronous="normal")

    def _open(self) -> Any:
        self.cut = CutConnection(super()._open(), self._process, "hub")
        self.cut.after_commit = self._after_commit
        return self.cut

    @property
    def newest_key(self) -> str | None:
        # The hub keeps an answer under the id and the route it was asked at.
        return self.cut.newest_key.partition(" ")[0] if self.cut.newest_key else None

    def abandon(self) -> None:
        """What the death of a process does: everything uncommitted is gone, the files are as they are."""
        for connection in self._opened:
            with contextlib.suppress(sqlite3.Error):
                connection.close()
        self._opened.clear()
