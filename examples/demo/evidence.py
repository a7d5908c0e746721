"""Reads the two witnesses of a run: the fake Jira's request journal and the hub's database."""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2

from examples.demo.verdict import Call, Work


def jira_calls(jira_url: str, *, since: int = 0) -> list[Call]:
    """Every request of the agent that the fake Jira noted after number `since`."""
    answer = httpx2.get(f"{jira_url}/control/requests", params={"since": since}, timeout=10).raise_for_status().json()
    return [_call(request) for request in answer["requests"]]


def _call(request: Mapping[str, Any]) -> Call:
    body = request["body"]
    if isinstance(body, str) and body[:1] in ("{", "["):
        body = json.loads(body)
    return Call(request["wall"], request["method"], request["path"], body, wrote=bool(request["executed"]))


def works(database: Path) -> list[Work]:
    """Every command of the hub, with the moments of its first delivery and its end."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        rows = connection.execute(
            "SELECT id, type, status, deliveries, first_claimed_at, finished_at FROM command ORDER BY id"
        ).fetchall()
    return [Work(row[0], row[1], row[2], row[3], _seconds(row[4]), _seconds(row[5])) for row in rows]


def _seconds(stamp: str | None) -> float | None:
    return datetime.fromisoformat(stamp).timestamp() if stamp else None
