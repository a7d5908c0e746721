"""`batch approve`, `agent adopt`, `pause --until`: what a person decides, against the real hub."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hub.cli import app
from tests.faces.filled_mirror import fill
from tests.faces.running_hub import RunningHub, running_hub


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[RunningHub]:
    with running_hub(tmp_path / "home") as running:
        yield running


def run(hub: RunningHub, *arguments: str) -> Result:
    environment = {"JIRA_HUB_HOME": str(hub.home), "JIRA_HUB_URL": hub.address, "LOGNAME": "ivanov"}
    return CliRunner().invoke(app, list(arguments), env=environment)


def answered(hub: RunningHub, *arguments: str, code: int = 0) -> Any:
    result = run(hub, *arguments, "--json")
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def proposed(hub: RunningHub) -> str:
    wish = {"type": "ensure_fields", "key": "AURORA-1", "duedate": "2026-10-23"}
    answer = hub.service.create_batch("main", "assistant", "idea", [wish], assistant=True)
    return str(json.loads(answer.body)["id"])


def test_an_approval_shows_the_diff_first(hub: RunningHub) -> None:
    fill(hub.service, {"key": "AURORA-1", "duedate": "2026-10-20"})
    batch = proposed(hub)
    assert "held, queued 2" in run(hub, "batch", "list", "--held").stdout
    result = run(hub, "batch", "approve", batch)
    assert result.exit_code == 0, result.output
    assert "    duedate: 2026-10-20 → 2026-10-23" in result.stdout.splitlines()
    assert "idea" in result.stderr
    shown = answered(hub, "batch", "show", batch)
    assert not shown["held"]
    assert answered(hub, "batch", "list", "--held")["items"] == []
    for command in shown["commands"]:
        events = answered(hub, "command", "show", str(command["id"]))["events"]
        assert [event["why"] for event in events] == [f"batch {batch} by assistant", "approved by ivanov"]
    assert run(hub, "batch", "approve", batch, "--yes").exit_code == 0
    assert len(answered(hub, "command", "show", str(shown["commands"][0]["id"]))["events"]) == 2


def test_an_approval_as_json_is_the_batch(hub: RunningHub) -> None:
    assert not answered(hub, "batch", "approve", proposed(hub))["held"]


def test_another_agent_is_let_in(hub: RunningHub) -> None:
    fill(hub.service)
    assert answered(hub, "agent", "show")["host"] == "vm"
    assert answered(hub, "agent", "adopt")["session"] is None


def test_a_pause_has_an_end_where_one_is_named(hub: RunningHub) -> None:
    assert answered(hub, "pause", "--until", "2200-01-01T00:00:00+03:00")["paused_until"].startswith("2199-12-31T21:00")
    tonight = answered(hub, "pause", "--until", "23:59")
    assert (tonight["paused"], tonight["paused_until"] < "2200") == (True, True)
    assert run(hub, "pause", "--minutes", "5").exit_code == 0
    assert answered(hub, "pause")["paused_until"] == "forever"
    for wrong in ("24:61", "soon", "2001-01-01"):
        assert run(hub, "pause", "--until", wrong).exit_code == 2
    assert run(hub, "pause", "--until", "18:00", "--minutes", "5").exit_code == 2
    assert not answered(hub, "resume")["paused"]
