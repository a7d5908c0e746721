"""The same store on PostgreSQL: psycopg, a lock for each link instead of one for the file, the bell over NOTIFY.

Statements are SQLite's but for those in sql/postgres. No use case in here.
"""

import logging
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from zlib import crc32

import psycopg
from psycopg.adapt import Loader, Transformer
from psycopg.rows import dict_row

from hub.errors import Unready
from hub.store.connection import SQL, Row, Transaction, named_statements

_FILES: Final = SQL / "postgres"
_LOCKS: Final = 7304  # the first half of an advisory lock's name; the second is the link's, 0 stands for all of them
_CHANNEL: Final = "jira_hub"
_BUSY_MILLISECONDS: Final = 30_000  # a lock waited for longer than that is held by somebody who hangs
_MOST_WAITING: Final = 100  # statements in one message
_LISTEN_SECONDS: Final = 1.0  # how soon the listener sees that it is to end
_AGAIN_SECONDS: Final = 5.0  # between two attempts to listen while the server is away
_PARAMETER: Final = re.compile(r"%\((\w+)\)s")  # as aiosql writes a parameter for psycopg
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


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A named statement in the server's own words: `$1` and so on, and whose values they are."""

    text: str
    values: tuple[str, ...]


def _prepared(statement: str) -> _Prepared:
    values: list[str] = []

    def numbered(found: re.Match[str]) -> str:
        if found[1] not in values:
            values.append(found[1])
        return f"${values.index(found[1]) + 1}"

    return _Prepared(_PARAMETER.sub(numbered, statement), tuple(values))


_PREPARED: Final = {name: _prepared(statement) for name, statement in STATEMENTS.items()}


class _Session:
    """A connection and what is prepared in it. Nothing waits here: a transaction says when a message goes out."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._values = Transformer(connection)
        self._there: set[str] = set()

    def call(self, name: str, values: Mapping[str, Any]) -> bytes:
        """The call of a statement with these values; prepares it the first time."""
        prepared = _PREPARED[name]
        if name not in self._there:
            self.connection.execute(f"PREPARE hub_{name} AS {prepared.text}", prepare=False)
            self._there.add(name)
        if not prepared.values:
            return f"EXECUTE hub_{name};".encode()
        told = b",".join([self._values.as_literal(values[value]) for value in prepared.values])
        return b"EXECUTE hub_%b(%b);" % (name.encode(), told)

    def send(self, message: Sequence[bytes]) -> psycopg.Cursor[dict[str, Any]]:
        """All of it in one round trip; the cursor is at the answer of the last."""
        cursor = self.connection.execute(b"\n".join(message), prepare=False)
        if len(message) > 1:
            cursor.set_result(-1)
        return cursor


class PostgresTransaction(Transaction):
    """One open transaction on PostgreSQL, begun with its first statement.

    Writes wait for the next read or for the end, and go out with it: a round trip costs more than a statement.
    """

    __slots__ = ("_ahead", "_announced", "_begun", "_known", "_session", "_waiting")

    def __init__(self, session: _Session, now: str, beginning: Sequence[bytes]) -> None:
        super().__init__(session.connection, now)
        self._session = session
        self._waiting = [*beginning]
        self._begun = self._announced = False
        self._ahead: bytes | None = None
        self._known: dict[bytes, list[Row]] = {}

    def one(self, statement: str, **values: Any) -> Row | None:
        rows = self.all(statement, **values)
        return rows[0] if rows else None

    def all(self, statement: str, **values: Any) -> list[Row]:
        call = self._session.call(statement, values)
        known = self._known.pop(call, None)
        return self._asked(call) if known is None else known

    def ahead(self, statement: str, **values: Any) -> None:
        self._ahead = self._session.call(statement, values)

    def run(self, statement: str, **values: Any) -> None:
        self._later(self._session.call(statement, values))

    def many(self, statement: str, rows: Sequence[Mapping[str, Any]]) -> None:
        for values in rows:
            self._later(self._session.call(statement, values))

    def newest(self, statement: str) -> Row:
        # A statement of its own: together they would look at the table as it was before the lock was free.
        self._later(f"SELECT pg_advisory_xact_lock({_LOCKS + 1}, 0);".encode())
        return super().newest(statement)

    def announce(self) -> None:
        self._announced = True

    def commit(self) -> None:
        """Send what waits, and end the transaction with it."""
        if self._announced:
            self._later(f"NOTIFY {_CHANNEL};".encode())
        if self._begun:
            self._session.send([*self._taken(), b"COMMIT;"])

    def _later(self, call: bytes) -> None:
        self._live()
        self._begun = True
        self._known.clear()  # it may be otherwise afterwards
        self._waiting.append(call)
        if len(self._waiting) >= _MOST_WAITING:
            self._session.send(self._taken())

    def _asked(self, call: bytes) -> list[Row]:
        self._live()
        self._begun = True
        ahead, self._ahead = self._ahead, None
        if ahead is None or ahead == call:
            return [*self._session.send([*self._taken(), call]).fetchall()]
        cursor = self._session.send([*self._taken(), call, ahead])
        self._known[ahead] = [*cursor.fetchall()]
        cursor.set_result(-2)
        return [*cursor.fetchall()]

    def _taken(self) -> list[bytes]:
        waiting, self._waiting = self._waiting, []
        return waiting


def _beginning(link: str | None) -> list[bytes]:
    """Begin, and lock. Who writes for all links is alone on the name that every writer of one link shares."""
    if link is None:
        return [b"BEGIN;", f"SELECT pg_advisory_xact_lock({_LOCKS}, 0);".encode()]
    number = crc32(link.encode()) - 2**31  # within the four bytes an advisory lock's name has
    shared, own = f"pg_advisory_xact_lock_shared({_LOCKS}, 0)", f"pg_advisory_xact_lock({_LOCKS + 2}, {number})"
    return [b"BEGIN;", f"SELECT {shared}, {own};".encode()]


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
        """Alone on this link, or on all of them where none is named, from the first statement on; committed at the end,
        or rolled back.
        """
        session = self._session()
        transaction = PostgresTransaction(session, now, _beginning(link))
        try:
            yield transaction
            transaction.commit()
        finally:
            transaction.end()
            self._leave(session.connection)

    @contextmanager
    def reading(self, now: str) -> Iterator[Transaction]:
        """A snapshot to read from; whatever is written through it is thrown away."""
        session = self._session()
        transaction = PostgresTransaction(session, now, [b"BEGIN ISOLATION LEVEL REPEATABLE READ;"])
        try:
            yield transaction
        finally:
            transaction.end()
            self._leave(session.connection)

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
        return self._session().connection

    def _session(self) -> _Session:
        mine: _Session | None = getattr(self._local, "session", None)
        if mine is None or mine.connection.closed:
            connection = psycopg.connect(self._url, autocommit=True, row_factory=dict_row)
            connection.adapters.register_loader("numeric", _Number)
            connection.execute(f"SET lock_timeout = {_BUSY_MILLISECONDS}")
            mine = self._local.session = _Session(connection)
            with self._lock:
                self._opened = [other for other in self._opened if not other.closed] + [connection]
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
