"""What others' clients got wrong with real Jiras, each by its number (B1…B41); and the call budgets."""

from pathlib import Path
from typing import Any

import pytest

from agent.site import SiteFault, Wanted
from examples.jira.faults import Fault
from tests.contracts.agent_world import WANTED, AgentWorld


@pytest.fixture
def world(tmp_path: Path) -> AgentWorld:
    world = AgentWorld(tmp_path)
    world.learn()
    return world


def built(folder: Path, **wanted: Any) -> AgentWorld:
    names = {name: getattr(WANTED, name) for name in Wanted.__slots__}
    world = AgentWorld(folder, wanted=Wanted(**{**names, **wanted}))
    world.learn()
    return world


def paths(world: AgentWorld) -> list[str]:
    """Method and last part of the path of everything sent since the names were learnt."""
    return [f"{method} {path.rpartition('/')[2]}" for _, _, method, path in world.wire.calls[-world.wire.sent :]]


REPORT = {"temp_key": "new:1", "summary": "Отчёт", "identity": "jh:a:1"}


def test_b1_a_creation_whose_answer_got_lost_is_found_not_repeated(world: AgentWorld) -> None:
    world.fault(Fault(kind="execute_then_drop", method="POST", path="/issue$"))
    report = world.report_of("ensure_issue", **REPORT)
    assert report["result"]["key"] == "AURORA-1541"
    assert paths(world).count("POST issue") == 1


def test_b6_a_comment_beyond_the_first_page_is_found_and_a_lying_total_ends(world: AgentWorld) -> None:
    world.switch(comment_cap=50, total_offset=80)
    world.person("comment", key="AURORA-1533", body="разговор {n}", count=116)
    world.person("comment", key="AURORA-1533", body="plan:1\nстарое", user="svc_hub")
    world.person("comment", key="AURORA-1533", body="ещё {n}", count=3)
    there = len(world.comments("AURORA-1533"))
    report = world.report_of("ensure_comment", key="AURORA-1533", marker="plan:1", body="новое")
    assert report["status"] == "done"
    assert len(world.comments("AURORA-1533")) == there
    assert "plan:1\nновое" in world.comments("AURORA-1533")
    assert [one["method"] for one in world.written()] == ["PUT"]


def test_b7_a_comment_whose_answer_got_lost_is_not_doubled(world: AgentWorld) -> None:
    world.fault(Fault(kind="execute_then_drop", method="POST", path="/comment$"))
    world.report_of("ensure_comment", key="AURORA-1533", marker="plan:1", body="x")
    assert [body for body in world.comments("AURORA-1533") if body.startswith("plan:1")] == ["plan:1\nx"]


def test_b8_source_blocks_target_as_jira_shows_it(world: AgentWorld) -> None:
    world.report_of("ensure_link", source="AURORA-1533", target="AURORA-1537", link_type="блокирует начало")
    assert world.links("AURORA-1533", "AURORA-1537") == [("10200", "AURORA-1533", "AURORA-1537")]
    reading = world.report_of("refresh", keys=["AURORA-1533"])["result"]
    [state] = [one for one in reading["issues"] if one["key"] == "AURORA-1533"]
    assert ("AURORA-1533", "AURORA-1537", "блокирует начало") in [
        (one["source"], one["target"], one["link_type"]) for one in state["links"]
    ]


def test_b9_the_text_of_one_direction_is_no_link_type(tmp_path: Path) -> None:
    with pytest.raises(SiteFault, match="name the type: 'Blocks'"):
        built(tmp_path, link_types={"блокирует": ("is blocked by", "outward")})


@pytest.mark.parametrize("mode", ["create", "ignore"])
def test_b10_a_link_is_posted_once_however_often_it_is_wished(world: AgentWorld, mode: str) -> None:
    world.switch(link_duplicates=mode)
    for _ in range(3):
        world.report_of("ensure_link", source="AURORA-1533", target="AURORA-1537", link_type="связанные")
    assert paths(world).count("POST issueLink") == 1


def test_b12_a_sprint_on_the_third_page_is_found(world: AgentWorld) -> None:
    world.person("save_sprint", name="Спринт номер {n}", count=129)
    report = world.report_of("ensure_sprint", key="AURORA-1537", sprint="Спринт номер 120")
    assert report["status"] == "done"
    assert paths(world).count("GET sprint") == 3


def test_b13_two_sprints_with_one_name_fail_with_both_ids_and_states(world: AgentWorld) -> None:
    world.person("save_sprint", id=21, name="Спринт 2", state="active")
    report = world.report_of("ensure_sprint", key="AURORA-1533", sprint="Спринт 2")
    assert report["status"] == "failed"
    assert "id 9, future" in report["error"]
    assert "id 21, active" in report["error"]
    assert world.report_of("ensure_sprint", key="AURORA-1533", sprint={"id": 21})["status"] == "done"


def test_b14_a_sprint_of_another_board_shown_here_is_taken(world: AgentWorld) -> None:
    report = world.report_of("ensure_sprint", key="AURORA-1533", sprint="Общий спринт, [обе команды]")
    assert report["status"] == "done"
    assert world.issue("AURORA-1533").sprint_ids[-1] == 11


@pytest.mark.parametrize("shape", ["string", "object"])
def test_b15_both_shapes_of_the_sprint_field_are_read(world: AgentWorld, shape: str) -> None:
    world.switch(sprint_field=shape)
    world.person("sprint", key="AURORA-1533", sprint=11)
    report = world.report_of("ensure_sprint", key="AURORA-1533", sprint="Общий спринт, [обе команды]")
    assert (report["status"], report["jira_calls"]) == ("done", 1)


def test_b17_a_transition_that_bears_the_name_of_another_status_is_not_mistaken(world: AgentWorld) -> None:
    world.person("status", key="AURORA-1533", status="Приостановлено")
    report = world.report_of("ensure_status", key="AURORA-1533", target="Готово")
    assert report["status"] == "failed"  # «Готово» from there leads to «Разработка»
    assert "«Разработка» (Готово)" in report["error"]


@pytest.mark.parametrize("locale", ["ru", "en"])
def test_b19_a_status_may_be_wished_by_its_id_in_any_language(world: AgentWorld, locale: str) -> None:
    world.switch(locale=locale)
    assert world.report_of("ensure_status", key="AURORA-1533", target=["10301", "10303"])["status"] == "done"
    assert world.issue("AURORA-1533").status_id == "10303"


def test_b20_a_required_field_without_a_default_fails_before_the_post(world: AgentWorld) -> None:
    report = world.report_of("ensure_status", key="AURORA-1533", target="Отклонено")
    assert report["status"] == "failed"
    assert "resolution" in report["error"]
    assert "Не будет исправлено" in report["error"]
    assert world.written() == []


def test_b20_a_configured_default_is_sent(tmp_path: Path) -> None:
    world = built(tmp_path, transition_defaults={"resolution": {"name": "Не будет исправлено"}})
    assert world.report_of("ensure_status", key="AURORA-1533", target="Отклонено")["status"] == "done"
    assert world.issue("AURORA-1533").resolution_id == "10001"


def test_b20_a_validator_that_is_listed_nowhere_fails_with_jiras_text(world: AgentWorld) -> None:
    world.switch(resolution_listed=False)
    report = world.report_of("ensure_status", key="AURORA-1533", target="Отклонено")
    assert report["status"] == "failed"
    assert "HTTP 400" in report["error"]
    assert world.issue("AURORA-1533").status_id == "10300"


def test_b21_a_label_a_person_adds_meanwhile_survives(world: AgentWorld) -> None:
    world.person("edit", key="AURORA-1533", fields={"labels": ["a", "b"]})
    edit = {"action": "edit", "key": "AURORA-1533", "fields": {"labels": ["a", "b", "c"]}}
    world.fault(Fault(kind="edit", method="PUT", edit=edit))
    world.report_of("ensure_fields", key="AURORA-1533", labels_add=["x"], labels_remove=["a"])
    assert sorted(world.issue("AURORA-1533").labels) == ["b", "c", "x"]


def test_b23_an_epic_that_is_not_on_the_create_screen_is_set_after_the_gap(tmp_path: Path) -> None:
    world = built(tmp_path, epic_mode="edit")
    world.switch(epic_link_on_create=False)
    report = world.report_of("ensure_issue", **REPORT, epic_key="AURORA-1530")
    assert (report["status"], report["jira_calls"]) == ("done", 3)
    assert world.issue("AURORA-1541").custom["epic_link"] == "AURORA-1530"
    post, put = world.wire.calls[-2:]
    assert (post[2], put[2], put[0] - post[0]) == ("POST", "PUT", 120.0)


def test_b24_no_summary_gets_into_jql(world: AgentWorld) -> None:
    summary = "[x] \"a\" + - \\ 'б' 📌"
    world.report_of("ensure_issue", temp_key="new:1", summary=summary, identity="jh:a:1")
    again = world.report_of("ensure_issue", temp_key="new:1", summary=summary, identity="jh:a:1")
    assert again["result"]["key"] == "AURORA-1541"
    searches = [one["body"] for one in world.requests() if one["path"].endswith("/search")]
    assert searches
    assert not any("📌" in body or "[x]" in body for body in searches)


@pytest.mark.parametrize("other", ["Отчёт за май", "отчёт"])
def test_b25_a_like_summary_is_no_duplicate(world: AgentWorld, other: str) -> None:
    world.person("create", summary=other, user="svc_hub")
    report = world.report_of("ensure_issue", **REPORT)
    assert report["result"]["key"] == "AURORA-1542"


def test_b25_a_summary_with_blanks_around_is_the_same(world: AgentWorld) -> None:
    world.switch(trim_summary=False)
    world.person("create", summary=" Отчёт ", user="svc_hub", age_seconds=3600)
    report = world.report_of("ensure_issue", **REPORT)
    assert (report["result"]["key"], report["result"]["existed_before"]) == ("AURORA-1541", True)


def test_b28_line_ends_are_no_difference_and_rewritten_texts_no_endless_loop(world: AgentWorld) -> None:
    world.switch(crlf=True)
    first = world.report_of("ensure_fields", key="AURORA-1533", description="a\nb")
    again = world.report_of("ensure_fields", key="AURORA-1533", description="a\nb")
    assert (first["jira_calls"], again["jira_calls"]) == (2, 1)
    assert len(world.written()) == 1


def test_b32_a_login_page_after_a_write_is_not_done(world: AgentWorld) -> None:
    world.fault(Fault(kind="html", method="PUT", status=200))
    world.queue.add("ensure_fields", key="AURORA-1533", duedate="2026-11-23")
    for _ in range(3):
        world.turn()
    assert world.queue.reports == {}
    world.run()
    [report] = world.queue.reports.values()
    assert (report["status"], len(world.written())) == ("done", 1)


def test_b35_a_deleted_key_does_not_hide_the_others(world: AgentWorld) -> None:
    world.person("delete", key="AURORA-1534")
    moved = world.person("move", key="AURORA-1535", project="BOREAS")
    result = world.report_of("refresh", keys=["AURORA-1533", "AURORA-1534", "AURORA-1535"])["result"]
    assert {"AURORA-1533", moved} <= {one["key"] for one in result["issues"]}
    assert result["missing"] == ["AURORA-1534"]
    assert result["moved"] == {"AURORA-1535": moved}


def test_b35_a_typo_in_a_persons_jql_fails_loudly(world: AgentWorld) -> None:
    report = world.report_of("refresh", jql="projekt = AURORA")
    assert report["status"] == "failed"
    assert "HTTP 400" in report["error"]


def test_b37_a_silent_page_cap_loses_nothing(world: AgentWorld) -> None:
    world.switch(search_cap=20)
    result = world.report_of("refresh", jql="project = AURORA")["result"]
    assert len({one["key"] for one in result["issues"]}) == 41


def test_b39_an_assignee_ignored_on_creation_is_set_once_afterwards(world: AgentWorld) -> None:
    world.switch(assignee_ignored_on_create=True)
    report = world.report_of("ensure_issue", **REPORT, assignee="petrova")
    assert report["status"] == "done"
    assert world.issue("AURORA-1541").assignee == "petrova"
    assert [one["method"] for one in world.written()] == ["POST", "PUT"]


def test_b39_a_display_name_is_no_login(world: AgentWorld) -> None:
    report = world.report_of("ensure_fields", key="AURORA-1533", assignee="Иванов Иван")
    assert report["status"] == "failed"
    assert "HTTP 400" in report["error"]


# --- gaps of the seeds


def test_g2_an_old_delivery_widens_the_window(world: AgentWorld) -> None:
    world.person("create", summary="Отчёт", user="svc_hub", age_seconds=8 * 86_400)
    number = world.queue.add("ensure_issue", **REPORT)
    world.queue.commands[-1]["age_seconds"] = 8.5 * 86_400
    world.run()
    assert world.queue.reports[number]["result"]["existed_before"] is True


def test_g3_last_weeks_issue_of_another_command_is_not_ours(world: AgentWorld) -> None:
    """H6: the weekly «Отчёт»."""
    world.report_of("ensure_issue", **REPORT)
    report = world.report_of("ensure_issue", **{**REPORT, "identity": "jh:a:2"})
    assert report["result"]["key"] == "AURORA-1542"


def test_g6_fields_of_a_found_issue_are_told_not_overwritten(world: AgentWorld) -> None:
    world.person("create", summary="Отчёт", user="svc_hub", fields={"duedate": "2026-12-12"})
    report = world.report_of("ensure_issue", **REPORT, duedate="2026-01-01")
    assert report["result"]["differs"] == ["duedate"]
    assert world.written() == []


def test_g32_several_links_in_the_way_are_deleted_with_gaps_then_one_is_made(world: AgentWorld) -> None:
    world.person("link", first="AURORA-1538", second="AURORA-1537", type="10200")
    report = world.report_of(
        "ensure_link", source="AURORA-1537", target="AURORA-1538", link_type="связанные", replace=True
    )
    assert len(report["result"]["operations"]) == 3
    assert world.links("AURORA-1537", "AURORA-1538") == [("10201", "AURORA-1537", "AURORA-1538")]


def test_g39_a_foreign_comment_with_the_marker_is_left_alone(world: AgentWorld) -> None:
    world.person("comment", key="AURORA-1533", body="plan:1\nчужое")
    world.report_of("ensure_comment", key="AURORA-1533", marker="plan:1", body="наше")
    assert {"plan:1\nчужое", "plan:1\nнаше"} <= set(world.comments("AURORA-1533"))


def test_g50_a_moved_issue_is_written_under_its_new_key(world: AgentWorld) -> None:
    moved = world.person("move", key="AURORA-1533", project="BOREAS")
    report = world.report_of("ensure_fields", key="AURORA-1533", duedate="2026-11-23")
    assert report["result"]["key_now"] == moved
    assert world.issue(moved).duedate == "2026-11-23"


# --- budgets of calls (jira.md 2.6): when there is nothing to do, and when there is

BUDGETS: list[tuple[str, dict[str, Any], int, int]] = [
    ("ensure_issue", {"temp_key": "new:1", "summary": "Отчёт"}, 2, 1),
    ("ensure_fields", {"key": "AURORA-1533", "duedate": "2026-11-23"}, 2, 1),
    ("ensure_comment", {"key": "AURORA-1533", "marker": "plan:1", "body": "x"}, 2, 1),
    ("ensure_status", {"key": "AURORA-1533", "target": ["Разработка", "Готово"]}, 6, 1),
    ("ensure_link", {"source": "AURORA-1533", "target": "AURORA-1537", "link_type": "связанные"}, 2, 1),
    ("ensure_sprint", {"key": "AURORA-1533", "sprint": "Спринт 2"}, 3, 1),
]


@pytest.mark.parametrize(("command_type", "params", "writing", "idle"), BUDGETS, ids=[row[0] for row in BUDGETS])
def test_a_command_keeps_its_budget_of_calls(
    world: AgentWorld, command_type: str, params: dict[str, Any], writing: int, idle: int
) -> None:
    assert world.report_of(command_type, **params)["jira_calls"] == writing
    assert world.report_of(command_type, **params)["jira_calls"] == idle
    assert world.wire.sent == writing + idle


def test_names_are_learnt_once_and_kept_over_a_restart(world: AgentWorld) -> None:
    world.journal.close()
    world.start()
    world.wire.sent = 0
    world.turn()
    assert world.wire.sent == 0
