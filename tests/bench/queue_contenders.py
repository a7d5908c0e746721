"""The floor and the peers of a durable queue on SQLite: enqueue one command, claim the next, report it finished.

`durable`: "full" for commits that survive a power cut, "normal" for ones that survive a crash of the process.
"""

import json
import pickle
import sqlite3
import time
from pathlib import Path
from typing import Any, Final, Literal, Protocol

Durable = Literal["full", "normal"]
COMMAND: Final = json.dumps({"key": "AURORA-7", "description": "x" * 960})
SMALL: Final = json.dumps({"key": "AURORA-7", "summary": "x" * 60})  # a finished row where a table is filled
RESULT: Final = json.dumps({"key": "AURORA-7", "changed": ["description"]})


class Cycle(Protocol):
    """What every contender can do; a ticket names the claimed command."""

    def enqueue(self) -> None: ...
    def claim(self) -> Any: ...
    def report(self, ticket: Any) -> None: ...
    def close(self) -> None: ...


class Queue(Cycle, Protocol):
    """One whose tables can be filled, to see whether it slows down as they grow."""

    def fill(self, finished: int, waiting: int) -> None: ...


def _tune(connection: sqlite3.Connection, durable: Durable) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {durable.upper()}")


_TABLE: Final = """
CREATE TABLE IF NOT EXISTS command (
    id INTEGER PRIMARY KEY, batch_id INTEGER NOT NULL, batch_at REAL NOT NULL, seq INTEGER NOT NULL,
    type TEXT NOT NULL, params TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'queued',
    deliveries INTEGER NOT NULL DEFAULT 0, claimed_at REAL, finished_at REAL, result TEXT, error TEXT);
CREATE INDEX IF NOT EXISTS command_queued ON command (batch_at, seq) WHERE status = 'queued';
CREATE INDEX IF NOT EXISTS command_claimed ON command (claimed_at, id) WHERE status = 'claimed';
"""
_INSERT: Final = "INSERT INTO command (batch_id, batch_at, seq, type, params) VALUES (1, ?, ?, 'ensure_fields', ?)"
_LOST: Final = "SELECT id FROM command WHERE status = 'claimed' ORDER BY claimed_at, id LIMIT 1"
_NEXT: Final = "SELECT id, params FROM command WHERE status = 'queued' ORDER BY batch_at, seq LIMIT 1"
_TAKE: Final = "UPDATE command SET status = 'claimed', claimed_at = ?, deliveries = deliveries + 1 WHERE id = ?"
_DONE: Final = "UPDATE command SET status = 'done', finished_at = ?, result = ? WHERE id = ? AND status = 'claimed'"


class RawSqlite:
    """The floor: the standard library's sqlite3, one open connection, partial indexes, one transaction a step."""

    def __init__(self, root: Path, durable: Durable) -> None:
        self._path, self._durable = root / "hub.sqlite", durable
        self._number = 0
        self._open()
        self._db.executescript(_TABLE)

    def _open(self) -> None:
        self._db = sqlite3.connect(self._path, isolation_level=None)
        _tune(self._db, self._durable)

    def enqueue(self) -> None:
        self._number += 1
        self._db.execute(_INSERT, (time.time(), self._number, COMMAND))

    def claim(self) -> Any:
        execute = self._db.execute
        execute("BEGIN IMMEDIATE")
        row = execute(_LOST).fetchone() or execute(_NEXT).fetchone()
        execute(_TAKE, (time.time(), row[0]))
        execute("COMMIT")
        return row[0]

    def report(self, ticket: Any) -> None:
        self._db.execute(_DONE, (time.time(), RESULT, ticket))

    def fill(self, finished: int, waiting: int) -> None:
        sql = (
            "INSERT INTO command (batch_id, batch_at, seq, type, params, status, deliveries, claimed_at, finished_at,"
            " result) VALUES (1, ?, ?, 'ensure_fields', ?, 'done', 1, ?, ?, ?)"
        )
        self._db.execute("BEGIN")
        self._db.executemany(sql, ((n, n, SMALL, n, n, RESULT) for n in range(finished)))
        self._db.executemany(_INSERT, ((time.time(), n, SMALL) for n in range(waiting)))
        self._db.execute("COMMIT")
        self._number = waiting

    def close(self) -> None:
        self._db.close()


class ReconnectingSqlite(RawSqlite):
    """The same with a connection per operation, as the first hub had."""

    def enqueue(self) -> None:
        self._anew()
        super().enqueue()

    def claim(self) -> Any:
        self._anew()
        return super().claim()

    def report(self, ticket: Any) -> None:
        self._anew()
        super().report(ticket)

    def _anew(self) -> None:
        self._db.close()
        self._open()


class HueySqlite:
    """huey's SqliteStorage: a claim deletes the row (delivered at most once), a report stores the result."""

    def __init__(self, root: Path, durable: Durable) -> None:
        from huey.storage import SqliteStorage

        self._peer = SqliteStorage("bench", filename=str(root / "huey.sqlite"))
        _tune(self._peer.conn, durable)
        self._number = 0

    def enqueue(self) -> None:
        self._peer.enqueue(COMMAND.encode())

    def claim(self) -> Any:
        self._number += 1
        return f"r{self._number}" if self._peer.dequeue() is not None else None

    def report(self, ticket: Any) -> None:
        self._peer.put_data(ticket, RESULT.encode(), is_result=True)

    def fill(self, finished: int, waiting: int) -> None:
        connection = self._peer.conn
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO kv (queue, key, value) VALUES ('bench', ?, ?)",
            ((f"old{n}", RESULT.encode()) for n in range(finished)),
        )
        connection.executemany(
            "INSERT INTO task (queue, data, priority) VALUES ('bench', ?, 0)",
            ((SMALL.encode(),) for _ in range(waiting)),
        )
        connection.execute("COMMIT")

    def close(self) -> None:
        self._peer.close()


class LiteQueue:
    """litequeue: one table, a claim is an UPDATE ... RETURNING."""

    def __init__(self, root: Path, durable: Durable) -> None:
        from litequeue import LiteQueue as Peer

        self._peer = Peer(root / "lite.sqlite")
        _tune(self._peer.conn, durable)

    def enqueue(self) -> None:
        self._peer.put(COMMAND)

    def claim(self) -> Any:
        message = self._peer.pop()
        return message and message.message_id

    def report(self, ticket: Any) -> None:
        self._peer.done(ticket)

    def fill(self, finished: int, waiting: int) -> None:
        from litequeue import uuid7

        columns = "(data, message_id, status, in_time, lock_time, done_time)"
        connection = self._peer.conn
        connection.execute("BEGIN")
        connection.executemany(
            f"INSERT INTO [Queue] {columns} VALUES (?, ?, 2, 1, 1, 1)", ((SMALL, uuid7()) for _ in range(finished))
        )
        connection.executemany(
            f"INSERT INTO [Queue] {columns} VALUES (?, ?, 0, 1, NULL, NULL)", ((SMALL, uuid7()) for _ in range(waiting))
        )
        connection.execute("COMMIT")

    def close(self) -> None:
        self._peer.conn.close()


class PersistAckQueue:
    """persist-queue's SQLiteAckQueue."""

    def __init__(self, root: Path, durable: Durable) -> None:
        from persistqueue import SQLiteAckQueue

        self._peer = SQLiteAckQueue(str(root / "pq"), multithreading=True)
        for connection in {self._peer._putter, self._peer._getter}:
            connection.commit()
            _tune(connection, durable)

    def enqueue(self) -> None:
        self._peer.put(COMMAND)

    def claim(self) -> Any:
        return self._peer.get(block=False, raw=True)["pqid"]

    def report(self, ticket: Any) -> None:
        self._peer.ack(id=ticket)

    def fill(self, finished: int, waiting: int) -> None:
        data = pickle.dumps(SMALL)
        connection = self._peer._putter
        rows = [(data, 5)] * finished + [(data, 0)] * waiting
        connection.executemany("INSERT INTO ack_queue_default (data, timestamp, status) VALUES (?, 1, ?)", rows)
        connection.commit()

    def close(self) -> None:
        self._peer._putter.close()


FLOOR: Final = "raw sqlite3"
CONTENDERS: Final[dict[str, type[Queue]]] = {
    FLOOR: RawSqlite,
    "raw sqlite3, connection per operation": ReconnectingSqlite,
    "huey SqliteStorage": HueySqlite,
    "litequeue": LiteQueue,
    "persist-queue SQLiteAckQueue": PersistAckQueue,
}
