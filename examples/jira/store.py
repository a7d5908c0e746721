"""Durable state in SQLite: what was answered is on disk, so a killed fake comes back as it was. No rules of Jira."""

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Final

from examples.jira.model import Comment, Issue, Link, Sprint

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS issues (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS keys (key TEXT PRIMARY KEY, issue_id INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS versions (issue_id INTEGER NOT NULL, at REAL NOT NULL, body TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS versions_by_issue ON versions (issue_id, at);
CREATE TABLE IF NOT EXISTS comments (id INTEGER PRIMARY KEY, issue_id INTEGER NOT NULL, body TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS comments_by_issue ON comments (issue_id, id);
CREATE TABLE IF NOT EXISTS links
    (id INTEGER PRIMARY KEY, type_id TEXT NOT NULL, first INTEGER NOT NULL, second INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS sprints (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS memory (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, last INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS requests
    (number INTEGER PRIMARY KEY AUTOINCREMENT, wall REAL NOT NULL, monotonic REAL NOT NULL, boot_id TEXT NOT NULL,
     method TEXT NOT NULL, path TEXT NOT NULL, query TEXT NOT NULL, body TEXT NOT NULL, user_agent TEXT NOT NULL,
     user TEXT, status INTEGER, executed INTEGER NOT NULL DEFAULT 0, fault TEXT);
CREATE TABLE IF NOT EXISTS changes
    (request INTEGER, issue_id INTEGER NOT NULL, at REAL NOT NULL, user TEXT NOT NULL, text TEXT NOT NULL);
"""
_KEPT_VERSIONS_SECONDS: Final = 3600.0  # no index lag is longer than an hour


class Store:
    """One connection, one writer at a time (`lock`). Nothing is cached: SQLite is the only state."""

    def __init__(self, database: str) -> None:
        self.lock = threading.RLock()
        # Any thread may call, because `lock` lets one in at a time.
        self._sql = sqlite3.connect(database, isolation_level=None, check_same_thread=False)
        self._sql.row_factory = sqlite3.Row
        # WAL and NORMAL survive kill -9 of the process; a fake need not survive a power cut.
        self._sql.execute("PRAGMA journal_mode=WAL")
        self._sql.execute("PRAGMA synchronous=NORMAL")
        self._sql.executescript(_SCHEMA)

    def close(self) -> None:
        self._sql.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self.lock:
            self._sql.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._sql.execute("ROLLBACK")
                raise
            self._sql.execute("COMMIT")

    # issues
    def issue(self, issue_id: int) -> Issue | None:
        row = self._sql.execute("SELECT body FROM issues WHERE id = ?", (issue_id,)).fetchone()
        return Issue(**json.loads(row["body"])) if row else None

    def issue_by_key(self, key: str) -> Issue | None:
        """By any key it ever had, in any case."""
        row = self._sql.execute("SELECT issue_id FROM keys WHERE key = ?", (key.upper(),)).fetchone()
        return self.issue(row["issue_id"]) if row else None

    def issues(self) -> list[Issue]:
        return [Issue(**json.loads(row["body"])) for row in self._sql.execute("SELECT body FROM issues ORDER BY id")]

    def indexed_issues(self, until: float) -> list[Issue]:
        """The issues as they stood at wall time `until`; later ones are not there yet."""
        rows = self._sql.execute(
            "SELECT body FROM (SELECT body, issue_id, row_number() OVER"
            " (PARTITION BY issue_id ORDER BY at DESC, rowid DESC) AS age"
            " FROM versions WHERE at <= ?) WHERE age = 1 ORDER BY issue_id",
            (until,),
        )
        return [Issue(**json.loads(row["body"])) for row in rows]

    def save_issue(self, issue: Issue, now: float) -> None:
        body = json.dumps(asdict(issue), ensure_ascii=False)
        self._sql.execute("INSERT OR REPLACE INTO issues VALUES (?, ?)", (issue.id, body))
        # The rows of keys it had before stay: they lead here for ever.
        self._sql.execute("INSERT OR REPLACE INTO keys VALUES (?, ?)", (issue.key.upper(), issue.id))
        self._sql.execute(
            "DELETE FROM versions WHERE issue_id = ? AND at <"
            " (SELECT max(at) FROM versions WHERE issue_id = ? AND at <= ?)",
            (issue.id, issue.id, now - _KEPT_VERSIONS_SECONDS),
        )
        self._sql.execute("INSERT INTO versions VALUES (?, ?, ?)", (issue.id, now, body))

    def delete_issue(self, issue_id: int) -> None:
        for sql in (
            "DELETE FROM issues WHERE id = ?1",
            "DELETE FROM keys WHERE issue_id = ?1",
            "DELETE FROM versions WHERE issue_id = ?1",
            "DELETE FROM comments WHERE issue_id = ?1",
            "DELETE FROM links WHERE first = ?1 OR second = ?1",
        ):
            self._sql.execute(sql, (issue_id,))

    # comments, links, sprints
    def comments(self, issue_id: int) -> list[Comment]:
        rows = self._sql.execute("SELECT body FROM comments WHERE issue_id = ? ORDER BY id", (issue_id,))
        return [Comment(**json.loads(row["body"])) for row in rows]

    def save_comment(self, comment: Comment) -> None:
        body = json.dumps(asdict(comment), ensure_ascii=False)
        self._sql.execute("INSERT OR REPLACE INTO comments VALUES (?, ?, ?)", (comment.id, comment.issue_id, body))

    def delete_comment(self, comment_id: int) -> None:
        self._sql.execute("DELETE FROM comments WHERE id = ?", (comment_id,))

    def links_of(self, issue_id: int) -> list[Link]:
        rows = self._sql.execute("SELECT * FROM links WHERE first = ?1 OR second = ?1 ORDER BY id", (issue_id,))
        return [Link(**dict(row)) for row in rows]

    def links(self) -> list[Link]:
        return [Link(**dict(row)) for row in self._sql.execute("SELECT * FROM links ORDER BY id")]

    def save_link(self, link: Link) -> None:
        self._sql.execute("INSERT INTO links VALUES (?, ?, ?, ?)", (link.id, link.type_id, link.first, link.second))

    def link(self, link_id: int) -> Link | None:
        row = self._sql.execute("SELECT * FROM links WHERE id = ?", (link_id,)).fetchone()
        return Link(**dict(row)) if row else None

    def delete_link(self, link_id: int) -> None:
        self._sql.execute("DELETE FROM links WHERE id = ?", (link_id,))

    def sprints(self) -> list[Sprint]:
        return [Sprint(**json.loads(row["body"])) for row in self._sql.execute("SELECT body FROM sprints ORDER BY id")]

    def save_sprint(self, sprint: Sprint) -> None:
        body = json.dumps(asdict(sprint), ensure_ascii=False)
        self._sql.execute("INSERT OR REPLACE INTO sprints VALUES (?, ?)", (sprint.id, body))

    # small memory and counters
    def recall(self, name: str, default: Any = None) -> Any:
        row = self._sql.execute("SELECT value FROM memory WHERE name = ?", (name,)).fetchone()
        return json.loads(row["value"]) if row else default

    def remember(self, name: str, value: Any) -> None:
        self._sql.execute("INSERT OR REPLACE INTO memory VALUES (?, ?)", (name, json.dumps(value, ensure_ascii=False)))

    def next_number(self, counter: str, first: int = 10_001) -> int:
        """The next number of a counter; numbers are never given twice."""
        self._sql.execute("INSERT OR IGNORE INTO counters VALUES (?, ?)", (counter, first - 1))
        self._sql.execute("UPDATE counters SET last = last + 1 WHERE name = ?", (counter,))
        row = self._sql.execute("SELECT last FROM counters WHERE name = ?", (counter,)).fetchone()
        return int(row["last"])

    # the journal of requests
    def open_request(self, values: dict[str, Any]) -> int:
        cursor = self._sql.execute(
            "INSERT INTO requests (wall, monotonic, boot_id, method, path, query, body, user_agent)"
            " VALUES (:wall, :monotonic, :boot_id, :method, :path, :query, :body, :user_agent)",
            values,
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def close_request(self, number: int, *, user: str | None, status: int | None, executed: bool, fault: str) -> None:
        self._sql.execute(
            "UPDATE requests SET user = ?, status = ?, executed = ?, fault = ? WHERE number = ?",
            (user, status, executed, fault or None, number),
        )

    def requests(self, since: int = 0, limit: int = 1000) -> list[dict[str, Any]]:
        """Requests after number `since`; `executed` says that a write took effect, whatever the client was told."""
        rows = self._sql.execute("SELECT * FROM requests WHERE number > ? ORDER BY number LIMIT ?", (since, limit))
        return [{**dict(row), "executed": bool(row["executed"])} for row in rows]

    def add_change(self, request: int | None, issue_id: int, at: float, user: str, text: str) -> None:
        self._sql.execute("INSERT INTO changes VALUES (?, ?, ?, ?, ?)", (request, issue_id, at, user, text))

    def changes(self, issue_id: int | None = None, limit: int = 200) -> list[dict[str, Any]]:
        """The newest changes first, of one issue or of all; `request` is null for what people did."""
        rows = self._sql.execute(
            "SELECT * FROM changes WHERE ?1 IS NULL OR issue_id = ?1 ORDER BY rowid DESC LIMIT ?2", (issue_id, limit)
        )
        return [dict(row) for row in rows]

    def request_counts(self) -> tuple[int, int]:
        """How many requests came, and how many of them wrote."""
        row = self._sql.execute("SELECT count(*) AS came, coalesce(sum(executed), 0) AS wrote FROM requests").fetchone()
        return row["came"], row["wrote"]
