"""The store on every engine: transactions, the lifecycle in the database, the plans of claim and report."""

import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest

from hub.lifecycle import allowed
from hub.store.connection import MEMORY, STATEMENTS, AnyDatabase, Database, Transaction
from hub.store.opening import open_database
from hub.store.schema import migrate
from protocol.messages import TERMINAL, Status
from tests.contracts.postgres_server import fresh_database
from tests.faces.small_hub import ENGINES
from tests.simulation.disks import CutConnection, CutDatabase
from tests.simulation.virtual_time import Machine, Process, Time

NOW = "2026-10-13T08:00:00.000000Z"
STATUSES: tuple[Status, ...] = get_args(Status)
psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed (the extra `postgres`)")
REFUSED = (sqlite3.IntegrityError, psycopg.errors.IntegrityError)


@pytest.fixture(params=[*ENGINES, "world"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AnyDatabase]:
    with ExitStack() as stack:
        made: AnyDatabase
        if request.param == "world":  # the simulated hub's, before the power goes
            made = CutDatabase(tmp_path / "hub.sqlite", Process("hub", Machine(Time(), "hub")), lambda: None)
        elif request.param == "postgres":
            made = open_database(stack.enter_context(fresh_database(request.getfixturevalue("postgres_url"))))
        else:
            made = open_database({"memory": MEMORY, "file": tmp_path / "hub.sqlite"}[request.param])
        stack.callback(made.close)
        migrate(made, lambda label: None)
        yield made


@pytest.fixture(params=["memory", "file"])
def sqlite(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    with closing(Database(MEMORY if request.param == "memory" else tmp_path / "hub.sqlite")) as made:
        migrate(made, lambda label: None)
        yield made


def execute(transaction: Transaction, sql: str, **values: Any) -> Any:
    """A statement that the product has no name for, past its rules."""
    connection = transaction._live()
    if not isinstance(connection, sqlite3.Connection | CutConnection):
        sql = re.sub(r":(\w+)", r"%(\1)s", sql)
    return connection.execute(sql, values)


def put_note(database: AnyDatabase, text: str) -> None:
    with database.writing(NOW) as transaction:
        transaction.run("put_note", link="main", key="AURORA-1", text=text, at=NOW)


def note(database: AnyDatabase) -> str | None:
    with database.reading(NOW) as transaction:
        row = transaction.one("note", link="main", key="AURORA-1")
        return None if row is None else str(row["text"])


class PowerCut(BaseException):
    """The process dies here."""


def test_what_is_committed_stays_and_what_is_cut_short_is_gone(database: AnyDatabase) -> None:
    put_note(database, "kept")
    with pytest.raises(PowerCut), database.writing(NOW) as transaction:
        transaction.run("put_note", link="main", key="AURORA-1", text="lost", at=NOW)
        raise PowerCut
    assert note(database) == "kept"
    put_note(database, "and on it goes")
    assert note(database) == "and on it goes"


def test_what_is_written_while_reading_is_thrown_away(database: AnyDatabase) -> None:
    with database.reading(NOW) as transaction:
        transaction.run("put_note", link="main", key="AURORA-1", text="x", at=NOW)
    assert note(database) is None


def test_a_transaction_is_of_no_use_after_its_end(database: AnyDatabase) -> None:
    with database.writing(NOW) as transaction:
        pass
    with pytest.raises(AssertionError, match="over"):
        transaction.one("note", link="main", key="AURORA-1")


def test_writers_in_many_threads_wait_for_each_other_and_lose_nothing(database: AnyDatabase) -> None:
    def work(number: int) -> None:
        for step in range(20):
            with database.writing(NOW) as transaction:
                row = transaction.one("note", link="main", key="sum")
                count = int(row["text"]) if row else 0
                transaction.run("put_note", link="main", key="sum", text=str(count + 1), at=f"{number}-{step}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    with database.reading(NOW) as transaction:
        row = transaction.one("note", link="main", key="sum")
    assert row is not None
    assert row["text"] == "100"


def command_in(database: AnyDatabase, status: str, command_type: str = "ensure_fields") -> int:
    """A command put there in a status, past the lifecycle."""
    with database.writing(NOW) as transaction:
        execute(
            transaction,
            "INSERT INTO batch (id, author, title, created_at) VALUES (1, 'a', 't', :at) ON CONFLICT DO NOTHING",
            at=NOW,
        )
        ids = transaction.one("newest_ids")
        assert ids is not None
        number = int(ids["command_id"]) + 1
        execute(
            transaction,
            "INSERT INTO command (id, batch_id, seq, type, params, status) VALUES (:id, 1, :id, :type, '{}', :status)",
            id=number,
            type=command_type,
            status=status,
        )
    return number


def test_the_database_allows_the_moves_of_the_table_and_no_other(database: AnyDatabase) -> None:
    for source, target in product(STATUSES, STATUSES):
        command_id = command_in(database, source)

        def move(command_id: int = command_id, target: str = target) -> None:
            with database.writing(NOW) as transaction:
                execute(transaction, "UPDATE command SET status = :status WHERE id = :id", status=target, id=command_id)

        if source == target or allowed(source, target):
            move()
        else:
            with pytest.raises(REFUSED, match="no such move"):
                move()


def test_the_database_knows_the_statuses_of_the_protocol_and_no_other(database: AnyDatabase) -> None:
    for status in STATUSES:
        command_in(database, status)
    with pytest.raises(REFUSED):
        command_in(database, "lost")


@pytest.mark.parametrize("column", ["error", "finished_at", "result", "params", "deliveries", "claimed_at"])
def test_a_terminal_command_never_changes(database: AnyDatabase, column: str) -> None:
    for status in sorted(TERMINAL):
        command_id = command_in(database, status)
        with pytest.raises(REFUSED, match="never changes"), database.writing(NOW) as transaction:
            execute(transaction, f"UPDATE command SET {column} = '7' WHERE id = :id", id=command_id)


def test_two_commands_of_a_batch_never_have_one_place(database: AnyDatabase) -> None:
    number = command_in(database, "queued")
    with pytest.raises(REFUSED), database.writing(NOW) as transaction:
        execute(
            transaction,
            "INSERT INTO command (id, batch_id, seq, type, params) VALUES (:id, 1, :seq, 'refresh', '{}')",
            id=number + 1,
            seq=number,
        )


def test_a_cancelled_creation_takes_a_result_once(database: AnyDatabase) -> None:
    command_id = command_in(database, "cancelled", "ensure_issue")
    keep: dict[str, Any] = {"id": command_id, "jira_calls": 1, "rate_limited": 0}
    with database.writing(NOW) as transaction:
        transaction.run("keep_creation", result='{"key":"A1-1"}', **keep)
    with pytest.raises(REFUSED), database.writing(NOW) as transaction:
        transaction.run("keep_creation", result='{"key":"A1-2"}', **keep)


HOT = {
    "met": "sqlite_autoindex_answer_1",
    "reported": "INTEGER PRIMARY KEY",
    "claimed_commands": "command_claimed",
    "due": "command_queued",
    "definer": "command_defines",
    "deliver": "INTEGER PRIMARY KEY",
    "finish": "INTEGER PRIMARY KEY",
    "end_without_report": "INTEGER PRIMARY KEY",
    "command": "INTEGER PRIMARY KEY",
    "queued_of_batch": "batch_id=?",
    "agent": "sqlite_autoindex_agent_status_1",
    "settings": "sqlite_autoindex_setting_1",
}
ONE_ROW = {"SCAN CONSTANT ROW", "SCAN request", "SCAN first_queued"}


@pytest.mark.parametrize("statement", sorted(HOT))
def test_claim_and_report_find_their_rows_by_an_index_and_sort_nothing(sqlite: Database, statement: str) -> None:
    text = STATEMENTS[statement]
    names = {part.split(")")[0].split(",")[0].strip(" ;\n") for part in text.split(":")[1:]}
    values = dict.fromkeys((name.split()[0] for name in names if name), 1)
    plan = [row["detail"] for row in sqlite.connection().execute(f"EXPLAIN QUERY PLAN {text}", values)]
    assert any(HOT[statement] in line for line in plan), plan
    scanned = {line for line in plan if line.startswith("SCAN") or "TEMP B-TREE" in line}
    assert scanned <= ONE_ROW, plan
