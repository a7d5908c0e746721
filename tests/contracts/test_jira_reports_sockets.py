"""Some of the reports once more over a real socket: connections really break, pages really are cut."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.jira.faults import Fault
from tests.contracts.agent_world import AgentWorld
from tests.contracts.reports_world import OverSockets, claimed, moments, sent, turns

REPORT = {"temp_key": "new:1", "summary": "Отчёт", "identity": "jh:a:40"}
FIELDS = {"key": "AURORA-1533", "duedate": "2026-11-23"}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[AgentWorld]:
    with OverSockets.opened(tmp_path) as world:
        world.learn()
        yield world


def test_b01_a_creation_whose_connection_broke_is_found_and_never_posted_again(world: AgentWorld) -> None:
    world.fault(Fault(kind="execute_then_drop", method="POST", path="/issue$"))
    assert world.report_of("ensure_issue", **REPORT)["result"]["key"] == "AURORA-1541"
    assert sent(world).count("POST issue") == 1


def test_b01_a_creation_that_never_reached_jira_is_made_after_the_window(world: AgentWorld) -> None:
    world.fault(Fault(kind="drop_before_execute", method="POST", path="/issue$"))
    assert world.report_of("ensure_issue", **REPORT)["result"]["key"] == "AURORA-1541"
    first, second = moments(world, "POST", "/issue")
    assert second - first >= 120


def test_b06_a_comment_on_the_third_page_is_found(world: AgentWorld) -> None:
    world.person("comment", key="AURORA-1534", body="разговор {n}", count=116)
    world.person("comment", key="AURORA-1534", body="plan:1\nстарое", user="svc_hub")
    world.switch(comment_cap=50)
    report = world.report_of("ensure_comment", key="AURORA-1534", marker="plan:1", body="новое")
    assert (report["status"], report["jira_calls"]) == ("done", 4)


def test_b07_a_comment_whose_connection_broke_is_not_doubled(world: AgentWorld) -> None:
    world.fault(Fault(kind="execute_then_drop", method="POST", path="/comment$"))
    world.report_of("ensure_comment", key="AURORA-1534", marker="plan:1", body="x")
    assert [body for body in world.comments("AURORA-1534") if body.startswith("plan:1")] == ["plan:1\nx"]


def test_b08_cyrillic_keys_and_texts_survive_the_wire(world: AgentWorld) -> None:
    link = {"source": "AURORA-1533", "target": "AURORA-1536", "link_type": "блокирует начало"}
    assert world.report_of("ensure_link", **link)["status"] == "done"
    assert world.links("AURORA-1533", "AURORA-1536") == [("10200", "AURORA-1533", "AURORA-1536")]
    assert world.report_of("ensure_link", **link)["jira_calls"] == 1


def test_b28_an_answer_cut_in_the_middle_of_its_json_is_read_again(world: AgentWorld) -> None:
    world.fault(Fault(kind="truncate_json", method="GET", path="/issue/AURORA-1533$"))
    report = world.report_of("ensure_fields", **FIELDS)
    assert (report["status"], len(world.written())) == ("done", 1)


def test_b31_a_429_is_waited_out(world: AgentWorld) -> None:
    world.fault(Fault(kind="rate_limit", method="PUT", times=2, retry_after="0", interval_seconds=60, html=True))
    report = world.report_of("ensure_fields", **FIELDS)
    assert (report["status"], report["rate_limited"]) == ("done", 2)


def test_b32_a_redirect_to_a_login_page_is_not_followed(world: AgentWorld) -> None:
    claimed(world, "ensure_fields", **FIELDS)
    world.switch(auth_mode="sso_302")
    turns(world, 3)
    assert world.queue.reports == {}
    assert "login.jsp" not in str(world.wire.calls)
    assert "login.jsp" in world.queue.states[-1]["blocked"]


def test_b33_a_captcha_costs_one_call(world: AgentWorld) -> None:
    claimed(world, "ensure_fields", **FIELDS)
    world.switch(auth_mode="captcha")
    before = len(world.requests())
    turns(world, 20)
    assert len(world.requests()) == before + 1


def test_b34_every_request_is_a_connection_of_its_own(world: AgentWorld) -> None:
    """With gaps of minutes a pool gains nothing, and a pooled connection dies after a 500."""
    world.fault(Fault(kind="error_after_execute", method="PUT"))
    assert world.report_of("ensure_fields", **FIELDS)["status"] == "done"
    assert len(world.written()) == 1
