"""How many requests a command may cost (jira.md 2.6): when there is nothing to do, and when there is."""

from pathlib import Path
from typing import Any

import pytest

from tests.contracts.agent_world import AgentWorld
from tests.contracts.reports_world import built, claimed, sent, without_journal

BUDGETS: list[tuple[str, dict[str, Any], int, int]] = [
    ("ensure_issue", {"temp_key": "new:1", "summary": "Отчёт"}, 2, 1),
    ("ensure_fields", {"key": "AURORA-1533", "duedate": "2026-11-23"}, 2, 1),
    ("ensure_comment", {"key": "AURORA-1533", "marker": "plan:1", "body": "x"}, 2, 1),
    ("ensure_status", {"key": "AURORA-1533", "target": "Разработка"}, 4, 1),
    ("ensure_link", {"source": "AURORA-1533", "target": "AURORA-1537", "link_type": "связанные"}, 2, 1),
    ("ensure_sprint", {"key": "AURORA-1533", "sprint": "Спринт 2"}, 3, 1),
    ("ensure_sprint", {"key": "AURORA-1537", "sprint": "backlog"}, 2, 1),
]


@pytest.fixture
def world(tmp_path: Path) -> AgentWorld:
    return built(tmp_path)


@pytest.mark.parametrize(
    ("command_type", "params", "writing", "idle"),
    BUDGETS,
    ids=[f"{row[0]} {list(row[1].values())[-1]}" for row in BUDGETS],
)
def test_a_command_keeps_its_budget_of_calls(
    world: AgentWorld, command_type: str, params: dict[str, Any], writing: int, idle: int
) -> None:
    reports = [world.report_of(command_type, **params) for _ in range(2)]
    assert [one["status"] for one in reports] == ["done", "done"]
    assert [one["jira_calls"] for one in reports] == [writing, idle]
    assert world.wire.sent == writing + idle
    assert len(world.written()) == 1


def test_a_creation_costs_its_pages_and_one_and_an_epic_set_afterwards_one_more(tmp_path: Path) -> None:
    world = built(tmp_path, epic_mode="edit")
    for number in range(24):
        world.person("create", summary=f"Своя {number}", user="svc_hub")
    world.switch(search_cap=10)
    wish = {"temp_key": "new:1", "summary": "Отчёт", "epic_key": "AURORA-1530"}
    assert world.report_of("ensure_issue", **wish)["jira_calls"] == 3 + 1 + 1
    assert world.report_of("ensure_issue", **wish)["jira_calls"] == 3


def test_an_identity_costs_one_look_at_each_namesake(world: AgentWorld) -> None:
    wish = {"temp_key": "new:1", "summary": "Отчёт", "identity": "jh:a:40"}
    assert world.report_of("ensure_issue", **wish)["jira_calls"] == 2
    without_journal(world)
    assert world.report_of("ensure_issue", **wish)["jira_calls"] == 2
    assert len(world.written()) == 1


def test_looking_for_a_renamed_issue_asks_each_of_the_newest_twenty_once(world: AgentWorld) -> None:
    for number in range(25):
        world.person("create", summary=f"Своя {number}", user="svc_hub")
    claimed(world, "ensure_issue", temp_key="new:1", summary="Отчёт", identity="jh:a:40")
    without_journal(world)
    world.run(steps=400)
    assert [one["jira_calls"] for one in world.queue.reports.values()] == [2 + 20 + 1]  # searched for twice, then made


@pytest.mark.parametrize(("there", "pages"), [(0, 1), (100, 1), (101, 2), (250, 3)])
def test_comments_cost_a_read_for_each_hundred(world: AgentWorld, there: int, pages: int) -> None:
    if there:
        world.person("comment", key="AURORA-1534", body="разговор {n}", count=there)
    wish = {"key": "AURORA-1534", "marker": "plan:1", "body": "x"}
    assert world.report_of("ensure_comment", **wish)["jira_calls"] == pages + 1
    assert world.report_of("ensure_comment", **wish)["jira_calls"] == -(-(there + 1) // 100)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_path_costs_no_more_than_three_calls_a_step(world: AgentWorld, steps: int) -> None:
    path = ["Разработка", "Тестирование", "Готово"][:steps]
    world = world if steps < 3 else built(world.folder, transition_defaults={"resolution": "Готово"})
    report = world.report_of("ensure_status", key="AURORA-1533", target=path)
    assert (report["status"], len(world.written())) == ("done", steps)
    assert report["jira_calls"] <= 1 + 2 * steps + 1
    assert sent(world)[-1] == "GET AURORA-1533"  # the verifying one


def test_a_replacement_costs_a_deletion_for_each_extra_link_and_one_post(world: AgentWorld) -> None:
    world.person("link", first="AURORA-1538", second="AURORA-1537", type="10200")  # beside the one of the seeds
    wish = {"source": "AURORA-1537", "target": "AURORA-1538", "link_type": "связанные", "replace": True}
    assert world.report_of("ensure_link", **wish)["jira_calls"] == 1 + 2 + 1
    assert world.report_of("ensure_link", **wish)["jira_calls"] == 1


@pytest.mark.parametrize(("sprints", "pages"), [(0, 1), (47, 1), (48, 2), (126, 3)])
def test_a_sprint_costs_a_page_for_each_fifty(world: AgentWorld, sprints: int, pages: int) -> None:
    """Three open ones stand there already."""
    if sprints:
        world.person("save_sprint", name="Итерация {n}", count=sprints)
    assert world.report_of("ensure_sprint", key="AURORA-1533", sprint="Спринт 2")["jira_calls"] == 1 + pages + 1


def test_a_reading_costs_its_pages_and_those_of_the_neighbours(world: AgentWorld) -> None:
    world.person("link", first="AURORA-1536", second="AURORA-1532", type="10201")
    assert world.report_of("refresh", keys=["AURORA-1536"])["jira_calls"] == 2
    world.switch(search_cap=20)
    assert world.report_of("refresh", jql='project = "AURORA"')["jira_calls"] == 3
    assert world.written() == []


def test_every_reading_of_issues_names_its_fields(world: AgentWorld) -> None:
    """`*all` of an issue with thousands of links takes minutes."""
    world.report_of("ensure_fields", key="AURORA-1533", duedate="2026-11-23")
    world.report_of("ensure_issue", temp_key="new:1", summary="Отчёт", identity="jh:a:40")
    world.report_of("refresh", keys=["AURORA-1533"])
    for one in world.requests():
        if one["method"] == "GET" and "/issue/AURORA" in one["path"]:
            assert "fields=" in one["query"]
        if one["path"].endswith("/search"):
            assert '"fields"' in one["body"] and "*all" not in one["body"]


def test_names_are_learnt_once_and_kept_over_a_restart(world: AgentWorld) -> None:
    world.journal.close()
    world.start()
    world.wire.sent = 0
    world.turn()
    assert world.wire.sent == 0
