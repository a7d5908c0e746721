"""Our hub as a durable queue: `hub.service` over its real database, with events, stored answers and all it keeps."""

import json
import sqlite3
from hashlib import md5
from pathlib import Path
from typing import Any, Final

from hub.mark import MarkFile
from hub.service import Service
from hub.service.plans import PlanWish
from hub.store.connection import AnyDatabase, Database
from protocol.messages import ClaimRequest, Report
from relay.clock import SystemClock, SystemIds
from tests.bench.queue_contenders import COMMAND, RESULT, SMALL, Durable

LINK: Final = "main"
AGENT: Final = ClaimRequest(agent_version=3, session="bench", host="bench")
WISH: Final = {"type": "ensure_fields", **json.loads(COMMAND)}


class OurCycle:
    """A batch of one command, its claim and its report; each under an idempotency key, as the agent sends them."""

    def __init__(self, database: AnyDatabase, mark: Path) -> None:
        self._database, self._marks = database, MarkFile(mark)
        self._service = Service(database, clock=SystemClock(), ids=SystemIds(), marks=self._marks)
        self._key = 0

    def _next_key(self) -> str:
        self._key += 1
        return md5(self._key.to_bytes(8, "big"), usedforsecurity=False).hexdigest()  # without order, as the relay's are

    def enqueue(self) -> None:
        self._service.create_batch(LINK, "bench", "Bench", [WISH], request_key=self._next_key())

    def claim(self) -> Any:
        answer = self._service.claim(LINK, AGENT, request_key=self._next_key())
        assert answer is not None
        return json.loads(answer.body)["id"] if answer.status == 200 else None

    def report(self, ticket: Any) -> None:
        said = Report(status="done", result=json.loads(RESULT), jira_calls=2, delivery=1)
        self._service.report(LINK, ticket, said, request_key=self._next_key())

    def tidy(self) -> None:
        """Every batch ends with a reading: take it, so that the next claim finds the next command of the bench."""
        ticket = self.claim()
        self._service.report(LINK, ticket, Report(status="done", result={"missing": ["AURORA-7"]}, delivery=1))

    def close(self) -> None:
        self._database.close()
        self._marks.close()


class OurQueue(OurCycle):
    """The same in a SQLite file, with large batches, a mirror, and tables filled from outside."""

    def __init__(self, root: Path, durable: Durable) -> None:
        self._path = root / "hub.sqlite"
        super().__init__(Database(self._path, synchronous=durable), root / "mark")

    def create(self, count: int) -> None:
        """One batch of many commands, validated and stored."""
        wishes = [{**WISH, "key": f"AURORA-{number + 1}"} for number in range(count)]
        self._service.create_batch(LINK, "bench", "Bench", wishes, request_key=self._next_key())

    def take_reading(self, issues: list[dict[str, Any]]) -> None:
        """A refresh and the agent's report with these issues."""
        self._service.refresh(LINK, "bench", {"keys": ["AURORA-1"]})
        said = Report(status="done", result={"issues": issues}, delivery=1)
        self._service.report(LINK, self.claim(), said, request_key=self._next_key())

    def search(self, text: str) -> int:
        """The hits on the first page."""
        return len(self._service.mirror.issues(LINK, limit=50, text=text)["items"])

    def plan(self, wishes: list[dict[str, Any]]) -> int:
        """The commands of a plan, compared with the mirror."""
        answer = self._service.plans.make(LINK, PlanWish("bench", "Bench", wishes))
        return len(json.loads(answer.body)["commands"])

    def fill(self, finished: int, waiting: int) -> None:
        """Copies of a finished and of a waiting command with an event each; the service itself would take hours."""
        self.enqueue()
        ticket = self.claim()
        self.report(ticket)
        self.tidy()
        self.enqueue()
        connection = sqlite3.connect(self._path, isolation_level=None)
        connection.row_factory = sqlite3.Row
        connection.execute("BEGIN IMMEDIATE")
        newest = connection.execute("SELECT * FROM command WHERE status = 'queued' ORDER BY id LIMIT 1").fetchone()
        done = connection.execute("SELECT * FROM command WHERE id = ?", (ticket,)).fetchone()
        _copies(connection, done, finished, 1_000)
        _copies(connection, newest, waiting, 1_000 + finished)
        connection.execute("COMMIT")
        connection.close()


def _copies(connection: sqlite3.Connection, row: sqlite3.Row, count: int, first: int) -> None:
    names = row.keys()
    marks = ", ".join("?" * len(names))
    kept = {**dict(row), "params": SMALL}
    rows = ([*({**kept, "id": first + n, "seq": n + 10}.values())] for n in range(count))
    connection.executemany(f"INSERT INTO command ({', '.join(names)}) VALUES ({marks})", rows)
    sql = "INSERT INTO event (link, command_id, to_status, why, at) VALUES (?, ?, 'queued', 'bench', ?)"
    connection.executemany(sql, ((LINK, first + n, "2026-10-13T08:00:00.000000Z") for n in range(count)))
