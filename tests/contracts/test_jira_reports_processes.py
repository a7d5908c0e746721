"""Reports of other clients, by number, on the installed program: two agents, `check` and what it says."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contracts.agent_process import Place, place, wait_until


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Place]:
    with place(tmp_path) as found:
        yield found


def probes(machine: Place, *, code: int, hub_wait: int = 0) -> dict[str, Any]:
    done = machine.ran("check", "--json", "--hub-wait", str(hub_wait))
    assert done.returncode == code, done.stdout + done.stderr
    return {one["name"]: one for one in json.loads(done.stdout)}


def test_b02_a_second_agent_on_the_same_journal_ends_with_1_and_one_issue_is_created(
    machine: Place, tmp_path: Path
) -> None:
    log = tmp_path / "first.log"
    with machine.serving(), machine.running(log) as first:
        wait_until(lambda: "started" in log.read_text(encoding="utf-8") or first.poll() is not None)
        second = machine.ran("run")
        machine.queue.add("ensure_issue", temp_key="new:1", summary="Отчёт", identity="jh:a:1")
        machine.wait_for(1, first)
    assert second.returncode == 1
    assert "агент уже запущен" in second.stderr and f"pid {first.pid}" in second.stderr
    assert first.returncode == 0
    assert [one["method"] for one in machine.written()] == ["POST"]


def test_b09_check_names_the_link_type_that_is_the_text_of_one_direction(machine: Place) -> None:
    settings = machine.home / "agent.toml"
    settings.write_text(settings.read_text(encoding="utf-8").replace("Блокировка", "is blocked by"), encoding="utf-8")
    found = probes(machine, code=1)
    assert found["names"]["state"] == "fail"
    assert "'is blocked by' is the text of one direction; name the type: 'Blocks'" in found["names"]["seen"]
    assert machine.written() == []


@pytest.mark.parametrize(
    ("version", "asked"),
    [("9.12.10", "/rest/api/2/issue/createmeta/AURORA/issuetypes"), ("8.3.4", "/rest/api/2/issue/createmeta")],
)
def test_b41_check_reads_create_metadata_by_the_path_of_this_version(machine: Place, version: str, asked: str) -> None:
    machine.switch(version=version)
    with machine.serving():
        found = probes(machine, code=0, hub_wait=30)
    assert version in found["jira"]["seen"]
    assert found["create task"]["state"] == "ok"
    paths = [one["path"] for one in machine.requests() if "createmeta" in one["path"]]
    assert paths[0] == asked
    refused = [one for one in machine.requests() if one["status"] == 404]
    assert refused == []


@pytest.mark.parametrize("version", ["9.12.10", "8.3.4"])
def test_b41_the_agent_works_on_both(machine: Place, version: str) -> None:
    machine.switch(version=version)
    machine.queue.add("ensure_issue", temp_key="new:1", summary="Отчёт", epic_key="AURORA-1530")
    with machine.serving():
        done = machine.ran("run", "--once")
    assert done.returncode == 0, done.stderr
    [report] = machine.queue.reports.values()
    assert report["result"]["key"] == "AURORA-1541"
