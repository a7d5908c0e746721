"""The same store on PostgreSQL: psycopg, a lock for each link instead of one for the file, the bell over NOTIFY.

Statements are SQLite's but for those in sql/postgres. No use case in here.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final
from zlib import crc32

import psycopg
from psycopg.adapt import Loader
from psycopg.rows import dict_row

from hub.errors import Unready
from hub.store.connection import SQL, Transaction, named_statements

_FILES: Final = SQL / "postgres"
_LOCKS: Final = 7304  # the first half of an advisory lock's name; the second is the link's, 0 stands for all of them
_CHANNEL: Final = "jira_hub"
_BUSY_MILLISECONDS: Final = 30_000  # a lock waited for longer than that is held by somebody who hangs
_LISTEN_SECONDS: Final = 1.0  # how soon the listener sees that it is to end
_AGAIN_SECONDS: Final = 5.0  # between two attempts to listen while the server is away
_log = logging.getLogger(__name__)
Connection = psycopg.Connection[dict[str, Any]]


def _statements() -> Mapping[str, str]:
    common = named_statements(SQL, "psycopg")
    differing = named_statements(_FILES, "psycopg")
    assert differing.keys() <= common.keys(), differing.keys() - common.keys()
    return {**common, **differing}


STATEMENTS: Final = _statements()


class _Number(Loader):
    """Sums come as numerics of any length: here they are numbers of moves and seconds, and JSON has to take them."""

    def load(self, data: Any) -> int | float:
        text = bytes(data).decode("ascii")
        return int(text) if text.lstrip("-").isdigit() else float(text)


class PostgresTransaction(Transaction):
    """One open transaction on PostgreSQL."""

    __slots__ = ("announced",)

    def __init__(self, connection: Connection, now: str) -> None:
        super().__init__(connection, now, STATEMENTS)
        self.announced = False

    def many(self, statement: str, rows: Sequence[Mapping[str, Any]]) -> None:
        if rows:
            self._live().cursor().executemany(STATEMENTS[statement], rows)

    def announce(self) -> None:
        self.announced = True


def _beginning(link: str | None) -> str:
    """Begin, and lock; in one round trip, so without parameters.

    Who writes for all links is alone on the name that every writer of one link shares.
    """
    if link is None:
        return f"BEGIN; SELECT pg_advisory_xact_lock({_LOCKS}, 0)"
    number = crc32(link.encode()) - 2**31  # within the four bytes an advisory lock's name has
    return f"BEGIN; SELECT pg_advisory_xact_lock_shared({_LOCKS}, 0), pg_advisory_xact_lock({_LOCKS + 2}, {number})"


class PostgresDatabase:
    """A PostgreSQL database by its URL: one long-lived connection per thread, made anew when the server was away."""

    in_memory: Final = False

    def __init__(self, url: str) -> None:
        self.path = psycopg.conninfo.make_conninfo(url, password="")  # as it may be shown
        self._url = url
        self._local = threading.local()
        self._lock = threading.Lock()
        self._opened: list[Connection] = []
        self._ended = threading.Event()
        self._listener: threading.Thread | None = None

    @contextmanager
    def writing(self, now: str, link: str | None = None) -> Iterator[Transaction]:
        """Alone on this link, or on all of them where none is named; committed at the end, or rolled back."""
        connection = self._connection()
        transaction = PostgresTransaction(connection, now)
        try:
            connection.execute(_beginning(link))
            yield transaction
            connection.execute(f"NOTIFY {_CHANNEL}; COMMIT" if transaction.announced else "COMMIT")
        finally:
            transaction.end()
            self._leave(connection)

    @contextmanager
    def reading(self, now: str) -> Iterator[Transaction]:
        """A snapshot to read from; whatever is written through it is thrown away."""
        connection = self._connection()
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        transaction = PostgresTransaction(connection, now)
        try:
            yield transaction
        finally:
            transaction.end()
            self._leave(connection)

    def raise_schema(self, newest: int) -> tuple[int, int]:
        """Bring the schema up to `newest`; answers the versions before and after. One process does it, others wait."""
        connection = self._connection()
        encoding = connection.execute("SHOW server_encoding").fetchone()
        if encoding is None or encoding["server_encoding"] != "UTF8":
            raise Unready(f"the database {self.path} is not encoded as UTF8: create it with ENCODING 'UTF8'")
        connection.execute("BEGIN")
        try:
            connection.execute(f"SELECT pg_advisory_xact_lock({_LOCKS}, 0)")
            before = self._version(connection)
            if before < newest:
                for number in range(max(before, 1) + 1, newest + 1):
                    connection.execute((_FILES / "schema" / f"{number:04d}.sql").read_text(encoding="utf-8"))
            connection.execute("COMMIT")
        finally:
            self._leave(connection)
        return before, max(before, newest)

    def listen(self, ring: Callable[[], None]) -> None:
        """Ring whenever another process has announced a commit, and after every time it could not be heard."""

        def work() -> None:
            while not self._ended.is_set():
                try:
                    with psycopg.connect(self._url, autocommit=True) as ear:
                        ear.execute(f"LISTEN {_CHANNEL}")
                        ring()
                        while not self._ended.is_set():
                            for _ in ear.notifies(timeout=_LISTEN_SECONDS, stop_after=1):
                                ring()
                except psycopg.Error as error:
                    _log.warning("other hubs cannot be heard: %s", error)
                    self._ended.wait(_AGAIN_SECONDS)

        self._listener = threading.Thread(target=work, name="hub-listener", daemon=True)
        self._listener.start()

    def close(self) -> None:
        self._ended.set()
        if self._listener is not None:
            with suppress(psycopg.Error):
                self._connection().execute(f"NOTIFY {_CHANNEL}")  # the listener wakes, and sees that it is over
            self._listener.join(_LISTEN_SECONDS + _AGAIN_SECONDS)
        with self._lock:
            for connection in self._opened:
                connection.close()
            self._opened.clear()
            self._local = threading.local()

    def _connection(self) -> Connection:
        mine: Connection | None = getattr(self._local, "connection", None)
        if mine is None or mine.closed:
            mine = psycopg.connect(self._url, autocommit=True, row_factory=dict_row)
            mine.adapters.register_loader("numeric", _Number)
            mine.execute(f"SET lock_timeout = {_BUSY_MILLISECONDS}")
            self._local.connection = mine
            with self._lock:
                self._opened = [other for other in self._opened if not other.closed] + [mine]
        return mine

    def _leave(self, connection: Connection) -> None:
        if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            with suppress(psycopg.Error):  # the server is gone, and the transaction with it
                connection.execute("ROLLBACK")
        if connection.broken:
            connection.close()

    def _version(self, connection: Connection) -> int:
        there = connection.execute("SELECT to_regclass('setting') IS NOT NULL AS there").fetchone()
        if there is None or not there["there"]:
            return 0
        row = connection.execute("SELECT value FROM setting WHERE link = 'main' AND key = 'schema_version'").fetchone()
        return 0 if row is None else int(row["value"])
