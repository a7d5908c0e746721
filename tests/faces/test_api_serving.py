"""The hub as a process: what it says when it cannot start, and that it stops in good order."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from hub.api import create_app
from hub.api.serving import Served
from hub.backup import FolderBackups
from hub.service import Service
from hub.store.connection import Database
from protocol.messages import ClaimRequest
from relay import Client, create_link
from tests.faces.small_hub import SmallHub
from tests.simulation.clock import SimulatedClock, SimulatedIds

SERVE = [sys.executable, "-c", "from hub.serve import serve_hub; serve_hub()"]
ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 30.0


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "share").mkdir()
    create_link(tmp_path / "share" / "main", "main")
    return tmp_path


def environment(place: Path, port: int, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JIRA_HUB_")}
    ours = {"JIRA_HUB_HOME": str(place / "home"), "JIRA_HUB_SHARE": str(place / "share"), "JIRA_HUB_PORT": str(port)}
    return {**kept, **ours, **more}


def refusal(place: Path, port: int, **more: str) -> str:
    """The one line a hub ends with that cannot start."""
    ended = subprocess.run(
        SERVE, cwd=ROOT, env=environment(place, port, **more), capture_output=True, text=True, timeout=PATIENCE
    )
    assert ended.returncode == 1, ended.stderr
    (line,) = ended.stderr.splitlines()
    return line


def test_a_taken_port_is_one_line(place: Path) -> None:
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        line = refusal(place, holder.getsockname()[1])
    assert "--port" in line


def test_a_missing_share_and_a_missing_link_name_what_to_do(place: Path) -> None:
    assert "mount it" in refusal(place, 0, JIRA_HUB_SHARE=str(place / "nowhere"))
    assert f"jira-hub init --share {place / 'share'} --link second" in refusal(place, 0, JIRA_HUB_LINK="second")


def test_a_database_that_is_none_is_one_line(place: Path) -> None:
    (place / "home").mkdir()
    (place / "home" / "hub.sqlite").write_text("not a database at all, but long enough to be read as a header" * 20)
    assert "hub.sqlite" in refusal(place, 0)


def answer_of(url: str, **request: Any) -> httpx2.Response:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return httpx2.get(url, trust_env=False, **request)
        except httpx2.TransportError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_a_hub_serves_people_and_the_agent_and_stops_in_good_order(place: Path) -> None:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    log = place / "log"
    spoken = environment(place, port, JIRA_HUB_LOG_FORMAT="json")
    with log.open("wb") as output, subprocess.Popen(SERVE, cwd=ROOT, env=spoken, stderr=output) as hub:
        url = f"http://127.0.0.1:{port}/api/v1"
        assert answer_of(f"{url}/health").json() == {"status": "ok"}
        token = (place / "home" / "token").read_text().strip()
        people = httpx2.Client(headers={"authorization": f"Bearer {token}"}, trust_env=False)
        command = {"type": "ensure_fields", "key": "AURORA-1", "duedate": "2026-10-23"}
        body = {"author": "anna", "title": "t", "commands": [command]}
        assert people.post(f"{url}/batches", json=body).status_code == 201
        with Client(place / "share" / "main", state_dir=place / "agent") as relay:
            claim = relay.call("POST", "/api/v1/agent/claim?wait=10", {"agent_version": 3}, timeout=PATIENCE)
            assert (claim.status, claim.json()["delivery"]) == (200, 1)
            report = relay.call("PUT", "/api/v1/agent/commands/1/result", {"status": "done"}, timeout=PATIENCE)
            assert (report.status, report.json()["status"]) == (200, "done")
        status = people.get(f"{url}/status").json()
        assert (status["counts"]["done"], status["relay"]["share"]) == (1, "ok")
        people.close()
        assert len(list((place / "home" / "backups").iterdir())) == 1
        hub.send_signal(signal.SIGTERM)
        assert hub.wait(PATIENCE) == 0
    assert not (place / "home" / "hub.sqlite-wal").exists()  # closed in order, the log taken back
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    (delivered,) = [line for line in lines if line["text"].endswith("/agent/claim")]
    assert (delivered["link"], delivered["batch"], delivered["command"]) == ("main", 1, 1)
    assert len(delivered["request"]) > 10  # the relay's own
    assert token not in log.read_text(encoding="utf-8")
    stored = sqlite3.connect(place / "home" / "hub.sqlite")
    assert stored.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    stored.close()


def test_a_copy_is_made_before_the_first_delivery_of_a_batch_and_not_at_a_redelivery(tmp_path: Path) -> None:
    path = tmp_path / "hub.sqlite"
    clock = SimulatedClock()
    database = Database(path)
    backups = FolderBackups(path, tmp_path / "backups", clock)
    service = Service(database, clock=clock, ids=SimulatedIds(), backups=backups)
    command = {"type": "ensure_fields", "key": "AURORA-1", "duedate": "2026-10-23"}
    for _ in range(2):
        service.create_batch("main", "anna", "t", [command, command])
    for _ in range(3):
        clock.sleep(1)
        service.claim("main", ClaimRequest())
    (copy,) = (tmp_path / "backups").iterdir()
    assert service.batch("main", 1)["backup_path"] == str(copy)
    assert service.batch("main", 2)["backup_path"] is None
    kept = sqlite3.connect(copy)
    assert kept.execute("SELECT DISTINCT status FROM command").fetchall() == [("queued",)]
    kept.close()
    database.close()


def test_without_room_for_a_copy_nothing_is_delivered(tmp_path: Path) -> None:
    path = tmp_path / "hub.sqlite"
    clock = SimulatedClock()
    database = Database(path)
    (tmp_path / "backups").write_text("a file stands where the folder should")
    service = Service(
        database,
        clock=clock,
        ids=SimulatedIds(),
        backups=FolderBackups(path, tmp_path / "backups", clock),
    )
    service.create_batch("main", "anna", "t", [{"type": "refresh", "keys": ["AURORA-1"]}])
    with pytest.raises(OSError, match="backups"):
        service.claim("main", ClaimRequest())
    assert service.command("main", 1)["status"] == "queued"
    database.close()


def test_a_link_nobody_serves_is_refused_instead_of_queued_for_ever(place: Path) -> None:
    hub = SmallHub()
    served = Served({"main": dict}, "main")
    app = create_app(hub.context, token="t", hosts=["127.0.0.1:1"], served=served)
    with TestClient(app, base_url="http://127.0.0.1:1", headers={"Authorization": "Bearer t"}) as people:
        body = {"author": "a", "title": "t", "commands": [{"type": "refresh", "keys": ["AURORA-1"]}]}
        refused = people.post("/api/v1/batches?link=typo", json=body)
        assert (refused.status_code, refused.json()["field"]) == (422, "link")
        assert "main" in refused.json()["detail"]
        assert people.post("/api/v1/batches?link=main", json=body).status_code == 201
    hub.close()
