"""The hub killed at every statement of what it does: the database is as before or as after, never between (P5, P7)."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from hub.service import Service
from hub.service.answers import Answer
from hub.store.connection import Database
from protocol.messages import ClaimRequest, Report
from tests.faces.small_hub import creation, fields, link
from tests.promised import Covered
from tests.simulation.clock import SimulatedClock, SimulatedIds

AGENT = ClaimRequest(agent_version=3, session="s1", host="vm")
ISSUE = {"key": "AURORA-1", "summary": "x", "status": "Открыта", "duedate": "2026-10-23"}
Dump = dict[str, list[tuple[Any, ...]]]


class PowerCut(BaseException):
    """The process dies here."""


class CutConnection:
    """Dies before a statement, or after the commit; then there is nobody left to run another, not even a rollback."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.left: int | None = None
        self.passed = 0

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        self._pass_one()
        cursor = self._connection.execute(*arguments)
        if arguments[0] == "COMMIT":
            self._pass_one()
        return cursor

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        self._pass_one()
        return self._connection.executemany(*arguments)

    def _pass_one(self) -> None:
        self.passed += 1
        if self.left is not None and self.passed > self.left:
            raise PowerCut

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


class CutDatabase(Database):
    cut: CutConnection

    def _open(self) -> Any:
        self.cut = CutConnection(super()._open())
        return self.cut


def claim(service: Service, key: str) -> Answer | None:
    return service.claim("main", AGENT, request_key=key)


def prepare(service: Service) -> None:
    """Batch 1 was worked off until its creation failed; of batch 2 one command is with the agent."""
    service.create_batch("main", "anna", "one", [creation(), link("new:1", "AURORA-1"), fields("AURORA-1")])
    claim(service, "c1")
    service.report("main", 1, Report(status="failed", error="it broke"))
    service.create_batch(
        "main", "boris", "two", [fields("AURORA-2"), creation("new:7", "Второй"), fields("new:7"), fields("AURORA-3")]
    )
    claim(service, "c2")  # 3, of batch 1
    service.report("main", 3, Report(status="done", result={}))
    claim(service, "c3")  # 4, the reading of batch 1
    service.report("main", 4, Report(status="done", result={"issues": [ISSUE]}))
    claim(service, "c4")  # 5, of batch 2
    service.mirror.put_note("main", "new:7", "to the new one")


WORK: dict[str, Callable[[Service], object]] = {
    "a batch": lambda service: service.create_batch(
        "main", "c", "three", [creation(), fields("new:1")], request_key="b"
    ),
    "a redelivery": lambda service: claim(service, "c5"),
    "a claim that gives up": lambda service: [claim(service, f"g{number}") for number in range(3)][-1],
    "a report": lambda service: service.report("main", 5, Report(status="done", result={}), request_key="r"),
    "a report of a failed one": lambda service: service.report(
        "main", 5, Report(status="failed", error="no"), request_key="r"
    ),
    "a late report": lambda service: service.report("main", 1, Report(status="done", result={"key": "AURORA-9"})),
    "a cancelled batch": lambda service: service.cancel_batch("main", 2, "anna"),
    "a command cancelled with force": lambda service: service.cancel_command("main", 5, "anna", force=True),
    "a definer cancelled": lambda service: service.cancel_command("main", 6, "anna"),
    "a batch retried": lambda service: service.retry_batch("main", 1, "anna"),
    "a command retried": lambda service: service.retry_command("main", 2, "anna"),
    "settings": lambda service: service.change_settings("main", {"paused": True, "pacing": {"refresh": 5}}),
    "a plan applied": lambda service: plan_and_apply(service),
    "a reading in parts": lambda service: reading_in_parts(service),
}


def plan_and_apply(service: Service) -> Answer:
    from hub.service.plans import PlanWish

    made = json.loads(service.plans.make("main", PlanWish("anna", "t", [fields("AURORA-1", "2026-11-01")])).body)
    return service.plans.apply("main", made["id"], made["digest"], request_key="p")


def reading_in_parts(service: Service) -> Answer:
    """Two reports of one refresh: the mirror takes both at once or none."""
    service.report("main", 5, Report(status="done", result={}))
    service.cancel_command("main", 6, "anna")
    service.cancel_command("main", 8, "anna")
    claim(service, "c6")
    issues = [{**ISSUE, "key": f"AURORA-{number}"} for number in (2, 3)]
    for part, issue in enumerate(issues, 1):
        said = Report(status="done", result={"issues": [issue], "part": [part, 2]}, delivery=1)
        answer = service.report("main", 9, said, request_key=f"part-{part}")
    return answer


def dump(path: Path) -> Dump:
    with closing(sqlite3.connect(path)) as base:
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert base.execute("PRAGMA foreign_key_check").fetchall() == []
        names = [row[0] for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        plain = [name for name in names if not name.startswith(("sqlite_", "issue_text"))]
        return {name: base.execute(f"SELECT * FROM {name} ORDER BY rowid").fetchall() for name in plain}


def service_on(database: Database) -> Service:
    return Service(database, clock=SimulatedClock(), ids=SimulatedIds())


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prepared") / "hub.sqlite"
    with closing(Database(path, synchronous="normal")) as database:
        prepare(service_on(database))
    return path


def run_cut(prepared: Path, path: Path, name: str, left: int | None) -> tuple[Dump, int]:
    """The work with a cut after `left` statements: what is left, and how many were run."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    shutil.copy(prepared, path)
    database = CutDatabase(path, synchronous="normal")
    service = service_on(database)
    database.cut.passed = 0
    database.cut.left = left
    with suppress(PowerCut):
        WORK[name](service)
    passed = database.cut.passed
    database.cut.left = None
    database.cut._connection.close()  # as the end of a process does it: what was not committed is gone
    return dump(path), passed


@pytest.mark.part("T5")
@pytest.mark.parametrize("name", sorted(WORK))
def test_a_cut_at_any_statement_leaves_what_was_or_what_is_to_be(
    prepared: Path, tmp_path: Path, name: str, covered: Covered
) -> None:
    path = tmp_path / "hub.sqlite"
    whole, statements = run_cut(prepared, path, name, None)
    nothing, _ = run_cut(prepared, path, name, 0)
    assert whole != nothing
    seen: list[Dump] = [nothing]
    for left in range(1, statements + 1):
        state, _ = run_cut(prepared, path, name, left)
        if state != seen[-1]:
            seen.append(state)
    assert seen[-1] == whole
    # As many states as transactions that change something: one for most, more where the work is several requests.
    transactions = {"a claim that gives up": 3, "a plan applied": 2, "a reading in parts": 6}.get(name, 1)
    assert len(seen) == transactions + 1
    covered("T5", statements)


@pytest.mark.part("T5")
@pytest.mark.parametrize("name", ["a batch", "a redelivery", "a report", "a report of a failed one"])
def test_the_same_request_after_a_cut_has_its_effect_once_and_gets_the_same_bytes(
    prepared: Path, tmp_path: Path, name: str, covered: Covered
) -> None:
    path = tmp_path / "hub.sqlite"
    whole, statements = run_cut(prepared, path, name, None)
    with closing(Database(path, synchronous="normal")) as database:
        wanted = WORK[name](service_on(database))
    for left in range(statements + 1):
        run_cut(prepared, path, name, left)
        with closing(Database(path, synchronous="normal")) as database:
            assert WORK[name](service_on(database)) == wanted
        assert dump(path)["command"] == whole["command"]
    covered("T5", statements + 1)
