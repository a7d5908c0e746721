"""Gaps of the seeds, by number, answered as the specification says: what stops the agent, and creating issues."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from examples.jira.faults import Fault
from tests.contracts.agent_world import AgentWorld
from tests.contracts.reports_world import (
    again,
    bodies,
    built,
    claimed,
    dies_after,
    killed,
    moments,
    sent,
    turns,
    without_journal,
)
from tests.simulation.bridge import Bridge

REPORT = {"temp_key": "new:1", "summary": "Отчёт", "identity": "jh:a:40"}
FIELDS = {"key": "AURORA-1533", "duedate": "2026-11-23"}
DAY = 86_400.0


@pytest.fixture
def world(tmp_path: Path) -> AgentWorld:
    return built(tmp_path)


def page(status: int) -> httpx2.Response:
    return httpx2.Response(status, html=f"<html><title>{status}</title></html>")


def refusal(status: int) -> httpx2.Response:
    return httpx2.Response(status, json={"errorMessages": ["Нельзя"], "errors": {}})


PAUSING: dict[str, httpx2.Response | Exception] = {
    "O1 nobody listens": httpx2.ConnectError("refused"),
    "O4 a login page": page(200),
    "O6 not let in": page(401),
    "O8 too many": httpx2.Response(429, headers={"retry-after": "0"}),
    "O10 a proxy": page(503),
}


@pytest.mark.parametrize("outcome", PAUSING)
def test_g01_these_outcomes_pause_the_agent_which_keeps_the_command_and_does_not_claim(
    world: AgentWorld, outcome: str
) -> None:
    number = claimed(world, "ensure_fields", **FIELDS)
    world.queue.add("ensure_fields", key="AURORA-1534", duedate="2026-01-01")
    world.wire.sent = 0
    world.wire.faults = dict.fromkeys(range(12), PAUSING[outcome])
    turns(world, 3)
    assert world.queue.reports == {}
    assert world.queue.states[-1]["blocked"]
    assert world.queue.states[-1]["current_command_id"] == number
    assert [one["status"] for one in world.queue.commands] == ["claimed", "queued"]


@pytest.mark.parametrize("status", [400, 403, 404, 405, 409, 413, 415])
def test_g01_a_refusal_in_jiras_own_words_fails_the_command_alone(world: AgentWorld, status: int) -> None:
    number = claimed(world, "ensure_fields", **FIELDS)
    other = world.queue.add("ensure_fields", key="AURORA-1534", duedate="2026-01-01")
    world.wire.sent = 0
    world.wire.faults = {0: refusal(status)}
    world.run()
    assert world.queue.reports[number]["status"] == "failed"
    assert f"HTTP {status}: Нельзя" in world.queue.reports[number]["error"]
    assert world.queue.reports[other]["status"] == "done"


@pytest.mark.parametrize("unknown", [httpx2.ReadTimeout("slow"), httpx2.Response(500, json={"errorMessages": ["x"]})])
def test_g01_an_unknown_outcome_of_a_write_is_verified_first(world: AgentWorld, unknown: Any) -> None:
    claimed(world, "ensure_fields", **FIELDS)
    world.wire.sent = 0
    world.wire.after_faults = {1: unknown}
    world.run()
    assert sent(world) == ["GET AURORA-1533", "PUT AURORA-1533", "GET AURORA-1533"]


@pytest.mark.parametrize(("age_days", "window"), [(0, 7), (3, 7), (6.5, 8), (8, 9), (30.2, 32)])
def test_g02_the_window_grows_with_the_age_of_the_first_delivery(
    world: AgentWorld, age_days: float, window: int
) -> None:
    world.queue.add("ensure_issue", **REPORT)
    world.queue.commands[-1]["age_seconds"] = age_days * DAY
    world.run()
    assert f"created >= -{window}d" in json.loads(bodies(world, "POST", "/search")[0])["jql"]


def test_g02_an_issue_of_eight_days_ago_is_found_by_a_late_redelivery(world: AgentWorld) -> None:
    world.person("create", summary="Отчёт", user="svc_hub", age_seconds=8 * DAY)
    number = world.queue.add("ensure_issue", **REPORT)
    world.queue.commands[-1]["age_seconds"] = 8 * DAY
    world.run()
    assert world.queue.reports[number]["result"]["key"] == "AURORA-1541"
    assert world.written() == []


def test_g03_an_issue_that_was_there_before_is_done_and_said_to_be_so(world: AgentWorld) -> None:
    world.person("create", summary="Отчёт", user="svc_hub", age_seconds=2 * DAY)
    result = world.report_of("ensure_issue", **REPORT)["result"]
    assert (result["key"], result["existed_before"]) == ("AURORA-1541", True)
    assert result["created"].endswith("+0300")


def test_g03_a_creation_carries_its_identity_and_last_weeks_issue_of_another_is_not_ours(world: AgentWorld) -> None:
    world.report_of("ensure_issue", **REPORT)
    assert world.issue("AURORA-1541").properties == {"hub.cmd": {"identity": "jh:a:40"}}
    second = world.report_of("ensure_issue", **REPORT | {"identity": "jh:a:41"})
    assert second["result"]["key"] == "AURORA-1542"
    assert "existed_before" not in second["result"]


def test_g04_of_several_matches_the_one_with_our_property_wins_and_the_rest_is_told(world: AgentWorld) -> None:
    oldest = world.person("create", summary="Отчёт", user="svc_hub", age_seconds=3 * DAY)
    world.report_of("ensure_issue", **REPORT | {"summary": "Иной", "identity": "jh:a:40"})
    world.person("edit", key="AURORA-1542", fields={"summary": "Отчёт"}, user="svc_hub")
    without_journal(world)
    result = world.report_of("ensure_issue", **REPORT)["result"]
    assert result["key"] == "AURORA-1542"
    assert result["also_found"] == [oldest]
    assert len(world.written()) == 1


def test_g04_without_a_property_the_oldest_wins_and_nothing_is_created(world: AgentWorld) -> None:
    keys = [world.person("create", summary="Отчёт", user="svc_hub", age_seconds=age * DAY) for age in (3, 2, 1)]
    result = world.report_of("ensure_issue", temp_key="new:1", summary="Отчёт")["result"]
    assert (result["key"], result["also_found"]) == (keys[0], keys[1:])
    assert world.written() == []


def test_g05_a_match_of_another_issue_type_is_no_duplicate(world: AgentWorld) -> None:
    epic = world.person("create", summary="Отчёт", user="svc_hub", type="epic", fields={"customfield_10581": "Отчёт"})
    report = world.report_of("ensure_issue", **REPORT)
    assert report["result"]["key"] != epic
    assert (
        world.report_of("ensure_issue", **REPORT | {"issue_type": "epic", "identity": "jh:a:41"})["result"]["key"]
        == epic
    )


def test_g06_fields_of_a_found_issue_are_told_not_overwritten(world: AgentWorld) -> None:
    world.person("create", summary="Отчёт", user="svc_hub", fields={"duedate": "2026-12-12"})
    result = world.report_of("ensure_issue", **REPORT, duedate="2026-01-01", epic_key="AURORA-1530")["result"]
    assert result["differs"] == ["duedate", "epic_key"]
    assert world.written() == []


def test_g07_a_negative_search_after_an_unknown_post_is_not_trusted_before_the_window(world: AgentWorld) -> None:
    """Jira never got the creation: one more search after the window, then the second POST."""
    world.queue.gaps["ensure_issue"] = 1.0
    world.fault(Fault(kind="drop_before_execute", method="POST", path="/issue$"))
    assert world.report_of("ensure_issue", **REPORT)["result"]["key"] == "AURORA-1541"
    first, second = moments(world, "POST", "/issue")
    searches = [at for at in moments(world, "POST", "/search") if at > first]
    assert second - first >= 120
    assert first + 120 <= searches[-1] <= second


@pytest.mark.parametrize("index_lag", [0.0, 100.0])
def test_g07_after_a_lost_journal_the_first_negative_search_is_not_trusted_either(
    world: AgentWorld, index_lag: float
) -> None:
    """The hub says that it was delivered before; nothing here remembers what became of that."""
    world.switch(index_lag_seconds=index_lag)
    world.queue.gaps["ensure_issue"] = 5.0
    number = world.queue.add("ensure_issue", **REPORT)
    dies_after(world, "POST", "/issue$")
    killed(world)
    (world.folder / "journal.jsonl").unlink()
    again(world)
    world.run()
    assert world.queue.commands[-1]["delivery"] == 2
    assert world.queue.reports[number]["result"]["key"] == "AURORA-1541"
    assert len(world.written()) == 1


@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("kind", ["execute_then_drop", "error_after_execute"])
def test_g07_two_nodes_that_disagree_make_no_second_issue(world: AgentWorld, kind: Any, shift: int) -> None:
    """Every other search is answered by an index that is 100 s behind; whichever comes first."""
    if shift:
        world.report_of("refresh", keys=["AURORA-1533"])
    world.queue.gaps["ensure_issue"] = 1.0
    world.switch(second_node_lag_seconds=100.0)
    world.fault(Fault(kind=kind, method="POST", path="/issue$"))
    assert world.report_of("ensure_issue", **REPORT)["result"]["key"] == "AURORA-1541"
    assert len(world.written()) == 1


def test_g08_an_issue_whose_reporter_an_automation_rewrote_is_still_ours(world: AgentWorld) -> None:
    key = world.person("create", summary="Отчёт", user="svc_hub", age_seconds=3600)
    issue = world.issue(key)
    issue.reporter = "ivanov"
    with world.jira.store.transaction():
        world.jira.store.save_issue(issue, world.clock.wall())
    assert world.report_of("ensure_issue", **REPORT)["result"]["key"] == key
    jql = json.loads(bodies(world, "POST", "/search")[0])["jql"]
    assert "(reporter = currentUser() OR creator = currentUser())" in jql


@pytest.mark.parametrize(
    ("mode", "on_screen", "written"),
    [
        ("create", True, ["POST issue"]),
        ("edit", True, ["POST issue", "PUT AURORA-1541"]),
        ("agile", False, ["POST issue", "POST issue"]),
        (None, True, ["POST issue"]),
        (None, False, ["POST issue", "PUT AURORA-1541"]),
    ],
)
def test_g19_the_epic_is_set_as_configured_or_as_the_create_screen_allows(
    tmp_path: Path, mode: Any, on_screen: bool, written: list[str]
) -> None:
    world = built(tmp_path, switches={"epic_link_on_create": on_screen}, epic_mode=mode)
    report = world.report_of("ensure_issue", **REPORT, epic_key="AURORA-1530")
    assert report["status"] == "done", report
    done = [(one["method"], one["path"]) for one in world.written()]
    assert [f"{method} {path.rpartition('/')[2]}" for method, path in done] == written
    assert mode != "agile" or done[1][1] == "/rest/agile/1.0/epic/AURORA-1530/issue"
    assert world.issue("AURORA-1541").custom["epic_link"] == "AURORA-1530"
    budget = 2 if len(written) == 1 else 3
    assert report["jira_calls"] == budget


def test_g20_an_epic_with_an_epic_is_refused_at_the_hub(tmp_path: Path) -> None:
    bridge = Bridge(tmp_path)
    wish = {"type": "ensure_issue", **REPORT, "issue_type": "epic", "epic_key": "AURORA-1530"}
    del wish["identity"]
    assert bridge.post_batch(wish).status_code == 422
    bridge.close()


@pytest.mark.parametrize("epic", ["AURORA-1533", "AURORA-9999"])
def test_g20_what_is_no_epic_is_refused_by_jira(world: AgentWorld, epic: str) -> None:
    for report in (
        world.report_of("ensure_issue", **REPORT, epic_key=epic),
        world.report_of("ensure_fields", key="AURORA-1534", epic_key=epic),
    ):
        assert report["status"] == "failed"
        assert "HTTP 400" in report["error"] and epic in report["error"]


def test_g20_an_epic_link_on_an_epic_is_refused_by_jira(world: AgentWorld) -> None:
    report = world.report_of("ensure_fields", key="AURORA-1530", epic_key="AURORA-1520")
    assert (report["status"], "cannot be set" in report["error"]) == ("failed", True)


@pytest.mark.parametrize("journal", ["kept", "lost"])
def test_g20_an_issue_whose_epic_was_refused_afterwards_is_known_by_its_key(tmp_path: Path, journal: str) -> None:
    """P8: the creation is done, the command failed; the hub must learn of the issue all the same."""
    world = built(tmp_path, epic_mode="edit")
    number = world.queue.add("ensure_issue", **REPORT, epic_key="AURORA-1533")
    if journal == "lost":
        dies_after(world, "POST", "/issue$")
        killed(world)
        (tmp_path / "journal.jsonl").unlink()
        again(world)
    world.run()
    report = world.queue.reports[number]
    assert report["status"] == "failed"
    assert "must be of type" in report["error"]
    assert report["result"]["key"] == "AURORA-1541"


def test_g21_the_epic_name_is_the_summary_at_creation_and_stays_afterwards(world: AgentWorld) -> None:
    world.report_of("ensure_issue", **REPORT | {"issue_type": "epic"})
    assert world.issue("AURORA-1541").custom["epic_name"] == "Отчёт"
    world.report_of("ensure_fields", key="AURORA-1541", summary="Отчёт за год")
    issue = world.issue("AURORA-1541")
    assert (issue.summary, issue.custom["epic_name"]) == ("Отчёт за год", "Отчёт")


def test_g22_fields_an_administrator_requires_come_from_create_defaults(tmp_path: Path) -> None:
    world = built(tmp_path, create_defaults={"duedate": "2026-12-31"})
    world.switch(required_on_create=["duedate"])
    assert world.report_of("ensure_issue", **REPORT)["status"] == "done"
    assert world.issue("AURORA-1541").duedate == "2026-12-31"
    world.report_of("ensure_issue", **REPORT | {"identity": "jh:a:41", "duedate": "2026-11-01"})
    assert world.issue("AURORA-1542").duedate == "2026-11-01"


def test_g22_without_them_the_creation_fails_with_jiras_text(world: AgentWorld) -> None:
    world.switch(required_on_create=["duedate"])
    report = world.report_of("ensure_issue", **REPORT)
    assert report["status"] == "failed"
    assert "duedate" in report["error"] and "is required" in report["error"]


def test_an_index_that_never_shows_what_is_there_blocks_and_creates_nothing_twice(world: AgentWorld) -> None:
    """The newest issue of ours bears witness whether the index lives."""
    world.report_of("ensure_issue", **REPORT)
    world.switch(index_lag_seconds=100_000.0)
    world.fault(Fault(kind="execute_then_drop", method="POST", path="/issue$"))
    world.queue.add("ensure_issue", **REPORT | {"identity": "jh:a:41", "summary": "Второй"})
    turns(world, 6)
    assert [one["path"] for one in world.written()] == ["/rest/api/2/issue"] * 2
    assert "индекс" in world.queue.states[-1]["blocked"]
    again(world)
    world.switch()
    world.run()
    assert [one["path"] for one in world.written()] == ["/rest/api/2/issue"] * 2
