"""`migrate`, `backup`, `restore`: the installed program on homes of its own."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from typer.testing import CliRunner

from hub.backup import KEEP
from hub.cli import app
from hub.disk import hold
from hub.service import Service
from hub.store.connection import Database
from protocol.messages import ClaimRequest, Report
from relay.clock import SystemClock, SystemIds
from tests.contracts.old_bases import TABLES, filled_base, write_base
from tests.faces.running_hub import running_hub
from tests.faces.small_hub import fields

WISH = fields()


def run(home: Path, *arguments: str, code: int = 0) -> Any:
    done = CliRunner().invoke(app, ["--home", str(home), *arguments, "--json"])
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def test_migrate_reports_every_table_the_copy_and_the_claimed_and_then_has_nothing_to_do(tmp_path: Path) -> None:
    write_base(tmp_path / "hub.sqlite", filled_base())
    told = run(tmp_path, "migrate")
    counts = {name: count for name, count in told["tables"].items() if name in TABLES}
    assert counts == {
        "setting": {"before": 4, "after": 4},
        "batch": {"before": 3, "after": 3},
        "command": {"before": 8, "after": 8},
        "agent_status": {"before": 1, "after": 1},
        "issue": {"before": 193, "after": 193},
        "issue_link": {"before": 18, "after": 18},
        "note": {"before": 139, "after": 139},
    }
    assert told["claimed"] == [{"id": 3, "deliveries": 1}, {"id": 4, "deliveries": 1}]
    assert (told["schema_before"], told["schema_after"]) == (1, 2)
    assert Path(told["copy"]).name.endswith("-schema-v1.sqlite")
    with closing(sqlite3.connect(told["copy"])) as copy:
        assert copy.execute("SELECT count(*) FROM issue").fetchone() == (193,)
    again = run(tmp_path, "migrate")
    assert (again["note"], again["copy"], again["migrated"]) == ("nothing to do", None, False)
    plain = CliRunner().invoke(app, ["--home", str(tmp_path), "migrate"])
    assert plain.stdout.startswith("nothing to do")


def test_migrate_says_what_is_missing_and_who_is_in_the_way(tmp_path: Path) -> None:
    assert "there is no database" in run(tmp_path, "migrate", code=4)["detail"]
    write_base(tmp_path / "hub.sqlite", filled_base())
    lock = hold(tmp_path)
    assert "another hub serves" in run(tmp_path, "migrate", code=6)["detail"]
    lock.release()


def test_backups_are_made_listed_and_rotated(tmp_path: Path) -> None:
    from hub.backup import FolderBackups

    with running_hub(tmp_path) as hub:
        copies = FolderBackups(tmp_path / "hub.sqlite", tmp_path / "backups", SystemClock())
        hub.service.backups = copies
        made = [run_at(hub.address, tmp_path, "backup")["path"] for _ in range(2)]
        for _ in range(KEEP):
            copies.make("batch-1")
        listed = run_at(hub.address, tmp_path, "backup", "--list")["items"]
        token = (tmp_path / "token").read_text().strip()
        pages = backups_by_pages(hub.address, token, 7)
    assert pages == [item["name"] for item in listed]
    assert len(listed) == KEEP
    assert listed[0]["made_at"] > listed[-1]["made_at"]
    assert not any(Path(path).exists() for path in made)


def backups_by_pages(address: str, token: str, limit: int) -> list[str]:
    names: list[str] = []
    cursor = None
    with httpx2.Client(headers={"authorization": f"Bearer {token}"}, trust_env=False) as people:
        while True:
            wanted = {"limit": limit} | ({"cursor": cursor} if cursor else {})
            page = people.get(f"{address}/api/v1/backups", params=wanted).json()
            assert len(page["items"]) <= limit
            names += [item["name"] for item in page["items"]]
            cursor = page["cursor"]
            if cursor is None:
                return names


def run_at(address: str, home: Path, *arguments: str) -> Any:
    done = CliRunner().invoke(app, ["--home", str(home), "--url", address, *arguments, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture
def worked(tmp_path: Path) -> Path:
    """A home whose hub made a copy after one command was handed out, and went on."""
    from hub.backup import FolderBackups
    from hub.mark import MarkFile

    path, clock = tmp_path / "hub.sqlite", SystemClock()
    with closing(Database(path)) as database, closing(MarkFile(tmp_path / "hub.mark")) as marks:
        backups = FolderBackups(path, tmp_path / "backups", clock)
        service = Service(database, clock=clock, ids=SystemIds(), backups=backups, marks=marks)
        service.create_batch("main", "anna", "one", [WISH])
        service.claim("main", ClaimRequest(agent_version=3, session="s", host="h"))
        backups.make("by-hand")
        service.report("main", 1, Report(status="done", result={}, delivery=1))
        service.create_batch("main", "anna", "two", [WISH])
    return tmp_path


def test_restore_keeps_what_was_there_and_holds_what_was_open(worked: Path) -> None:
    copy = next((worked / "backups").glob("*-by-hand.sqlite"))
    told = run(worked, "restore", str(copy))
    assert told["held_commands"] == 2
    assert "-before-restore" in told["kept"]
    with closing(sqlite3.connect(worked / "hub.sqlite")) as base:
        rows = base.execute("SELECT id, status, held FROM command ORDER BY id").fetchall()
    assert rows[:2] == [(1, "claimed", 1), (2, "queued", 1)]
    assert [row[0] > 1_000_000 for row in rows[2:]] == [True]
    assert list(told["refresh_batches"]) == ["main"]
    with closing(sqlite3.connect(told["kept"])) as kept:
        assert kept.execute("SELECT status FROM command WHERE id = 1").fetchone() == ("done",)


def test_restore_refuses_what_is_no_copy(worked: Path) -> None:
    assert "there is no copy" in run(worked, "restore", str(worked / "nothing"), code=4)["detail"]
    (worked / "text").write_text("no database" * 100)
    assert "is no database of a hub" in run(worked, "restore", str(worked / "text"), code=1)["detail"]
    with closing(sqlite3.connect(worked / "hub.sqlite")) as base:
        assert base.execute("SELECT status FROM command WHERE id = 1").fetchone() == ("done",)
