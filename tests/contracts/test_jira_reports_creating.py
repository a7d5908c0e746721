"""Reports of other clients, by the numbers of the specification's table: creating an issue exactly once."""

import json
from pathlib import Path

import pytest

from agent.runner import Settings
from examples.jira.faults import Fault
from tests.contracts.agent_world import AgentWorld
from tests.contracts.reports_world import again, bodies, built, claimed, dies_after, killed, moments, sent, turns
from tests.simulation.bridge import Bridge

REPORT = {"temp_key": "new:1", "summary": "Отчёт", "identity": "jh:a:40"}


@pytest.fixture
def world(tmp_path: Path) -> AgentWorld:
    return built(tmp_path)


def summaries(world: AgentWorld, summary: str) -> list[str]:
    return [one.key for one in world.jira.store.issues() if one.summary.strip() == summary]


def test_b01_a_creation_whose_answer_got_lost_is_found_and_never_posted_again(world: AgentWorld) -> None:
    world.fault(Fault(kind="execute_then_drop", method="POST", path="/issue$"))
    report = world.report_of("ensure_issue", **REPORT)
    assert (report["status"], report["result"]["key"]) == ("done", "AURORA-1541")
    assert sent(world).count("POST issue") == 1
    assert summaries(world, "Отчёт") == ["AURORA-1541"]


def test_b03_after_a_crash_the_agent_searches_until_the_lag_guard_has_passed(world: AgentWorld) -> None:
    """The index shows new issues 20 s late, and a gap of 5 s alone would let the agent create again."""
    world.switch(index_lag_seconds=20.0)
    world.queue.gaps["ensure_issue"] = 5.0
    number = world.queue.add("ensure_issue", **REPORT)
    dies_after(world, "POST", "/issue$")
    killed(world)
    again(world, after=1.0)
    world.run()
    assert world.queue.reports[number]["result"]["key"] == "AURORA-1541"
    [post] = moments(world, "POST", "/issue")
    too_early, *_, trusted = [at - post for at in moments(world, "POST", "/search") if at > post]
    assert too_early < 20
    assert trusted >= 60
    assert summaries(world, "Отчёт") == ["AURORA-1541"]


def test_b04_an_anonymous_empty_search_is_an_environment_error_and_nothing_is_posted(world: AgentWorld) -> None:
    claimed(world, "ensure_issue", **REPORT)
    world.switch(auth_mode="anonymous_downgrade", anonymous_search="empty")
    turns(world, 6)
    [search, *_] = [one for one in world.requests() if one["path"].endswith("/search")]
    assert (search["status"], search["user"]) == (200, None)
    assert "POST issue" not in sent(world)
    assert world.queue.reports == {}
    assert any("anonymous" in (state.get("blocked") or "") for state in world.queue.states)


def test_b22_a_label_with_a_blank_is_refused_at_the_hub(tmp_path: Path) -> None:
    bridge = Bridge(tmp_path)
    refused = bridge.post_batch({"type": "ensure_issue", "temp_key": "new:1", "summary": "Отчёт", "labels": ["a b"]})
    assert refused.status_code == 422
    assert "labels" in refused.text and "a b" in refused.text
    assert bridge.batches() == []
    bridge.close()


def test_b23_an_epic_that_is_not_on_the_create_screen_is_set_by_an_edit_after_the_gap(tmp_path: Path) -> None:
    """Nothing is configured: the agent learns from Jira's create metadata that the field is not there."""
    world = built(tmp_path, switches={"epic_link_on_create": False})
    report = world.report_of("ensure_issue", **REPORT, epic_key="AURORA-1530")
    assert (report["status"], report["jira_calls"]) == ("done", 3)
    post, put = world.wire.calls[-2:]
    assert (post[2], put[2], put[0] - post[0]) == ("POST", "PUT", 120.0)
    assert "customfield_10580" not in bodies(world, "POST", "/issue")[0]
    assert json.loads(bodies(world, "PUT", "/issue/AURORA-1541")[0]) == {"fields": {"customfield_10580": "AURORA-1530"}}
    assert world.issue("AURORA-1541").custom["epic_link"] == "AURORA-1530"


@pytest.mark.parametrize("lost", ["the agent", "the agent and its journal"])
def test_b23_a_crash_between_creation_and_epic_leaves_only_the_edit_to_do(tmp_path: Path, lost: str) -> None:
    world = built(tmp_path, switches={"epic_link_on_create": False})
    number = world.queue.add("ensure_issue", **REPORT, epic_key="AURORA-1530")
    dies_after(world, "POST", "/issue$")
    killed(world)
    if lost != "the agent":
        (tmp_path / "journal.jsonl").unlink()
    again(world)
    world.run()
    assert world.queue.reports[number]["status"] == "done"
    assert [one["method"] for one in world.written()] == ["POST", "PUT"]
    assert world.issue("AURORA-1541").custom["epic_link"] == "AURORA-1530"


def test_b23_an_epic_on_the_create_screen_goes_with_the_creation(world: AgentWorld) -> None:
    report = world.report_of("ensure_issue", **REPORT, epic_key="AURORA-1530")
    assert report["jira_calls"] == 2
    assert world.issue("AURORA-1541").custom["epic_link"] == "AURORA-1530"


def test_b23_the_epic_name_is_never_missing(world: AgentWorld) -> None:
    report = world.report_of("ensure_issue", **{**REPORT, "issue_type": "epic"})
    assert report["status"] == "done"
    assert world.issue("AURORA-1541").custom["epic_name"] == "Отчёт"


def test_b24_no_summary_gets_into_jql_and_a_reserved_project_key_is_quoted(tmp_path: Path) -> None:
    summary = "[x] \"a\" + - \\ 'б' 📌"
    world = built(tmp_path, project="AS", settings=Settings(projects=frozenset({"AS"})))
    first = world.report_of("ensure_issue", temp_key="new:1", summary=summary)
    second = world.report_of("ensure_issue", temp_key="new:1", summary=summary)
    assert (first["result"]["key"], second["result"]["key"]) == ("AS-1", "AS-1")
    assert len(world.written()) == 1
    queries = [json.loads(body)["jql"] for body in bodies(world, "POST", "/search")]
    assert all('project = "AS"' in jql for jql in queries)
    assert not any("📌" in jql or "[x]" in jql or "summary" in jql for jql in queries)


@pytest.mark.parametrize("other", ["Отчёт за май", "отчёт"])
def test_b25_a_like_summary_is_no_duplicate(world: AgentWorld, other: str) -> None:
    world.person("create", summary=other, user="svc_hub")
    assert world.report_of("ensure_issue", **REPORT)["result"]["key"] == "AURORA-1542"


@pytest.mark.parametrize("trimmed", [True, False])
def test_b25_blanks_around_a_summary_are_no_difference(world: AgentWorld, trimmed: bool) -> None:
    world.switch(trim_summary=trimmed)
    world.person("create", summary=" Отчёт ", user="svc_hub", age_seconds=3600)
    report = world.report_of("ensure_issue", **REPORT)
    assert (report["result"]["key"], report["jira_calls"]) == ("AURORA-1541", 2)
    assert report["result"]["existed_before"] is True
    assert world.written() == []


SUMMARIES = {"a line break": "a\nb", "256 letters": "ю" * 256, "256 UTF-16 units": "📌" * 128}


@pytest.mark.parametrize("wrong", SUMMARIES)
def test_b26_a_summary_jira_would_refuse_is_refused_at_the_hub(tmp_path: Path, wrong: str) -> None:
    bridge = Bridge(tmp_path)
    refused = bridge.post_batch({"type": "ensure_issue", "temp_key": "new:1", "summary": SUMMARIES[wrong]})
    assert refused.status_code == 422
    assert "commands[0].summary" in refused.text
    bridge.close()


@pytest.mark.parametrize("summary", ["ю" * 255, "📌" * 127 + "!"])
def test_b26_a_summary_of_255_units_reaches_jira(world: AgentWorld, summary: str) -> None:
    report = world.report_of("ensure_issue", temp_key="new:1", summary=summary)
    assert report["status"] == "done"
    assert world.issue("AURORA-1541").summary == summary


@pytest.mark.parametrize("wrong", SUMMARIES)
def test_b26_an_agent_that_is_handed_such_a_summary_all_the_same_sends_nothing(world: AgentWorld, wrong: str) -> None:
    report = world.report_of("ensure_issue", temp_key="new:1", summary=SUMMARIES[wrong])
    assert (report["status"], report["jira_calls"]) == ("failed", 0)


def test_b39_an_assignee_ignored_on_creation_is_seen_and_set_once(world: AgentWorld) -> None:
    world.switch(assignee_ignored_on_create=True)
    report = world.report_of("ensure_issue", **REPORT, assignee="petrova")
    assert report["status"] == "done"
    assert sent(world)[-3:] == ["POST issue", "GET AURORA-1541", "PUT AURORA-1541"]
    assert world.issue("AURORA-1541").assignee == "petrova"


def test_b39_an_assignee_taken_on_creation_costs_one_look_and_no_edit(world: AgentWorld) -> None:
    world.report_of("ensure_issue", **REPORT, assignee="petrova")
    assert sent(world)[-2:] == ["POST issue", "GET AURORA-1541"]
    assert world.issue("AURORA-1541").assignee == "petrova"


def test_b39_a_display_name_on_creation_fails_and_creates_nothing(world: AgentWorld) -> None:
    report = world.report_of("ensure_issue", **REPORT, assignee="Иванов Иван")
    assert report["status"] == "failed"
    assert "User 'Иванов Иван' does not exist" in report["error"]
    assert sent(world).count("POST issue") == 1
    assert summaries(world, "Отчёт") == []
