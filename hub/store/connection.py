"""Connections and transactions: only a live `Transaction` reaches the tables, and only `Database` makes one.

No SQL in here but pragmas.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import aiosql

SQL: Final = Path(__file__).parent / "sql"
_BUSY_SECONDS: Final = 10.0  # another process (a backup, a migration) may hold the write lock that long
MEMORY: Final = ":memory:"


class Row(Protocol):
    """A row as every engine gives it: its values by their names."""

    def __getitem__(self, name: str, /) -> Any: ...

    def keys(self) -> Iterable[str]: ...


class AnyDatabase(Protocol):
    """What a use case needs of a database, whichever engine it is."""

    @property
    def path(self) -> str:
        """What it is called to people."""
        ...

    def writing(self, now: str, link: str | None = None) -> AbstractContextManager["Transaction"]:
        """A transaction alone on this link, or on all of them; committed at the end."""
        ...

    def reading(self, now: str) -> AbstractContextManager["Transaction"]:
        """A snapshot."""
        ...

    def listen(self, ring: Callable[[], None]) -> None:
        """Ring when another process has announced a commit."""
        ...

    def close(self) -> None: ...


def named_statements(folder: Path, driver: str) -> Mapping[str, str]:
    """Every named statement of a folder's files, by its name; names are unique over all of them."""
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.sql")):
        queries = aiosql.from_path(path, driver)
        for name in queries.available_queries:
            if name.endswith("_cursor"):  # aiosql adds one per selection
                continue
            assert name not in found, f"{name} stands twice in sql/"
            found[name] = getattr(queries, name).sql
    return found


STATEMENTS: Final = named_statements(SQL, "sqlite3")


class Transaction:
    """One open transaction. `now` is the time of everything in it, UTC as ISO text; it dies with the transaction.

    `kept` is for what was read once and stays so until the end, whoever changes it meanwhile clears it.
    """

    __slots__ = ("_connection", "_statements", "kept", "now")

    def __init__(self, connection: Any, now: str, statements: Mapping[str, str] = STATEMENTS) -> None:
        self._connection: Any = connection  # the standard library's or psycopg's: both run named statements alike
        self._statements = statements
        self.now = now
        self.kept: dict[tuple[str, str], Any] = {}

    def one(self, statement: str, **values: Any) -> Row | None:
        """The first row, if any."""
        row: Row | None = self._live().execute(self._statements[statement], values).fetchone()
        return row

    def all(self, statement: str, **values: Any) -> list[Row]:
        rows: list[Row] = self._live().execute(self._statements[statement], values).fetchall()
        return rows

    def run(self, statement: str, **values: Any) -> None:
        """Nobody waits for it: what is wrong with it may be raised as late as by the commit."""
        self._live().execute(self._statements[statement], values)

    def many(self, statement: str, rows: Sequence[Mapping[str, Any]]) -> None:
        self._live().executemany(self._statements[statement], rows)

    def ahead(self, statement: str, **values: Any) -> None:
        """This is asked for soon, before anything is written: where a round trip costs, the next question takes it
        along. A file answers at once.
        """

    def newest(self, statement: str) -> Row:
        """The newest ids, of a statement without parameters; nobody else makes any until the end."""
        row = self.one(statement)
        assert row is not None  # an aggregate always has its row
        return row

    def announce(self) -> None:
        """Tell other processes of the commit to come; one process alone has a file, so there is nobody to tell."""

    def end(self) -> None:
        self._connection = None

    def _live(self) -> Any:
        assert self._connection is not None, "the transaction is over"
        return self._connection


class Database:
    """A SQLite database: one long-lived connection per thread (one for all threads in memory), one writer at a time.

    `synchronous="full"` makes a commit survive a power cut; "normal" only a crash of the process.
    """

    def __init__(self, path: Path | str, *, synchronous: Literal["full", "normal"] = "full") -> None:
        self.path = str(path)
        self._synchronous = synchronous
        self._local = threading.local()
        self._writer = threading.Lock()  # SQLite's own waiting polls with sleeps; this one is fair and wakes at once
        self._opened: list[sqlite3.Connection] = []
        self._shared = self._open() if self.in_memory else None

    @property
    def in_memory(self) -> bool:
        return self.path == MEMORY

    @contextmanager
    def writing(self, now: str, link: str | None = None) -> Iterator[Transaction]:
        """Holds the write lock from its start; committed at the end, rolled back on any exception.

        There is one lock for all links, whichever is named.
        """
        with self._writer:
            connection = self.connection()
            connection.execute("BEGIN IMMEDIATE")
            transaction = Transaction(connection, now)
            try:
                yield transaction
                connection.execute("COMMIT")
            finally:
                transaction.end()
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def reading(self, now: str) -> Iterator[Transaction]:
        """A snapshot to read from; whatever is written through it is thrown away."""
        if self._shared is not None:
            with self._writer:
                yield from self._snapshot(now)
        else:
            yield from self._snapshot(now)

    def listen(self, ring: Callable[[], None]) -> None:
        """One process has the file, so nobody else is to be heard."""

    def connection(self) -> sqlite3.Connection:
        """This thread's connection, for the schema and the backup; use cases take a transaction instead."""
        if self._shared is not None:
            return self._shared
        mine: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if mine is None:
            mine = self._local.connection = self._open()
        return mine

    def close(self) -> None:
        """Close every connection; the last one takes the write-ahead log back into the database."""
        with self._writer:
            for connection in self._opened:
                connection.close()
            self._opened.clear()
            self._local = threading.local()

    def _snapshot(self, now: str) -> Iterator[Transaction]:
        connection = self.connection()
        connection.execute("BEGIN")
        transaction = Transaction(connection, now)
        try:
            yield transaction
        finally:
            transaction.end()
            connection.execute("ROLLBACK")

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        connection.row_factory = sqlite3.Row
        if not self.in_memory:
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {self._synchronous.upper()}")
        connection.execute("PRAGMA foreign_keys = ON")
        self._opened.append(connection)
        return connection
