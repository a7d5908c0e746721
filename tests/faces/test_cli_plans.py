"""`jira-hub plan` and the `apply` that is held to it, against the real hub."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hub.cli import app
from tests.faces.filled_mirror import fill, take
from tests.faces.running_hub import RunningHub, running_hub

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "examples" / "batches" / "demo.yaml"
ONE = "title: Один\ncommands:\n- ensure_fields: {key: AURORA-1533, duedate: 2026-10-23}\n"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[RunningHub]:
    with running_hub(tmp_path / "home") as running:
        yield running


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "batch.yaml"
    path.write_text(ONE, encoding="utf-8")
    return path


def run(hub: RunningHub, *arguments: str | Path) -> Result:
    environment = {"JIRA_HUB_HOME": str(hub.home), "JIRA_HUB_URL": hub.address, "LOGNAME": "ivanov"}
    return CliRunner().invoke(app, [str(each) for each in arguments], env=environment)


def answered(hub: RunningHub, *arguments: str | Path, code: int = 0) -> Any:
    result = run(hub, *arguments, "--json")
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def batches(hub: RunningHub) -> int:
    return len(answered(hub, "batch", "list")["items"])


def mirror_of_the_demo(hub: RunningHub) -> None:
    """Every mark has its occasion: what stands already, what does not, a link in the way, an issue never read."""
    fill(
        hub.service,
        {"key": "AURORA-1533", "summary": "Показатели", "duedate": "2026-10-20", "status": "Разработка"},
        {"key": "AURORA-1538", "summary": "Выгрузка", "status": "Готово"},
        {"key": "AURORA-1600", "summary": "Подготовить стенд для нагрузочного прогона", "status": "Ожидание"},
        missing=["AURORA-1537"],
    )


def test_the_plan_of_the_demo_batch_is_a_diff_with_every_mark_and_ends_with_3(hub: RunningHub) -> None:
    mirror_of_the_demo(hub)
    result = run(hub, "plan", DEMO)
    assert result.exit_code == 3, result.output
    lines = result.stdout.splitlines()
    assert {line[0] for line in lines if not line.startswith(" ")} == {"=", "~", "+", "!", "?"}
    assert "    duedate: 2026-10-20 → 2026-10-23" in lines
    assert "    similar open issue AURORA-1600 «Подготовить стенд для нагрузочного прогона», Ожидание" in lines
    assert "    AURORA-1537 is not in Jira any more" in lines
    for words in ("3 to create", "1 will fail", "writes", "The mirror shows them as read", "digest"):
        assert words in result.stderr
    assert batches(hub) == 1  # the refresh that filled the mirror


def test_the_same_as_json(hub: RunningHub) -> None:
    mirror_of_the_demo(hub)
    made = answered(hub, "plan", DEMO, code=3)
    assert [command["mark"] for command in made["commands"]].count("+") == 3
    assert len(made["digest"]) == 64


def test_a_plan_without_changes_ends_with_0(hub: RunningHub, file: Path) -> None:
    fill(hub.service, {"key": "AURORA-1533", "duedate": "2026-10-23"})
    assert run(hub, "plan", file).exit_code == 0


def test_an_apply_after_a_plan_goes_through_while_nothing_changed(hub: RunningHub, file: Path) -> None:
    fill(hub.service, {"key": "AURORA-1533"})
    assert run(hub, "plan", file).exit_code == 3
    assert answered(hub, "apply", file)["id"] == 2
    assert answered(hub, "apply", file)["id"] == 3  # the plan was used up: the same wish once more is a new one


def test_an_apply_after_a_mirror_change_is_refused_with_6_and_creates_nothing(hub: RunningHub, file: Path) -> None:
    fill(hub.service, {"key": "AURORA-1533"})
    run(hub, "plan", file)
    fill(hub.service, {"key": "AURORA-1533", "duedate": "2026-10-22"})
    result = run(hub, "apply", file)
    assert (result.exit_code, result.stdout) == (6, "")
    assert "the mirror changed since plan 1" in result.stderr
    assert "--force" in result.stderr
    assert answered(hub, "apply", file, code=6)["code"] == "conflict"
    assert batches(hub) == 2
    assert run(hub, "apply", file, "--force").exit_code == 0
    assert batches(hub) == 3


def test_planning_anew_settles_it(hub: RunningHub, file: Path) -> None:
    fill(hub.service, {"key": "AURORA-1533"})
    run(hub, "plan", file)
    fill(hub.service, {"key": "AURORA-1533", "duedate": "2026-10-22"})
    assert run(hub, "plan", file).exit_code == 3
    assert run(hub, "apply", file).exit_code == 0


def test_a_file_that_was_edited_has_not_been_planned(hub: RunningHub, file: Path) -> None:
    run(hub, "plan", file)
    fill(hub.service, {"key": "AURORA-1533"})
    file.write_text(ONE.replace("23", "24"), encoding="utf-8")
    assert run(hub, "apply", file).exit_code == 0


def test_a_plan_named_by_hand_holds_the_file_to_it(hub: RunningHub, file: Path) -> None:
    made = answered(hub, "plan", file, code=3)
    named = ("--plan", str(made["id"]), "--digest", made["digest"])
    file.write_text(ONE.replace("23", "24"), encoding="utf-8")
    result = run(hub, "apply", file, *named)
    assert (result.exit_code, "the batch changed since plan 1" in result.stderr) == (6, True)
    file.write_text(ONE, encoding="utf-8")
    assert run(hub, "apply", file, *named).exit_code == 0
    assert run(hub, "apply", file, *named).exit_code == 6  # applied already
    assert run(hub, "apply", file, "--plan", "1").exit_code == 2


def test_a_plan_of_a_hub_that_forgot_it_says_what_to_do(hub: RunningHub, file: Path) -> None:
    result = run(hub, "apply", file, "--plan", "9", "--digest", "0" * 64)
    assert (result.exit_code, "jira-hub plan FILE" in result.stderr) == (4, True)


def test_a_verified_plan_waits_for_the_reading(hub: RunningHub, file: Path) -> None:
    import threading

    def work() -> None:
        for _ in range(200):
            if hub.service.status("main")["counts"]["queued"]:
                take(hub.service, {"key": "AURORA-1533", "duedate": "2026-10-23"})
                return
            threading.Event().wait(0.05)

    agent = threading.Thread(target=work, daemon=True)
    agent.start()
    result = run(hub, "plan", file, "--verify")
    agent.join(timeout=30)
    assert result.exit_code == 0, result.output
    assert "Reading the touched issues" in result.stderr


def test_a_verified_plan_ends_with_5_when_no_agent_reads(hub: RunningHub, file: Path) -> None:
    assert run(hub, "plan", file, "--verify", "--timeout", "0.1").exit_code == 5


def test_a_faulty_file_is_told_by_its_lines(hub: RunningHub, file: Path) -> None:
    file.write_text("commands:\n- ensure_fields: {key: AURORA-1, sumary: x}\n", encoding="utf-8")
    result = run(hub, "plan", file)
    assert result.exit_code == 7
    assert f"{file}:2:" in result.stderr


def test_a_changed_issue_turns_a_thousand_commands_down_too(hub: RunningHub, tmp_path: Path) -> None:
    """Every tenth command has something to do; one of the others' issues changes, and the whole is looked at again."""
    keys = [f"AURORA-{number}" for number in range(1, 1_001)]
    issues = [{"key": key, "duedate": "2026-10-23"} for key in keys]
    fill(hub.service, *issues)
    file = tmp_path / "many.csv"
    days = [f"{key},2026-10-{24 if number % 10 == 0 else 23}" for number, key in enumerate(keys)]
    file.write_text("\n".join(["type,key,duedate", *(f"ensure_fields,{day}" for day in days)]), encoding="utf-8")
    made = answered(hub, "plan", file, code=3)
    assert made["counts"] == {"=": 901, "~": 100, "+": 0, "!": 0, "?": 0}
    fill(hub.service, {**issues[7], "priority": "High"})
    assert run(hub, "apply", file).exit_code == 6
