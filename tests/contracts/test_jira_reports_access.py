"""Reports of other clients, by number: refused for speed, login pages, CAPTCHA, XSRF; readings that lose issues."""

import itertools
import json
from pathlib import Path

import httpx2
import pytest

from examples.jira.faults import Fault
from tests.contracts.agent_world import AgentWorld
from tests.contracts.reports_world import bodies, built, claimed, moments, sent, turns

FIELDS = {"key": "AURORA-1533", "duedate": "2026-11-23"}


@pytest.fixture
def world(tmp_path: Path) -> AgentWorld:
    return built(tmp_path)


@pytest.mark.parametrize("html", [False, True])
def test_b31_three_429_are_waited_out_counted_and_end_in_one_success(world: AgentWorld, html: bool) -> None:
    world.queue.gaps["ensure_fields"] = 1.0
    world.fault(Fault(kind="rate_limit", method="PUT", times=3, retry_after="0", interval_seconds=60, html=html))
    report = world.report_of("ensure_fields", **FIELDS)
    assert (report["status"], report["rate_limited"], report["jira_calls"]) == ("done", 3, 5)
    puts = moments(world, "PUT", "AURORA-1533")
    waits = [after - before for before, after in itertools.pairwise(puts)]
    assert len(waits) == 3 and all(60 <= wait <= 61 for wait in waits)
    assert len(world.written()) == 1


def test_b31_a_storm_that_does_not_end_blocks_the_agent_and_fails_nothing(world: AgentWorld) -> None:
    world.fault(Fault(kind="rate_limit", method="PUT", times=30, retry_after="0", interval_seconds=60))
    claimed(world, "ensure_fields", **FIELDS)
    turns(world, 4)
    assert world.queue.reports == {}
    assert "429" in world.queue.states[-1]["blocked"]


def test_b31_a_blocked_agent_probes_no_earlier_than_jira_asks(world: AgentWorld) -> None:
    world.fault(Fault(kind="rate_limit", times=40, retry_after="1200", interval_seconds=1))
    claimed(world, "ensure_fields", **FIELDS)
    turns(world, 6)
    calls = [moment for moment, _, _, _ in world.wire.calls[-world.wire.sent :]]
    assert len(calls) >= 10
    assert all(after - before >= 1200 for before, after in itertools.pairwise(calls))


def test_b31_a_retry_after_with_a_date_is_understood(world: AgentWorld) -> None:
    world.queue.gaps["ensure_fields"] = 1.0
    from email.utils import formatdate

    until = formatdate(world.clock.wall() + 300, usegmt=True)
    world.fault(Fault(kind="rate_limit", method="GET", retry_after=until, interval_seconds=1))
    assert world.report_of("ensure_fields", **FIELDS)["rate_limited"] == 1
    first, second = moments(world, "GET", "AURORA-1533")
    assert 290 <= second - first <= 301


def test_b32_a_login_page_instead_of_the_answer_to_a_write_is_not_done(world: AgentWorld) -> None:
    number = claimed(world, "ensure_fields", **FIELDS)
    world.fault(Fault(kind="html", method="PUT", status=200))
    turns(world, 3)
    assert world.queue.reports == {}
    state = world.queue.states[-1]
    assert "200" in state["blocked"]
    assert state["current_command_id"] == number
    world.run()
    report = world.queue.reports[number]
    assert (report["status"], len(world.written())) == ("done", 1)


@pytest.mark.parametrize("mode", ["sso_200_html", "sso_302"])
def test_b32_single_sign_on_pauses_the_agent_which_keeps_the_command(world: AgentWorld, mode: str) -> None:
    number = claimed(world, "ensure_fields", **FIELDS)
    world.switch(auth_mode=mode)
    turns(world, 5)
    assert world.queue.reports == {}
    assert world.queue.states[-1]["current_command_id"] == number
    world.switch()
    world.run()
    assert world.queue.reports[number]["status"] == "done"


def test_b33_a_captcha_costs_one_call_and_the_message_has_the_login_address(world: AgentWorld) -> None:
    claimed(world, "ensure_fields", **FIELDS)
    world.switch(auth_mode="captcha")
    before = len(world.requests())
    turns(world, 60)
    assert len(world.requests()) == before + 1
    assert "login-url=http://127.0.0.1/login.jsp" in world.queue.states[-1]["blocked"]
    assert world.queue.reports == {}


def test_b34_our_user_agent_is_no_browsers_and_every_write_carries_the_xsrf_header(world: AgentWorld) -> None:
    seen: list[httpx2.Headers] = []
    inner = world.wire.inner.handle_request

    def looked_at(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.headers)
        return inner(request)

    world.wire.inner.handle_request = looked_at  # type: ignore[method-assign]
    assert world.report_of("ensure_fields", **FIELDS)["status"] == "done"
    assert {headers["user-agent"] for headers in seen} == {"jira-hub-agent/3"}
    assert {headers["x-atlassian-token"] for headers in seen} == {"no-check"}


def test_b34_a_browsers_user_agent_without_the_header_is_refused_by_this_fake(world: AgentWorld) -> None:
    from examples.jira.app import JiraTransport

    headers = {**world.access().headers, "User-Agent": "Mozilla/5.0 (X11; Linux x86_64)"}
    client = httpx2.Client(transport=JiraTransport(world.jira), base_url="http://jira", headers=headers)
    refused = client.put("/rest/api/2/issue/AURORA-1533", json={"fields": {"duedate": None}})
    assert (refused.status_code, refused.text) == (403, "XSRF check failed")


def test_b34_a_403_on_the_search_is_never_no_issues(world: AgentWorld) -> None:
    """Neither in the words of the XSRF filter (blocked), nor as a missing right (failed): nothing is created."""
    refusal = httpx2.Response(403, text="XSRF check failed", headers={"content-type": "text/plain"})
    number = claimed(world, "ensure_issue", temp_key="new:1", summary="Отчёт")
    world.wire.sent = 0
    world.wire.faults = {0: refusal}
    turns(world, 3)
    assert world.queue.reports == {}
    assert "XSRF" in world.queue.states[-1]["blocked"]
    assert "POST issue" not in sent(world)
    assert world.queue.commands[-1]["id"] == number


def test_b34_a_json_403_on_the_search_fails_the_command(world: AgentWorld) -> None:
    world.fault(Fault(kind="refuse", method="POST", path="/search$", status=403, messages=("Нет права",)))
    report = world.report_of("ensure_issue", temp_key="new:1", summary="Отчёт")
    assert report["status"] == "failed"
    assert "Нет права" in report["error"]
    assert "POST issue" not in sent(world)


# --- readings


def test_b35_one_deleted_key_hides_none_of_the_others(world: AgentWorld) -> None:
    world.person("delete", key="AURORA-1534")
    report = world.report_of("refresh", keys=["AURORA-1533", "AURORA-1534", "AURORA-1535"])
    assert report["status"] == "done"
    assert {"AURORA-1533", "AURORA-1535"} <= {one["key"] for one in report["result"]["issues"]}
    assert report["result"]["missing"] == ["AURORA-1534"]
    assert json.loads(bodies(world, "POST", "/search")[0])["validateQuery"] is False


def test_b35_a_typo_in_a_persons_jql_fails_with_400(world: AgentWorld) -> None:
    report = world.report_of("refresh", jql="projekt = AURORA")
    assert report["status"] == "failed"
    assert "HTTP 400" in report["error"] and "projekt" in report["error"]
    assert json.loads(bodies(world, "POST", "/search")[0])["validateQuery"] is True


def test_b37_a_silent_page_cap_loses_nothing(world: AgentWorld) -> None:
    """We ask for 100, this server gives 20 of 55."""
    for number in range(14):
        world.person("create", summary=f"Ещё {number}")
    world.switch(search_cap=20)
    report = world.report_of("refresh", jql='project = "AURORA"')
    pages = [json.loads(body) for body in bodies(world, "POST", "/search")][:3]
    assert [(page["startAt"], page["maxResults"]) for page in pages] == [(0, 100), (20, 100), (40, 100)]
    assert len(report["result"]["issues"]) == 55
    assert len({one["key"] for one in report["result"]["issues"]}) == 55
    assert report["jira_calls"] == 3
