"""Reports of other clients, by number: comments, transitions, labels, texts, dates, people."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from examples.jira.faults import Fault
from tests.contracts.agent_world import WANTED, AgentWorld
from tests.contracts.reports_world import again, bodies, built, dies_after, killed, moments, sent
from tests.simulation.bridge import Bridge

KEY = "AURORA-1534"
COMMENT = {"key": KEY, "marker": "plan:1", "body": "новое"}


@pytest.fixture
def world(tmp_path: Path) -> AgentWorld:
    return built(tmp_path)


# --- comments


def with_120_comments(world: AgentWorld) -> None:
    """The 117th is ours and has the marker."""
    world.person("comment", key=KEY, body="разговор {n}", count=116)
    world.person("comment", key=KEY, body="plan:1\nстарое", user="svc_hub")
    world.person("comment", key=KEY, body="ещё {n}", count=3)
    assert len(world.comments(KEY)) == 120


def test_b06_the_marker_on_the_third_page_is_found_three_reads_one_edit(world: AgentWorld) -> None:
    with_120_comments(world)
    world.switch(comment_cap=50)
    report = world.report_of("ensure_comment", **COMMENT)
    assert (report["status"], report["jira_calls"]) == ("done", 4)
    assert [one["method"] for one in world.requests()[-4:]] == ["GET", "GET", "GET", "PUT"]
    assert world.comments(KEY)[116] == "plan:1\nновое"
    assert len(world.comments(KEY)) == 120


def test_b06_a_total_that_lies_ends_at_the_empty_page(world: AgentWorld) -> None:
    with_120_comments(world)
    world.switch(comment_cap=50, total_offset=80)
    report = world.report_of("ensure_comment", **COMMENT)
    assert (report["status"], report["jira_calls"]) == ("done", 5)
    assert [one["method"] for one in world.written()] == ["PUT"]


def test_b07_a_comment_whose_answer_got_lost_is_found_not_doubled(world: AgentWorld) -> None:
    world.fault(Fault(kind="execute_then_drop", method="POST", path="/comment$"))
    report = world.report_of("ensure_comment", **COMMENT)
    assert report["status"] == "done"
    assert sent(world) == ["GET comment", "POST comment", "GET comment"]
    assert [body for body in world.comments(KEY) if body.startswith("plan:1")] == ["plan:1\nновое"]


# --- transitions


def test_b17_a_transition_is_taken_by_where_it_leads_whatever_it_is_called(world: AgentWorld) -> None:
    """«Готово» leads from «Приостановлено» to «Разработка»."""
    world.person("status", key=KEY, status="Приостановлено")
    report = world.report_of("ensure_status", key=KEY, target="Разработка")
    assert report["status"] == "done"
    assert json.loads(bodies(world, "POST", "/transitions")[0]) == {"transition": {"id": "71"}}


def test_b17_a_transition_that_bears_the_name_of_the_target_but_leads_elsewhere_is_not_taken(world: AgentWorld) -> None:
    world.person("status", key=KEY, status="Приостановлено")
    report = world.report_of("ensure_status", key=KEY, target="Готово")
    assert report["status"] == "failed"
    assert "«Разработка» (Готово)" in report["error"]
    assert world.written() == []


STATUSES = {"В работе": "10301", "Development": "Разработка", "Готово": "10303", "Done": "10303"}


@pytest.mark.parametrize("locale", ["ru", "en"])
@pytest.mark.parametrize("target", [["10301", "10303"], ["В работе", "Готово"], ["Development", "Done"]])
def test_b19_the_id_or_any_configured_name_works_whatever_the_profiles_language(
    tmp_path: Path, locale: str, target: list[str]
) -> None:
    world = built(tmp_path, statuses=STATUSES)
    world.person("status", key=KEY, status="Ожидание разработки")
    world.switch(locale=locale)
    report = world.report_of("ensure_status", key=KEY, target=target)
    assert report["status"] == "done", report
    assert world.issue(KEY).status_id == "10303"


def test_b19_a_name_learnt_before_the_language_changed_still_works(world: AgentWorld) -> None:
    world.person("status", key=KEY, status="Ожидание разработки")
    world.switch(locale="en")
    assert world.report_of("ensure_status", key=KEY, target="Разработка")["status"] == "done"
    assert world.issue(KEY).status_id == "10301"


REJECTED: dict[str, Any] = {"key": KEY, "target": "Отклонено"}


def waiting(world: AgentWorld) -> AgentWorld:
    world.person("status", key=KEY, status="Ожидание разработки")
    return world


def test_b20_a_required_field_without_a_default_fails_before_the_post_with_the_allowed_values(
    world: AgentWorld,
) -> None:
    report = waiting(world).report_of("ensure_status", **REJECTED)
    assert report["status"] == "failed"
    assert "resolution (допустимо: Готово, Не будет исправлено)" in report["error"]
    assert "POST transitions" not in sent(world)


def test_b20_a_field_a_validator_demands_unlisted_fails_with_jiras_text_and_moves_nothing(world: AgentWorld) -> None:
    waiting(world).switch(resolution_listed=False)
    report = world.report_of("ensure_status", **REJECTED)
    assert report["status"] == "failed"
    assert "HTTP 400" in report["error"] and "is required" in report["error"]
    assert sent(world).count("POST transitions") == 1
    assert world.issue(KEY).status_id == "10300"


@pytest.mark.parametrize("default", [{"name": "Не будет исправлено"}, "Не будет исправлено"])
def test_b20_a_configured_default_goes_with_the_transition_where_it_is_listed(tmp_path: Path, default: Any) -> None:
    world = waiting(built(tmp_path, transition_defaults={"resolution": default}))
    assert world.report_of("ensure_status", **REJECTED)["status"] == "done"
    assert [json.loads(body).get("fields") for body in bodies(world, "POST", "/transitions")] == [
        {"resolution": {"name": "Не будет исправлено"}}
    ]
    assert world.issue(KEY).resolution_id == "10001"


def test_b20_a_configured_default_goes_once_more_where_a_validator_demanded_it(tmp_path: Path) -> None:
    world = waiting(built(tmp_path, transition_defaults={"resolution": {"name": "Не будет исправлено"}}))
    world.switch(resolution_listed=False)
    report = world.report_of("ensure_status", **REJECTED)
    assert report["status"] == "done"
    first, second = bodies(world, "POST", "/transitions")
    assert "fields" not in json.loads(first)
    assert json.loads(second)["fields"] == {"resolution": {"name": "Не будет исправлено"}}
    posts = moments(world, "POST", "/transitions")
    assert posts[1] - posts[0] >= 30
    assert world.issue(KEY).resolution_id == "10001"


def test_b20_a_default_that_does_not_help_either_ends_the_command(tmp_path: Path) -> None:
    world = waiting(built(tmp_path, transition_defaults={"resolution": {"name": "Нет такой"}}))
    world.switch(resolution_listed=False)
    report = world.report_of("ensure_status", **REJECTED)
    assert report["status"] == "failed"
    assert "Нет такой" in report["error"]
    assert sent(world).count("POST transitions") == 2
    assert world.issue(KEY).status_id == "10300"


def test_b20_a_default_is_not_sent_where_nobody_asks_for_it(tmp_path: Path) -> None:
    world = waiting(built(tmp_path, transition_defaults={"resolution": {"name": "Готово"}}))
    assert world.report_of("ensure_status", key=KEY, target="Разработка")["status"] == "done"
    assert [json.loads(body) for body in bodies(world, "POST", "/transitions")] == [{"transition": {"id": "11"}}]


# --- fields


def test_b21_a_label_a_person_adds_between_reading_and_writing_survives(world: AgentWorld) -> None:
    world.person("edit", key=KEY, fields={"labels": ["a", "b"]})
    edit = {"action": "edit", "key": KEY, "fields": {"labels": ["a", "b", "c"]}}
    world.fault(Fault(kind="edit", method="PUT", edit=edit))
    report = world.report_of("ensure_fields", key=KEY, labels_add=["x"], labels_remove=["a"])
    assert report["status"] == "done"
    assert json.loads(bodies(world, "PUT", KEY)[0]) == {"update": {"labels": [{"add": "x"}, {"remove": "a"}]}}
    assert sorted(world.issue(KEY).labels) == ["b", "c", "x"]


def test_b22_labels_with_blanks_are_refused_at_the_hub_for_an_edit_too(tmp_path: Path) -> None:
    bridge = Bridge(tmp_path)
    refused = bridge.post_batch({"type": "ensure_fields", "key": KEY, "labels_add": ["a b"]})
    assert refused.status_code == 422
    assert "labels_add" in refused.text
    bridge.close()


def test_b22_an_agent_handed_such_a_label_sends_nothing(world: AgentWorld) -> None:
    report = world.report_of("ensure_fields", key=KEY, labels_add=["a b"])
    assert (report["status"], report["jira_calls"]) == ("failed", 0)


def test_b27_a_text_over_the_limit_is_refused_at_the_hub(tmp_path: Path) -> None:
    bridge = Bridge(tmp_path)
    too_long = "ж" * 32_768
    assert bridge.post_batch({"type": "ensure_fields", "key": KEY, "description": too_long}).status_code == 422
    assert bridge.post_batch({"type": "ensure_comment", **COMMENT, "body": too_long}).status_code == 422
    assert bridge.batches() == []
    bridge.close()


@pytest.mark.parametrize(
    ("command_type", "params"),
    [("ensure_fields", {"key": KEY, "description": "ж" * 200}), ("ensure_comment", {**COMMENT, "body": "ж" * 200})],
)
def test_b27_a_lower_limit_of_an_administrators_fails_with_jiras_text_and_no_second_try(
    world: AgentWorld, command_type: str, params: dict[str, Any]
) -> None:
    world.switch(text_limit=100)
    report = world.report_of(command_type, **params)
    assert report["status"] == "failed"
    assert "The entered text is too long" in report["error"]
    assert len([one for one in world.requests() if one["method"] in ("PUT", "POST")]) == 1


def test_b28_line_ends_and_trailing_blanks_are_no_difference(world: AgentWorld) -> None:
    world.person("edit", key=KEY, fields={"description": "a\r\nb "})
    report = world.report_of("ensure_fields", key=KEY, description="a\nb")
    assert (report["status"], report["jira_calls"]) == ("done", 1)
    assert world.written() == []


def test_b28_a_real_change_is_one_edit_also_where_jira_stores_other_line_ends(world: AgentWorld) -> None:
    world.switch(crlf=True, strip_trailing=True)
    reports = [world.report_of("ensure_fields", key=KEY, description="a\nb") for _ in range(3)]
    assert [report["jira_calls"] for report in reports] == [2, 1, 1]
    assert len(world.written()) == 1


def test_b28_a_rewritten_text_whose_answer_got_lost_is_decided_by_the_state_and_ends(world: AgentWorld) -> None:
    """Nobody can tell it from a person's edit, so the wish is written once more: the same bytes, one time, no loop."""
    world.switch(text_replacements={"срок": "дата"})
    number = world.queue.add("ensure_fields", key=KEY, description="новый срок")
    dies_after(world, "PUT", KEY)
    killed(world)
    again(world)
    world.run()
    assert world.queue.reports[number]["status"] == "done"
    written = [one["body"] for one in world.written()]
    assert len(written) == 2 and len(set(written)) == 1
    first, second = moments(world, "PUT", KEY)
    assert second - first >= 120


def test_b28_a_text_jira_rewrites_is_written_once_and_a_redelivery_writes_nothing(world: AgentWorld) -> None:
    """The agent dies between the edit's record and the report's; it is handed the command again."""
    world.switch(text_replacements={"срок": "дата"})
    number = world.queue.add("ensure_fields", key=KEY, description="новый срок")
    written = world.journal.append

    def dies_before_the_end(record: Any) -> None:
        if record.kind == "finished":
            from tests.contracts.agent_world import Killed

            raise Killed
        written(record)

    world.journal.append = dies_before_the_end  # type: ignore[method-assign]
    killed(world)
    again(world)
    world.run()
    report = world.queue.reports[number]
    assert (report["status"], report["result"]["normalised_by_jira"]) == ("done", True)
    assert len(world.written()) == 1


@pytest.mark.parametrize("kind", ["comment", "description"])
def test_b28_the_hub_and_the_agent_call_the_same_texts_equal(world: AgentWorld, kind: str) -> None:
    world.switch(crlf=True)
    params = (
        COMMENT | {"body": "a  \r\nb\r\n\r\n"} if kind == "comment" else {"key": KEY, "description": "a  \r\nb\n\n"}
    )
    command_type = "ensure_comment" if kind == "comment" else "ensure_fields"
    reports = [world.report_of(command_type, **params) for _ in range(2)]
    assert [len(report["result"]["operations"]) for report in reports] == [1, 0]


def test_b30_times_with_an_offset_without_a_colon_are_read_as_they_stand(world: AgentWorld) -> None:
    """Nothing parses them: the mirror keeps Jira's own string, so no version of Python matters."""
    [state] = world.report_of("refresh", keys=["AURORA-1531"])["result"]["issues"][:1]
    assert state["created"].endswith("+0300")
    assert datetime.strptime(state["created"], "%Y-%m-%dT%H:%M:%S.%f%z").utcoffset() is not None


def test_b30_a_datetime_field_is_written_with_three_decimals_and_no_colon(tmp_path: Path) -> None:
    fields = {**WANTED.field_ids, "planned_start": "customfield_10585"}
    world = built(tmp_path, field_ids=fields, planned_kind="datetime")
    reports = [world.report_of("ensure_fields", key=KEY, planned_start="2026-10-23") for _ in range(2)]
    assert [(one["status"], one["jira_calls"]) for one in reports] == [("done", 2), ("done", 1)]
    assert json.loads(bodies(world, "PUT", KEY)[0]) == {"fields": {"customfield_10585": "2026-10-23T12:00:00.000+0000"}}


def test_b39_a_display_name_is_refused_by_jira_and_the_command_fails(world: AgentWorld) -> None:
    report = world.report_of("ensure_fields", key=KEY, assignee="Иванов Иван")
    assert report["status"] == "failed"
    assert "HTTP 400" in report["error"] and "User 'Иванов Иван' does not exist" in report["error"]
    assert len(moments(world, "PUT", KEY)) == 1


def test_b39_a_login_is_taken(world: AgentWorld) -> None:
    assert world.report_of("ensure_fields", key=KEY, assignee="sidorov")["status"] == "done"
    assert json.loads(bodies(world, "PUT", KEY)[0]) == {"fields": {"assignee": {"name": "sidorov"}}}
    assert world.issue(KEY).assignee == "sidorov"
