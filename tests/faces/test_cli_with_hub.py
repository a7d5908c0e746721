"""`jira-hub` against the real hub: its whole API on a loopback port, its real store in a file."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hub.cli import app
from hub.service import Service
from protocol.messages import ClaimRequest, Report
from tests.faces.running_hub import RunningHub, running_hub

ROOT = Path(__file__).parents[2]


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[RunningHub]:
    with running_hub(tmp_path / "home") as running:
        yield running


def run(hub: RunningHub, *arguments: str | Path, input_text: str | None = None) -> Result:
    environment = {"JIRA_HUB_HOME": str(hub.home), "JIRA_HUB_URL": hub.address, "LOGNAME": "ivanov"}
    return CliRunner().invoke(app, [str(each) for each in arguments], env=environment, input=input_text)


def answered(hub: RunningHub, *arguments: str | Path, code: int = 0) -> Any:
    """The document that `--json` puts on stdout; nothing else stands there."""
    result = run(hub, *arguments, "--json")
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def batch_file(folder: Path, text: str, name: str = "batch.yaml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


ONE = "title: Один\ncommands:\n- ensure_fields: {key: AURORA-1533, duedate: 2026-10-23}\n"
FAULTY = """\
commands:
- {type: ensure_isue, temp_key: new:1, summary: x}
- type: ensure_fields
  key: AURORA-1533
  sumary: y
- {type: ensure_issue, temp_key: new:2, summary: Отчёт}
- type: ensure_issue
  temp_key: new:3
  summary: " Отчёт "
- ensure_link: {source: new:9, target: AURORA-1, link_type: связанные}
- ensure_fields:
    key: AURORA-1534
    summary: 2026
"""


def agent(service: Service, outcome: Callable[[Any], Report], commands: int) -> threading.Thread:
    """An agent that claims and reports `commands` times, without a pause."""

    def work() -> None:
        for _ in range(commands):
            answer = service.claim("main", ClaimRequest(session="s", host="vm"))
            assert answer is not None
            delivery = json.loads(answer.body)
            service.report("main", delivery["id"], outcome(delivery))

    return threading.Thread(target=work, daemon=True)


def well(delivery: Any) -> Report:
    result = {"key": f"AURORA-{1600 + delivery['id']}"} if delivery["type"] == "ensure_issue" else {}
    return Report(status="done", result=result, jira_calls=1)


def badly(delivery: Any) -> Report:
    return well(delivery) if delivery["type"] == "refresh" else Report(status="failed", error="400: Срок в прошлом")


def test_the_demo_batch_is_created_whole(hub: RunningHub) -> None:
    batch = answered(hub, "apply", ROOT / "examples" / "batches" / "demo.yaml")
    assert batch["title"] == "Перенос расчётного модуля на новую платформу"
    assert batch["author"] == "ivanov"
    assert len(batch["commands"]) == 15  # and the reading that ends it
    assert answered(hub, "batch", "show", str(batch["id"])) == batch


def test_a_person_sees_the_batch_its_estimate_and_how_to_follow_it(hub: RunningHub, tmp_path: Path) -> None:
    result = run(hub, "apply", batch_file(tmp_path, ONE))
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "1\tensure_fields\tAURORA-1533 duedate\tqueued\t",
        "2\trefresh\tAURORA-1533\tqueued\t",
    ]
    assert "Batch 1 «Один» by ivanov: 2 commands, at least 2 min 2 s" in result.stderr
    assert "jira-hub watch 1" in result.stderr


def test_the_faults_of_a_batch_are_one_refusal_each_with_its_line_and_nothing_is_created(
    hub: RunningHub, tmp_path: Path
) -> None:
    """Issue text: a wrong type, an unknown field, a duplicate summary, a temporary key without its definition."""
    file = batch_file(tmp_path, FAULTY)
    result = run(hub, "apply", file)
    assert result.exit_code == 7
    assert result.stdout == ""
    *faults, summary = result.stderr.splitlines()
    assert [fault.removeprefix(f"{file}:").split(": ")[0] for fault in faults] == ["2:4", "5:3", "9:3", "10:17", "13:5"]
    words = ["ensure_issue", "did you mean summary", "«Отчёт»", "new:9", 'put it in quotes: "2026"']
    assert [word for word, fault in zip(words, faults, strict=True) if word not in fault] == []
    assert summary == "5 faults, nothing was created"
    assert answered(hub, "batch", "list")["items"] == []


def test_the_same_faults_as_json_name_file_line_column_and_field(hub: RunningHub, tmp_path: Path) -> None:
    file = batch_file(tmp_path, FAULTY)
    errors = answered(hub, "apply", file, code=7)["errors"]
    assert [(error["line"], error["column"], error["field"]) for error in errors] == [
        (2, 4, "commands[0].type"),
        (5, 3, "commands[1].sumary"),
        (9, 3, "commands[3].summary"),
        (10, 17, "commands[4].source"),
        (13, 5, "commands[5].summary"),
    ]
    assert {error["file"] for error in errors} == {str(file)}


def test_one_batch_may_be_written_in_three_forms(hub: RunningHub, tmp_path: Path) -> None:
    files = [
        batch_file(tmp_path, ONE),
        batch_file(tmp_path, '[{"type": "ensure_fields", "key": "AURORA-1533", "duedate": "2026-10-23"}]', "b.json"),
        batch_file(tmp_path, "type;key;duedate\nensure_fields;AURORA-1533;2026-10-23\n", "b.csv"),
    ]
    made = [answered(hub, "apply", file, "--title", "Один") for file in files]
    wishes = [[(command["type"], command["params"]) for command in batch["commands"]] for batch in made]
    assert wishes[0] == wishes[1] == wishes[2]


def test_a_batch_may_come_through_a_pipe(hub: RunningHub) -> None:
    result = run(hub, "apply", "-", "--author", "petrov", "--json", input_text=ONE)
    assert json.loads(result.stdout)["author"] == "petrov"


def test_waiting_for_a_batch_that_goes_well_ends_with_0(hub: RunningHub, tmp_path: Path) -> None:
    thread = agent(hub.service, well, commands=2)
    run(hub, "apply", batch_file(tmp_path, ONE))
    thread.start()
    result = run(hub, "watch")
    thread.join(timeout=30)
    assert result.exit_code == 0, result.output
    assert result.stdout == "Batch 1 is at rest: 2 of 2 well\n"
    assert "#1 ensure_fields AURORA-1533 duedate: done" in result.stderr


def test_waiting_for_a_batch_in_which_something_fails_ends_with_1(hub: RunningHub, tmp_path: Path) -> None:
    run(hub, "apply", batch_file(tmp_path, ONE))
    thread = agent(hub.service, badly, commands=2)
    thread.start()
    result = run(hub, "watch", "1", "--json")
    thread.join(timeout=30)
    assert result.exit_code == 1
    assert [command["status"] for command in json.loads(result.stdout)["commands"]] == ["failed", "done"]
    assert "Срок в прошлом" in result.stderr
    retry = answered(hub, "batch", "retry", "1")
    assert retry["commands"][0]["retry_of"] == 1
    for wish in (("retry", "1"), ("retry", "--batch", "1")):
        assert answered(hub, *wish)["commands"][0]["retry_of"] == 1
    assert run(hub, "retry").exit_code == run(hub, "retry", "1", "--batch", "1").exit_code == 2


def test_apply_waits_when_it_is_asked_to(hub: RunningHub, tmp_path: Path) -> None:
    result = run(hub, "apply", batch_file(tmp_path, ONE), "--wait", "--timeout", "0.1", "--json")
    assert result.exit_code == 5  # no agent has ever been seen
    assert json.loads(result.stdout)["code"] == "agent_offline"


def test_a_timeout_while_the_agent_is_there_is_a_plain_failure(hub: RunningHub, tmp_path: Path) -> None:
    run(hub, "apply", batch_file(tmp_path, ONE))
    agent(hub.service, well, commands=1).run()
    assert run(hub, "watch", "--timeout", "0.1").exit_code == 1


def test_status_tells_queue_agent_and_mirror_and_checks_the_agent(hub: RunningHub, tmp_path: Path) -> None:
    run(hub, "apply", batch_file(tmp_path, ONE))
    result = run(hub, "status", "--check")
    assert result.exit_code == 5
    assert "2 queued" in result.stdout
    assert re.search("^agent +not seen yet$", result.stdout, re.MULTILINE)
    agent(hub.service, well, commands=2).run()
    assert run(hub, "status", "--check").exit_code == 0
    assert answered(hub, "status")["counts"]["done"] == 2


def test_a_command_is_shown_cancelled_and_retried(hub: RunningHub, tmp_path: Path) -> None:
    run(hub, "apply", batch_file(tmp_path, ONE))
    assert "ensure_fields  queued" in run(hub, "command", "show", "1").stdout
    assert answered(hub, "command", "cancel", "1")["status"] == "cancelled"
    assert answered(hub, "command", "retry", "1")["commands"][0]["params"]["key"] == "AURORA-1533"


def test_a_command_with_the_agent_is_cancelled_only_by_force(hub: RunningHub, tmp_path: Path) -> None:
    run(hub, "apply", batch_file(tmp_path, ONE))
    assert hub.service.claim("main", ClaimRequest(session="s")) is not None
    refused = run(hub, "command", "cancel", "1")
    assert refused.exit_code == 6
    assert "force" in refused.stderr
    forced = run(hub, "command", "cancel", "1", "--force")
    assert forced.exit_code == 0
    assert "may be executing" in forced.stderr


def test_commands_are_listed_by_what_they_are_and_page_by_page(hub: RunningHub, tmp_path: Path) -> None:
    run(hub, "apply", batch_file(tmp_path, ONE))
    assert [each["id"] for each in answered(hub, "command", "list", "--type", "refresh")["items"]] == [2]
    assert answered(hub, "command", "list", "--status", "failed")["items"] == []
    assert run(hub, "command", "list", "--status", "fialed").exit_code == 7
    first = run(hub, "command", "list", "--limit", "1")
    assert first.stdout.startswith("2\t")
    cursor = first.stderr.strip().rpartition(" ")[2]
    assert run(hub, "command", "list", "--limit", "1", "--cursor", cursor).stdout.startswith("1\t")


def test_a_held_batch_goes_out_when_a_person_approves_it(hub: RunningHub) -> None:
    wish = {"type": "refresh", "keys": ["AURORA-1"]}
    hub.service.create_batch("main", "assistant", "Предложение", [wish], held=True)
    assert hub.service.claim("main", ClaimRequest(session="s")) is not None  # nothing to do: 204
    assert answered(hub, "batch", "show", "1")["commands"][0]["status"] == "queued"
    assert answered(hub, "batch", "approve", "1")["held"] is False
    hub.service.claim("main", ClaimRequest(session="s"))
    assert answered(hub, "batch", "show", "1")["commands"][0]["status"] == "claimed"


def test_cancelling_a_batch_leaves_nothing_queued(hub: RunningHub, tmp_path: Path) -> None:
    run(hub, "apply", batch_file(tmp_path, ONE))
    assert {command["status"] for command in answered(hub, "batch", "cancel", "1")["commands"]} == {"cancelled"}
    assert run(hub, "batch", "list").stdout.rstrip().endswith("cancelled 2")


@pytest.mark.parametrize(
    "arguments",
    [
        ["batch", "show", "7"],
        ["command", "show", "7"],
        ["issue", "show", "AURORA-1"],
        ["note", "get", "AURORA-1"],
        ["watch", "7"],
        ["watch"],
    ],
)
def test_what_is_not_there_is_exit_4(hub: RunningHub, arguments: list[str]) -> None:
    result = run(hub, *arguments)
    assert result.exit_code == 4
    assert result.stderr.startswith("there is no")


def test_a_batch_without_failures_cannot_be_retried(hub: RunningHub, tmp_path: Path) -> None:
    run(hub, "apply", batch_file(tmp_path, ONE))
    assert run(hub, "batch", "retry", "1").exit_code == 6


def test_a_reading_is_asked_for_by_keys_or_by_a_jql(hub: RunningHub) -> None:
    assert answered(hub, "refresh", "AURORA-1533")["commands"][0]["params"] == {"keys": ["AURORA-1533"]}
    wish = answered(hub, "refresh", "--jql", "project = AURORA")
    assert wish["commands"][0]["params"] == {"jql": "project = AURORA"}
    assert run(hub, "refresh", "aurora").exit_code == 7


def test_what_a_reading_brought_is_found_in_the_mirror(hub: RunningHub) -> None:
    run(hub, "refresh", "AURORA-1533", "AURORA-1534")
    issues = [
        {"key": "AURORA-1533", "summary": "Перечень показателей", "status": "Готово", "labels": ["перенос"]},
        {"key": "AURORA-1534", "summary": "Стенд", "status": "Разработка"},
    ]
    reading = {"issues": issues, "missing": [], "moved": {}, "truncated": False, "part": [1, 1]}
    agent(hub.service, lambda _: Report(status="done", result=reading, jira_calls=1), commands=1).run()
    assert run(hub, "issue", "list", "--status", "Готово").stdout == "AURORA-1533\tГотово\tПеречень показателей\t\t\n"
    assert len(answered(hub, "issue", "list")["items"]) == 2
    assert "Перечень показателей" in run(hub, "issue", "show", "AURORA-1533").stdout
    assert answered(hub, "issue", "show", "AURORA-1533")["labels"] == ["перенос"]


def test_a_note_is_written_read_and_taken_away(hub: RunningHub) -> None:
    assert run(hub, "note", "set", "new:5", "ждём ответа").exit_code == 0
    assert run(hub, "note", "get", "new:5").stdout == "ждём ответа\n"
    assert run(hub, "note", "set", "new:5", "-", input_text="из трубы").exit_code == 0
    assert answered(hub, "note", "get", "new:5")["text"] == "из трубы"
    assert run(hub, "note", "list").stdout.startswith("new:5\tиз трубы\t")
    assert answered(hub, "note", "delete", "new:5") == {"key": "new:5", "deleted": True}
    assert run(hub, "note", "get", "new:5").exit_code == 4
    assert run(hub, "note", "set", "new:5", " ").exit_code == 2


def test_settings_are_shown_and_changed_and_a_wrong_one_is_refused_whole(hub: RunningHub) -> None:
    result = answered(hub, "settings", "set", "pacing.ensure_fields=60", "auto_refresh_minutes=5")
    assert (result["pacing"]["ensure_fields"], result["auto_refresh_minutes"]) == (60, 5)
    assert "pacing.ensure_fields\t60" in run(hub, "settings", "show").stdout
    refused = run(hub, "settings", "set", "pacing.ensure_feilds=1", "auto_refresh_minutes=9")
    assert refused.exit_code == 7
    assert "ensure_feilds" in refused.stderr
    assert answered(hub, "settings", "show")["auto_refresh_minutes"] == 5


def test_a_pause_holds_the_queue_until_resume(hub: RunningHub) -> None:
    assert answered(hub, "pause")["paused"] is True
    assert "paused" in run(hub, "status").stdout
    assert answered(hub, "resume")["paused"] is False
    assert answered(hub, "pause", "--minutes", "30")["paused_until"] is not None


def test_a_wrong_token_is_told_and_is_a_plain_failure(hub: RunningHub) -> None:
    (hub.home / "token").write_text("0" * 64)
    result = run(hub, "status")
    assert result.exit_code == 1
    assert "token" in result.stderr


def test_the_token_of_another_home_says_that_the_home_or_the_address_is_the_wrong_one(hub: RunningHub) -> None:
    (hub.home / "token").write_text("0" * 64)
    result = run(hub, "status")
    assert result.exit_code == 1
    assert "name the right --home, or --url" in result.stderr
