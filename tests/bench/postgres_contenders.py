"""The floor of a durable queue on PostgreSQL, and ours on it: enqueue one command, claim the next, report it finished.

`durable`: "full" for commits that survive a power cut, "normal" for ones that the server writes out a little later.
"""

import contextlib
import importlib.util
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from hub.store.opening import open_database
from tests.bench.our_queue import OurCycle
from tests.bench.queue_contenders import COMMAND, RESULT, Cycle, Durable
from tests.contracts.postgres_server import fresh_database, postgres_server, why_not

_TABLE: Final = """
CREATE TABLE command (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, batch_id bigint NOT NULL, batch_at double precision NOT NULL,
    seq bigint NOT NULL, type text NOT NULL, params text NOT NULL, status text NOT NULL DEFAULT 'queued',
    deliveries int NOT NULL DEFAULT 0, claimed_at double precision, finished_at double precision,
    result text, error text);
CREATE INDEX command_queued ON command (batch_at, seq) WHERE status = 'queued';
CREATE INDEX command_claimed ON command (claimed_at, id) WHERE status = 'claimed';
"""
_INSERT: Final = "INSERT INTO command (batch_id, batch_at, seq, type, params) VALUES (1, %s, %s, 'ensure_fields', %s)"
_TAKE: Final = """
UPDATE command SET status = 'claimed', claimed_at = %s, deliveries = deliveries + 1 WHERE id =
    (SELECT id FROM command WHERE status = 'queued' ORDER BY batch_at, seq LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id, params
"""
_DONE: Final = "UPDATE command SET status = 'done', finished_at = %s, result = %s WHERE id = %s AND status = 'claimed'"


def missing() -> str | None:
    """Why nothing can be measured on PostgreSQL here, or None."""
    if importlib.util.find_spec("psycopg") is None:
        return "psycopg is not installed"
    return why_not()


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The URL of a server that keeps what it has committed, as one in use does."""
    with postgres_server(durable=True) as url:
        yield url


@contextlib.contextmanager
def opened(make: Callable[[str], Cycle], url: str, durable: Durable) -> Iterator[Cycle]:
    """A contender with a database of its own."""
    told = f"options=-c%20synchronous_commit%3D{'on' if durable == 'full' else 'off'}"
    with fresh_database(url) as own, contextlib.closing(make(f"{own}?{told}")) as queue:
        yield queue


def our_queue(url: str, mark: Path) -> OurCycle:
    return OurCycle(open_database(url), mark)


class RawPsycopg:
    """The floor: psycopg, one open connection, partial indexes, one prepared statement a step, SKIP LOCKED."""

    def __init__(self, url: str) -> None:
        import psycopg

        self._db = psycopg.connect(url, autocommit=True, prepare_threshold=2)
        self._db.execute(f"CREATE SCHEMA bench; SET search_path = bench; {_TABLE}")  # aside from the hub's own tables
        self._number = 0

    def enqueue(self) -> None:
        self._number += 1
        self._db.execute(_INSERT, (time.time(), self._number, COMMAND))

    def claim(self) -> Any:
        row = self._db.execute(_TAKE, (time.time(),)).fetchone()
        return row and row[0]

    def report(self, ticket: Any) -> None:
        self._db.execute(_DONE, (time.time(), RESULT, ticket))

    def close(self) -> None:
        self._db.execute("DROP SCHEMA bench CASCADE")
        self._db.close()
