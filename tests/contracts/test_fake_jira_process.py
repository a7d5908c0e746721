"""The fake as a process on a real port: drops, kill -9, and two clients written by other people."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from examples.jira.settings import DEFAULT_TOKEN
from tests.contracts.fake_jira_world import AGILE, API

ROOT = Path(__file__).resolve().parents[2]
NEW = {"project": {"key": "AURORA"}, "issuetype": {"name": "Задача"}, "summary": "Сводка"}


class Process:
    """One run of `python -m examples.jira` over a folder."""

    def __init__(self, data: Path, *more: str) -> None:
        command = [sys.executable, "-m", "examples.jira", "--port", "0", "--data", str(data), *more]
        environment = os.environ | {"PYTHONUNBUFFERED": "1", "NO_COLOR": "1", "COLUMNS": "200"}
        self._run = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        assert self._run.stdout is not None
        found = re.search(r"http://[0-9.]+:[0-9]+", self._run.stdout.readline())
        assert found is not None
        self.url = found.group()

    def client(self) -> httpx2.Client:
        headers = {"authorization": f"Bearer {DEFAULT_TOKEN}"}
        return httpx2.Client(base_url=self.url, headers=headers, trust_env=False, timeout=30)

    def end(self, how: signal.Signals) -> None:
        self._run.send_signal(how)
        self._run.wait(timeout=30)
        assert self._run.stdout is not None
        self._run.stdout.close()


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    process = Process(tmp_path_factory.mktemp("jira"))
    yield process
    process.end(signal.SIGTERM)


def test_killed_with_9_it_comes_back_with_everything_it_answered(tmp_path: Path) -> None:
    first = Process(tmp_path)
    with first.client() as client:
        key = client.post(f"{API}/issue", json={"fields": NEW}).json()["key"]
        client.post("/control/switches", json={"search_cap": 20})
        client.post("/control/faults", json={"kind": "html", "skip": 5})
        before = client.get("/control/requests").json()
    first.end(signal.SIGKILL)
    second = Process(tmp_path)
    with second.client() as client:
        assert client.get("/control/requests").json() == before
        assert client.get(f"{API}/issue/{key}").json()["fields"]["summary"] == "Сводка"
        assert client.get("/control/switches").json()["search_cap"] == 20
        assert client.get("/control/faults").json()["faults"][0]["skip"] == 4
        assert client.post(f"{API}/issue", json={"fields": NEW}).json()["key"] > key
    second.end(signal.SIGTERM)


@pytest.mark.parametrize(("kind", "executed"), [("drop_before_execute", False), ("execute_then_drop", True)])
def test_a_drop_breaks_the_real_connection(process: Process, kind: str, executed: bool) -> None:
    with process.client() as client:
        client.post("/control/faults", json={"kind": kind, "method": "POST", "path": "/comment$"})
        with pytest.raises(httpx2.TransportError):
            client.post(f"{API}/issue/AURORA-1534/comment", json={"body": "x"})
        lost = client.get("/control/requests").json()["requests"][-1]
        assert (lost["fault"], lost["executed"], lost["status"]) == (kind, executed, None)
        assert client.get(f"{API}/myself").status_code == 200


def test_the_client_may_hang_up_and_the_work_is_done_all_the_same(process: Process) -> None:
    with process.client() as client:
        client.post("/control/faults", json={"kind": "delay", "seconds": 0.4, "path": "/comment$"})
        with pytest.raises(httpx2.ReadTimeout):
            client.post(f"{API}/issue/AURORA-1536/comment", json={"body": "после обрыва"}, timeout=0.1)
    with process.client() as client:
        for _ in range(200):
            if client.get("/control/requests").json()["requests"][-1]["executed"]:
                break
            time.sleep(0.05)
        comments = client.get("/control/state").json()["issues"]["AURORA-1536"]["comments"]
    assert comments[-1]["body"] == "после обрыва"


def test_the_client_of_pycontribs_works_without_a_special_case(process: Process) -> None:
    from jira import JIRA

    client = JIRA(server=process.url, token_auth=DEFAULT_TOKEN, max_retries=0)
    first: Any = client.create_issue(fields=NEW | {"labels": ["a", "b"], "priority": {"name": "Высокий"}})
    second: Any = client.create_issue(fields=NEW | {"summary": "Вторая"})
    first.update(fields={"summary": "Изменённая", "duedate": "2026-10-23"})
    first.update(update={"labels": [{"add": "c"}, {"remove": "a"}]})
    comment = client.add_comment(first, "первый")
    comment.update(body="первый, исправленный")
    client.transition_issue(first, "Начать работу")
    client.create_issue_link("Блокировка", first.key, second.key)
    client.add_issues_to_sprint(9, [first.key])

    read: Any = client.issue(first.key)
    assert (read.fields.summary, read.fields.duedate, sorted(read.fields.labels)) == (
        "Изменённая",
        "2026-10-23",
        ["b", "c"],
    )
    assert [one.body for one in client.comments(first)] == ["первый, исправленный"]
    assert read.fields.status.name == "Разработка"
    assert read.fields.issuelinks[0].outwardIssue.key == second.key
    assert "name=Спринт 2" in read.fields.customfield_10582[0]
    found = client.search_issues(f"key in ({first.key}, {second.key}) ORDER BY key")
    assert [one.key for one in found] == [first.key, second.key]
    assert [one.name for one in client.sprints(12, state="active")] == ["Спринт 1"]
    client.delete_issue_link(read.fields.issuelinks[0].id)
    assert client.issue(second.key).fields.issuelinks == []
    client.close()


def test_the_client_of_atlassian_python_api_works_without_a_special_case(process: Process) -> None:
    from atlassian import Jira

    client: Any = Jira(url=process.url, token=DEFAULT_TOKEN, cloud=False)
    first, second = (client.issue_create(fields=NEW)["key"] for _ in range(2))
    client.update_issue_field(first, {"description": "Текст", "assignee": {"name": "ivanov"}})
    client.issue_add_comment(first, "первый")
    client.set_issue_status(first, "Разработка", fields={"duedate": "2026-10-23"})
    ends = {"inwardIssue": {"key": first}, "outwardIssue": {"key": second}}
    client.create_issue_link({"type": {"name": "Связь"}, **ends})

    read = client.issue(first)
    assert (read["fields"]["description"], read["fields"]["assignee"]["name"]) == ("Текст", "ivanov")
    assert client.get_issue_status(first) == "Разработка"
    assert [one["body"] for one in client.issue_get_comments(first)["comments"]] == ["первый"]
    assert read["fields"]["issuelinks"][0]["outwardIssue"]["key"] == second
    assert [one["key"] for one in client.jql(f'key in ("{first}")')["issues"]] == [first]
    client.close()


def test_the_agile_routes_answer_over_a_real_socket(process: Process) -> None:
    with process.client() as client:
        assert client.post(f"{AGILE}/sprint/9/issue", json={"issues": ["AURORA-1535"]}).status_code == 204
        answer = client.post(f"{AGILE}/backlog/issue", json={"issues": ["AURORA-1535"]})
        assert (answer.status_code, answer.content) == (204, b"")
