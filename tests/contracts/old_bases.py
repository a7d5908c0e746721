"""Bases of schema 1 as they are in the field: the filled one, and any that hypothesis can think of."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from hypothesis import strategies as st

from hub.store import schema

FIRST: Final = Path(schema.__file__).parent / "sql" / "migrations" / "0001.sql"
TABLES: Final = ("setting", "batch", "command", "agent_status", "issue", "issue_link", "note")
STATUSES: Final = ("queued", "claimed", "done", "failed", "cancelled", "skipped", "confirmed_by_state")
Base = Mapping[str, Sequence[Mapping[str, Any]]]  # rows by table, beside what schema 1 puts there itself


def write_base(path: Path, base: Base) -> None:
    """A base of schema 1 with these rows more."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(FIRST.read_text(encoding="utf-8"))
        for table in TABLES:
            for row in base.get(table, ()):
                marks = ", ".join(f":{name}" for name in row)
                connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", dict(row))
        connection.commit()


def rows_of(path: Path, columns: Mapping[str, Sequence[str]] | None = None) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of schema 1's tables in these columns (else all), in one order; the schema's version is left out."""
    with closing(sqlite3.connect(path)) as connection:
        found = {}
        for table in TABLES:
            names = columns[table] if columns else [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            rows = connection.execute(f"SELECT {', '.join(names)} FROM {table}").fetchall()
            found[table] = sorted((row for row in rows if row[0] != "schema_version"), key=repr)
        return found


def columns_of(path: Path) -> dict[str, list[str]]:
    with closing(sqlite3.connect(path)) as connection:
        return {table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")] for table in TABLES}


def filled_base() -> Base:
    """193 issues, 139 notes, three batches, two commands claimed."""
    wishes = [
        (1, 1, 1, "ensure_fields", {"key": "AURORA-1", "duedate": "2026-10-23"}, "done"),
        (2, 1, 2, "refresh", {"keys": ["AURORA-1"]}, "done"),
        (3, 2, 1, "ensure_fields", {"key": "AURORA-2", "duedate": "2026-10-23"}, "claimed"),
        (4, 2, 2, "ensure_status", {"key": "AURORA-2", "target": "Готово"}, "claimed"),
        (5, 2, 3, "ensure_comment", {"key": "AURORA-3", "marker": "plan:1", "body": "Сделано"}, "failed"),
        (6, 3, 1, "ensure_issue", {"temp_key": "new:1", "summary": "Отчёт"}, "queued"),
        (7, 3, 2, "ensure_link", {"source": "new:1", "target": "AURORA-1", "link_type": "связанные"}, "queued"),
        (8, 3, 3, "refresh", {"keys": ["new:1", "AURORA-1"]}, "queued"),
    ]
    commands = [
        {
            "id": number,
            "batch_id": batch,
            "seq": seq,
            "type": kind,
            "params": json.dumps(params, ensure_ascii=False),
            "status": status,
            "claimed_at": None if status == "queued" else f"2026-10-1{batch}T08:0{seq}:00+00:00",
            "finished_at": f"2026-10-1{batch}T08:09:00+00:00" if status in ("done", "failed") else None,
            "error": "Jira: 400" if status == "failed" else None,
        }
        for number, batch, seq, kind, params, status in wishes
    ]
    return {
        "batch": [
            {"id": n, "author": "anna", "title": f"Неделя {n}", "created_at": f"2026-10-1{n}T08:00:00+00:00"}
            for n in (1, 2, 3)
        ],
        "command": commands,
        "agent_status": [{"id": 1, "version": 2, "last_seen_at": "2026-10-12T08:02:00+00:00", "current_command_id": 4}],
        "issue": [
            {"key": f"AURORA-{n}", "summary": f"Задача {n}", "status": "Открыта", "labels": '["план"]'}
            for n in range(1, 194)
        ],
        "issue_link": [
            {"source": "AURORA-1", "target": f"AURORA-{n}", "link_type": "связанные", "jira_id": str(n)}
            for n in range(2, 20)
        ],
        "note": [
            {"key": f"AURORA-{n}", "text": "ждём ответа\nот отдела", "updated_at": "2026-10-12T08:00:00+00:00"}
            for n in range(1, 140)
        ],
    }


_text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=30)
_perhaps = st.none() | _text
_keys = st.integers(1, 40).map(lambda number: f"AURORA-{number}")
_count = st.none() | st.integers(0, 9)


@st.composite
def _commands(draw: st.DrawFn, batch_ids: list[int]) -> list[dict[str, Any]]:
    commands = []
    for number in draw(st.lists(st.integers(1, 500), max_size=10, unique=True)):
        status = draw(st.sampled_from(STATUSES))
        kind, params = draw(st.sampled_from(_WISHES))
        commands.append(
            {
                "id": number,
                "batch_id": draw(st.sampled_from(batch_ids)),
                "seq": len(commands) + 1,
                "type": kind,
                "params": json.dumps(params, ensure_ascii=draw(st.booleans())),
                "status": status,
                "result": draw(st.none() | st.just('{"key": "AURORA-7"}')),
                "error": draw(_perhaps),
                "jira_calls": draw(_count),
                "rate_limited": draw(_count),
                "claimed_at": None if status == "queued" else draw(_perhaps),
                "finished_at": draw(_perhaps),
            }
        )
    return commands


@st.composite
def old_bases(draw: st.DrawFn) -> Base:
    """Whatever a hub of schema 1 can have left: gaps in ids, batches out of order, any text, any status."""
    batch_ids = draw(st.lists(st.integers(1, 60), max_size=5, unique=True))
    batches = [
        {
            "id": number,
            "author": draw(_text),
            "title": draw(_text),
            "created_at": draw(_text),
            "backup_path": draw(_perhaps),
        }
        for number in batch_ids
    ]
    keys = draw(st.lists(_keys, max_size=8, unique=True))
    links = draw(
        st.lists(st.tuples(_keys, _keys, st.sampled_from(("связанные", "блокирует"))), max_size=6, unique=True)
    )
    columns = (
        "summary",
        "description",
        "issue_type",
        "status",
        "priority",
        "assignee",
        "epic_key",
        "sprint",
        "updated",
    )
    agent = {"id": 1, "version": draw(_count), "last_seen_at": draw(_perhaps), "current_command_id": draw(_count)}
    return {
        "setting": [{"key": f"own:{n}", "value": draw(_text)} for n in range(draw(st.integers(0, 2)))],
        "batch": batches,
        "command": draw(_commands(batch_ids)) if batch_ids else [],
        "agent_status": [agent] if draw(st.booleans()) else [],
        "issue": [{"key": key, **{name: draw(_perhaps) for name in columns}} for key in keys],
        "issue_link": [
            {"source": source, "target": target, "link_type": kind, "jira_id": draw(_perhaps)}
            for source, target, kind in links
        ],
        "note": [{"key": key, "text": draw(_text), "updated_at": draw(_text)} for key in keys[::2]],
    }


_WISHES: Final = (
    ("ensure_fields", {"key": "AURORA-1", "duedate": None}),
    ("ensure_issue", {"temp_key": "new:1", "summary": "Отчёт", "epic_key": "new:2"}),
    ("ensure_link", {"source": "new:1", "target": "AURORA-1", "link_type": "связанные"}),
    ("ensure_comment", {"key": "new:1", "marker": "plan:1", "body": "new:3 is only a word here"}),
    ("refresh", {"keys": ["new:1", "AURORA-1"]}),
)
