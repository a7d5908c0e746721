"""The store on a file and in memory: transactions, the lifecycle in the database, the plans of claim and report."""

import sqlite3
import threading
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest

from hub.lifecycle import allowed
from hub.store.connection import MEMORY, STATEMENTS, Database
from hub.store.schema import migrate
from protocol.messages import TERMINAL, Status

NOW = "2026-10-13T08:00:00.000000Z"
STATUSES: tuple[Status, ...] = get_args(Status)


@pytest.fixture(params=["memory", "file"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    made = Database(MEMORY if request.param == "memory" else tmp_path / "hub.sqlite")
    migrate(made, lambda label: None)
    yield made
    made.close()


def put_note(database: Database, text: str) -> None:
    with database.writing(NOW) as transaction:
        transaction.run("put_note", link="main", key="AURORA-1", text=text, at=NOW)


def note(database: Database) -> str | None:
    with database.reading(NOW) as transaction:
        row = transaction.one("note", link="main", key="AURORA-1")
        return None if row is None else str(row["text"])


class PowerCut(BaseException):
    """The process dies here."""


def test_what_is_committed_stays_and_what_is_cut_short_is_gone(database: Database) -> None:
    put_note(database, "kept")
    with pytest.raises(PowerCut), database.writing(NOW) as transaction:
        transaction.run("put_note", link="main", key="AURORA-1", text="lost", at=NOW)
        raise PowerCut
    assert note(database) == "kept"
    put_note(database, "and on it goes")
    assert note(database) == "and on it goes"


def test_what_is_written_while_reading_is_thrown_away(database: Database) -> None:
    with database.reading(NOW) as transaction:
        transaction.run("put_note", link="main", key="AURORA-1", text="x", at=NOW)
    assert note(database) is None


def test_a_transaction_is_of_no_use_after_its_end(database: Database) -> None:
    with database.writing(NOW) as transaction:
        pass
    with pytest.raises(AssertionError, match="over"):
        transaction.one("note", link="main", key="AURORA-1")


def test_writers_in_many_threads_wait_for_each_other_and_lose_nothing(database: Database) -> None:
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


def command_in(database: Database, status: Status, command_type: str = "ensure_fields") -> int:
    """A command put there in a status, past the lifecycle."""
    with database.writing(NOW):
        connection = database.connection()
        connection.execute(
            "INSERT OR IGNORE INTO batch (id, author, title, created_at) VALUES (1, 'a', 't', ?)", (NOW,)
        )
        seq = connection.execute("SELECT count(*) FROM command").fetchone()[0]
        inserted = connection.execute(
            "INSERT INTO command (batch_id, seq, type, params, status) VALUES (1, ?, ?, '{}', ?) RETURNING id",
            (seq, command_type, status),
        ).fetchone()
    return int(inserted[0])


@pytest.mark.parametrize(("source", "target"), list(product(STATUSES, STATUSES)))
def test_the_database_allows_the_moves_of_the_table_and_no_other(source: Status, target: Status) -> None:
    database = Database(MEMORY)
    migrate(database, lambda label: None)
    command_id = command_in(database, source)
    move = ("UPDATE command SET status = ? WHERE id = ?", (target, command_id))
    if source == target or allowed(source, target):
        database.connection().execute(*move)
    else:
        with pytest.raises(sqlite3.IntegrityError, match="no such move"):
            database.connection().execute(*move)
    database.close()


def test_the_database_knows_the_statuses_of_the_protocol_and_no_other(database: Database) -> None:
    for status in STATUSES:
        command_in(database, status)
    with pytest.raises(sqlite3.IntegrityError):
        command_in(database, "lost")  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize("status", sorted(TERMINAL))
@pytest.mark.parametrize("column", ["error", "finished_at", "result", "params", "deliveries", "claimed_at"])
def test_a_terminal_command_never_changes(status: Status, column: str) -> None:
    database = Database(MEMORY)
    migrate(database, lambda label: None)
    command_id = command_in(database, status)
    with pytest.raises(sqlite3.IntegrityError, match="never changes"):
        database.connection().execute(f"UPDATE command SET {column} = '7' WHERE id = ?", (command_id,))
    database.close()


def test_a_cancelled_creation_takes_a_result_once(database: Database) -> None:
    command_id = command_in(database, "cancelled", "ensure_issue")
    keep: dict[str, Any] = {"id": command_id, "jira_calls": 1, "rate_limited": 0}
    with database.writing(NOW) as transaction:
        transaction.run("keep_creation", result='{"key":"A1-1"}', **keep)
    with pytest.raises(sqlite3.IntegrityError), database.writing(NOW) as transaction:
        transaction.run("keep_creation", result='{"key":"A1-2"}', **keep)


HOT = {
    "stored_answer": "sqlite_autoindex_answer_1",
    "claimed_commands": "command_claimed",
    "queued_from": "command_queued",
    "definer": "command_defines",
    "deliver": "INTEGER PRIMARY KEY",
    "finish": "INTEGER PRIMARY KEY",
    "end_without_report": "INTEGER PRIMARY KEY",
    "command": "INTEGER PRIMARY KEY",
    "queued_of_batch": "batch_id=?",
    "agent": "sqlite_autoindex_agent_status_1",
    "settings": "sqlite_autoindex_setting_1",
}


@pytest.mark.parametrize("statement", sorted(HOT))
def test_claim_and_report_find_their_rows_by_an_index_and_sort_nothing(database: Database, statement: str) -> None:
    text = STATEMENTS[statement]
    names = {part.split(")")[0].split(",")[0].strip(" ;\n") for part in text.split(":")[1:]}
    values = dict.fromkeys((name.split()[0] for name in names if name), 1)
    plan = [row["detail"] for row in database.connection().execute(f"EXPLAIN QUERY PLAN {text}", values)]
    assert any(HOT[statement] in line for line in plan), plan
    assert not [line for line in plan if line.startswith("SCAN") or "TEMP B-TREE" in line], plan
