"""`jira-hub serve` killed (SIGKILL) again and again while people and an agent are at it: nothing accepted is lost."""

import http.client
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hub.cli.home import make_home, read_token, settings_of
from tests.conftest import PROFILE
from tests.faces.small_hub import creation, fields
from tests.faces.test_cli_served_hub import free_port

LIVES = {"quick": 10, "ci": 200}.get(PROFILE, 2_000)
ROOT = Path(__file__).parents[2]
UP_WITHIN_SECONDS = 60.0


class Gone(Exception):
    """The hub went away while it was asked: what became of the question is not known."""


@dataclass
class Caller:
    """A client that asks the same again, under the same key, when the hub went away meanwhile."""

    port: int
    token: str
    name: str
    answers: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    pending: tuple[str, str, str, bytes] | None = None
    asked: int = 0

    def ask(self, method: str, path: str, body: Any) -> tuple[int, bytes]:
        if self.pending is None:
            self.asked += 1
            self.pending = (method, path, f"{self.name}-{self.asked}", json.dumps(body).encode())
        return self.ask_again()

    def ask_again(self) -> tuple[int, bytes]:
        assert self.pending is not None
        method, path, key, body = self.pending
        status, answer = self.once(method, path, body, key)
        self.answers[key] = (status, answer)
        self.pending = None
        return status, answer

    def once(self, method: str, path: str, body: bytes = b"", key: str | None = None) -> tuple[int, bytes]:
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        if key is not None:
            headers["idempotency-key"] = key
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, f"/api/v1/{path}", body=body, headers=headers)
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise Gone from error
        finally:
            connection.close()


def people(caller: Caller) -> None:
    """Batches, until the hub is gone."""
    while True:
        number = len(caller.answers) + 1
        wishes = [creation(summary=f"Отчёт {caller.name} {number}"), fields("new:1")]
        status, _ = caller.ask("POST", "batches", {"author": caller.name, "title": str(number), "commands": wishes})
        assert status == 201


def agent(caller: Caller, reported: dict[int, str]) -> None:
    """Claims and reports in turn, until the hub is gone. What was being asked when it went is asked first."""
    if caller.pending is not None and "result" in caller.pending[1]:
        report = int(caller.pending[1].split("/")[2])
        assert caller.ask_again()[0] == 200
        reported[report] = "done"
    while True:
        me = {"agent_version": 3, "session": "s", "host": "vm"}
        status, body = caller.ask("POST", "agent/claim?wait=0", me)
        assert status in (200, 204), body
        if status == 204:
            continue
        delivery = json.loads(body)
        result = {
            "ensure_issue": {"key": f"AURORA-{delivery['id']}"},
            "refresh": {"missing": delivery["params"].get("keys", [])},
        }.get(delivery["type"], {})
        said = {"status": "done", "result": result, "delivery": delivery["delivery"]}
        status, body = caller.ask("PUT", f"agent/commands/{delivery['id']}/result", said)
        assert status == 200, body
        reported[delivery["id"]] = "done"


@contextmanager
def starter(home: Path) -> Iterator[subprocess.Popen[str]]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JIRA_HUB_")}
    program = [sys.executable, "-m", "tests.installation.hub_starter", home]
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        process.wait(30)


def started(process: subprocess.Popen[str], caller: Caller) -> int:
    """The id of a hub that answers."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("start\n")
    process.stdin.flush()
    pid = int(process.stdout.readline())
    deadline = time.monotonic() + UP_WITHIN_SECONDS
    while True:
        try:
            assert caller.once("GET", "health")[0] == 200
            return pid
        except Gone:
            assert time.monotonic() < deadline
            time.sleep(0.005)


def killed(process: subprocess.Popen[str], pid: int) -> None:
    assert process.stdout is not None
    os.kill(pid, signal.SIGKILL)
    assert process.stdout.readline() == "ended\n"


def check_database(path: Path, callers: list[Caller], reported: dict[int, str]) -> None:
    """Everything that was answered is in it, once."""
    with closing(sqlite3.connect(path)) as base:
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        batches = dict(base.execute("SELECT author || ' ' || title, id FROM batch"))
        assert len(batches) == base.execute("SELECT count(*) FROM batch").fetchone()[0], "a batch was made twice"
        statuses = dict(base.execute("SELECT id, status FROM command"))
    for caller in callers:
        for status, body in caller.answers.values():
            batch = json.loads(body)
            assert status == 201
            assert batches[f"{caller.name} {batch['title']}"] == batch["id"], "an accepted batch is lost"
    assert {number: statuses.get(number) for number in reported} == reported, "a report is lost"


def test_no_accepted_batch_and_no_report_is_lost(tmp_path: Path) -> None:
    chance = random.Random(LIVES)
    home, port = tmp_path / "home", free_port()
    (tmp_path / "share").mkdir()
    make_home(home, {"share": str(tmp_path / "share"), "port": port})
    token = read_token(settings_of(home))
    callers = [Caller(port, token, name) for name in ("anna", "boris")]
    hand, reported = Caller(port, token, "agent"), dict[int, str]()
    failures: list[BaseException] = []

    def guarded(work: Any, *arguments: Any) -> None:
        try:
            work(*arguments)
        except Gone:
            pass
        except BaseException as error:
            failures.append(error)
            raise

    with starter(home) as process:
        for _ in range(LIVES):
            pid = started(process, hand)
            threads = [threading.Thread(target=guarded, args=(people, caller)) for caller in callers]
            threads.append(threading.Thread(target=guarded, args=(agent, hand, reported)))
            for thread in threads:
                thread.start()
            time.sleep(chance.uniform(0.01, 0.3))
            killed(process, pid)
            for thread in threads:
                thread.join(60)
            assert not failures
            check_database(home / "hub.sqlite", callers, reported)
        pid = started(process, hand)
        for caller in callers:
            if caller.pending is not None:
                assert caller.ask_again()[0] == 201
            for key, (status, body) in list(caller.answers.items())[-20:]:
                batch = json.loads(body)
                wishes = [{"type": item["type"], **item["params"]} for item in batch["commands"][:2]]
                again = {"author": caller.name, "title": batch["title"], "commands": wishes}
                assert caller.once("POST", "batches", json.dumps(again).encode(), key) == (status, body)
        killed(process, pid)
    check_database(home / "hub.sqlite", callers, reported)
    assert sum(len(caller.answers) for caller in callers) >= LIVES
    assert reported
