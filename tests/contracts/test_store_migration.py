"""From a live base of schema 1 to the newest: every row kept, a copy first, one schema or the other after a cut."""

import json
import sqlite3
from pathlib import Path

import pytest

from hub.backup import KEEP, FolderBackups
from hub.errors import Unready
from hub.service import Service
from hub.store import schema
from hub.store.connection import MEMORY, Database
from hub.store.schema import SCHEMA_VERSION, migrate, schema_version, statements_of
from protocol.messages import ClaimRequest
from tests.simulation.clock import SimulatedClock, SimulatedIds

FIRST = Path(schema.__file__).parent / "sql" / "migrations" / "0001.sql"
V1_TABLES = ("setting", "batch", "command", "agent_status", "issue", "issue_link", "note")


def live_base(path: Path) -> dict[str, list[dict[str, object]]]:
    """A base of schema 1 with three batches, two commands claimed; what is in it, by table."""
    connection = sqlite3.connect(path)
    connection.executescript(FIRST.read_text(encoding="utf-8"))
    for batch in (1, 2, 3):
        created = f"2026-10-1{batch}T08:00:00+00:00"
        connection.execute("INSERT INTO batch VALUES (?, 'anna', 't', ?, NULL, '/backup')", (batch, created))
    insert = "INSERT INTO command (id, batch_id, seq, type, params, status, claimed_at) VALUES (?, ?, ?, ?, ?, ?, ?)"
    fields = json.dumps({"key": "AURORA-1", "duedate": "2026-10-23"})
    connection.executemany(
        insert,
        [
            (1, 1, 1, "ensure_fields", fields, "done", "2026-10-11T08:01:00+00:00"),
            (2, 2, 1, "ensure_fields", fields, "claimed", "2026-10-12T08:01:00+00:00"),
            (3, 2, 2, "refresh", '{"keys":["AURORA-1"]}', "claimed", "2026-10-12T08:02:00+00:00"),
            (4, 3, 1, "ensure_issue", '{"temp_key":"new:1","summary":"x"}', "queued", None),
            (5, 3, 2, "ensure_link", '{"source":"new:1","target":"AURORA-1","link_type":"x"}', "queued", None),
            (6, 3, 3, "refresh", '{"keys":["new:1","AURORA-1"]}', "queued", None),
        ],
    )
    connection.execute("INSERT INTO agent_status VALUES (1, 2, '2026-10-12T08:02:00+00:00', 3)")
    connection.executemany("INSERT INTO issue (key, summary) VALUES (?, 'x')", [(f"AURORA-{n}",) for n in range(193)])
    connection.executemany("INSERT INTO note VALUES (?, 'x', 'y')", [(f"AURORA-{n}",) for n in range(139)])
    connection.execute("INSERT INTO issue_link VALUES ('AURORA-1', 'AURORA-2', 'x', '7')")
    connection.commit()
    connection.row_factory = sqlite3.Row
    rows = {table: [dict(row) for row in connection.execute(f"SELECT * FROM {table}")] for table in V1_TABLES}
    connection.close()
    return rows


def test_every_column_of_every_row_of_schema_1_is_kept(tmp_path: Path) -> None:
    before = live_base(tmp_path / "hub.sqlite")
    database = Database(tmp_path / "hub.sqlite")
    assert migrate(database, lambda label: None) == (1, SCHEMA_VERSION)
    for table, rows in before.items():
        columns = ", ".join(rows[0])
        after = [dict(row) for row in database.connection().execute(f"SELECT {columns} FROM {table}")]
        if table == "setting":
            rows = [{**row, "value": "2"} if row["key"] == "schema_version" else row for row in rows]
        assert sorted(map(str, after)) == sorted(map(str, rows)), table
    database.close()


def test_what_is_claimed_counts_one_delivery_and_temporary_keys_are_known(tmp_path: Path) -> None:
    live_base(tmp_path / "hub.sqlite")
    database = Database(tmp_path / "hub.sqlite")
    migrate(database, lambda label: None)
    rows = database.connection().execute("SELECT id, deliveries, needs, defines FROM command ORDER BY id").fetchall()
    assert [tuple(row) for row in rows] == [
        (1, 0, None, None),
        (2, 1, None, None),
        (3, 1, None, None),
        (4, 0, None, "new:1"),
        (5, 0, "new:1", None),
        (6, 0, "new:1", None),
    ]
    database.close()


def test_the_queue_of_a_live_base_goes_on(tmp_path: Path) -> None:
    live_base(tmp_path / "hub.sqlite")
    database = Database(tmp_path / "hub.sqlite")
    service = Service(database, clock=SimulatedClock(), ids=SimulatedIds())
    answer = service.claim("main", ClaimRequest())
    assert answer is not None
    assert (json.loads(answer.body)["id"], json.loads(answer.body)["delivery"]) == (2, 2)
    database.close()


def test_what_the_previous_release_wrote_meanwhile_is_taken_up_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "hub.sqlite"
    for _ in range(2):
        database = Database(path)
        Service(database, clock=SimulatedClock(), ids=SimulatedIds())
        database.close()
        connection = sqlite3.connect(path)
        if not connection.execute("SELECT 1 FROM batch").fetchone():
            connection.execute("INSERT INTO batch VALUES (1, 'a', 't', '2026-10-13', NULL, NULL, 'main', 0)")
            insert = "INSERT INTO command (batch_id, seq, type, params, status) VALUES (1, ?, ?, ?, ?)"
            connection.execute(insert, (1, "ensure_fields", '{"key":"AURORA-1","duedate":null}', "claimed"))
            connection.execute(insert, (2, "ensure_issue", '{"temp_key":"new:1","summary":"x"}', "queued"))
            connection.execute(insert, (3, "refresh", '{"keys": ["new:1", "AURORA-1"]}', "queued"))
            connection.commit()
        rows = connection.execute("SELECT deliveries, needs, defines FROM command ORDER BY id").fetchall()
        connection.close()
    assert rows == [(1, None, None), (0, None, "new:1"), (0, "new:1", None)]


def test_a_copy_is_made_first_and_never_rotated(tmp_path: Path) -> None:
    path = tmp_path / "hub.sqlite"
    live_base(path)
    clock = SimulatedClock()
    backups = FolderBackups(path, tmp_path / "backups", clock)
    database = Database(path)
    Service(database, clock=clock, ids=SimulatedIds(), backups=backups)
    for number in range(KEEP + 2):
        clock.sleep(1)
        backups.make(f"batch-{number}")
    names = sorted(copy.name for copy in (tmp_path / "backups").iterdir())
    copies = [name for name in names if "-schema-v1" in name]
    assert (len(copies), len(names)) == (1, KEEP + 1)
    kept = sqlite3.connect(tmp_path / "backups" / copies[0])
    assert kept.execute("SELECT value FROM setting WHERE key = 'schema_version'").fetchone() == ("1",)
    kept.close()
    database.close()


def test_a_new_base_and_a_migrated_one_have_the_same_schema(tmp_path: Path) -> None:
    live_base(tmp_path / "hub.sqlite")
    schemas = []
    for path in (MEMORY, tmp_path / "hub.sqlite"):
        database = Database(path)
        migrate(database, lambda label: None)
        rows = database.connection().execute("SELECT name, sql FROM sqlite_master ORDER BY name")
        schemas.append([tuple(row) for row in rows])
        assert migrate(database, lambda label: None) == (SCHEMA_VERSION, SCHEMA_VERSION)
        database.close()
    assert schemas[0] == schemas[1]


def test_a_cut_at_any_statement_leaves_schema_1_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "hub.sqlite"
    before = live_base(path)
    second = FIRST.with_name("0002.sql").read_text(encoding="utf-8")
    for cut in range(len(statements_of(second))):
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA legacy_alter_table = ON")
        connection.execute("BEGIN IMMEDIATE")
        for statement in statements_of(second)[:cut]:
            connection.execute(statement)
        connection.close()  # the process dies: nothing was committed
        connection = sqlite3.connect(path)
        connection.row_factory = sqlite3.Row
        assert schema_version(connection) == 1
        rows = {table: [dict(row) for row in connection.execute(f"SELECT * FROM {table}")] for table in V1_TABLES}
        connection.close()
        assert rows == before


def test_a_base_of_a_newer_release_is_left_alone(tmp_path: Path) -> None:
    database = Database(tmp_path / "hub.sqlite")
    migrate(database, lambda label: None)
    database.connection().execute("UPDATE setting SET value = '99' WHERE key = 'schema_version'")
    with pytest.raises(Unready, match="99"):
        migrate(database, lambda label: None)
    database.close()


def test_the_schema_1_in_the_code_is_the_one_of_live_bases() -> None:
    connection = sqlite3.connect(MEMORY)
    connection.executescript(FIRST.read_text(encoding="utf-8"))
    columns = {table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")] for table in V1_TABLES}
    assert columns["command"] == [
        *("id", "batch_id", "seq", "type", "params", "status", "result", "error"),
        *("jira_calls", "rate_limited", "claimed_at", "finished_at"),
    ]
    assert columns["setting"] == ["key", "value"]
    connection.close()
