"""Gaps of the seeds, by number, answered as the specification says: fields, texts, labels, people, dates."""

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contracts.agent_world import AgentWorld
from tests.contracts.reports_world import bodies, built
from tests.simulation.bridge import Bridge

KEY = "AURORA-1534"
FULL: dict[str, Any] = {
    "duedate": "2026-11-01",
    "assignee": {"name": "petrova"},
    "description": "текст",
    "customfield_10580": "AURORA-1530",
    "customfield_10583": "2026-11-02",
    "customfield_10584": "2026-11-03",
}


@pytest.fixture
def world(tmp_path: Path) -> AgentWorld:
    return built(tmp_path)


@pytest.fixture
def bridge(tmp_path: Path) -> Iterator[Bridge]:
    made = Bridge(tmp_path)
    yield made
    made.close()


def puts(world: AgentWorld) -> list[Any]:
    return [json.loads(body) for body in bodies(world, "PUT", KEY)]


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("duedate", "duedate"),
        ("assignee", "assignee"),
        ("description", "description"),
        ("epic_key", "customfield_10580"),
        ("planned_start", "customfield_10583"),
        ("planned_end", "customfield_10584"),
    ],
)
def test_g09_null_clears_one_field_and_what_is_absent_is_not_touched(world: AgentWorld, name: str, field: str) -> None:
    world.person("edit", key=KEY, fields=FULL)
    reports = [world.report_of("ensure_fields", key=KEY, **{name: None}) for _ in range(2)]
    assert [(one["status"], one["jira_calls"]) for one in reports] == [("done", 2), ("done", 1)]
    assert puts(world) == [{"fields": {field: None}}]


@pytest.mark.parametrize("name", ["summary", "priority"])
def test_g09_what_cannot_be_cleared_is_refused_at_the_hub(bridge: Bridge, name: str) -> None:
    refused = bridge.post_batch({"type": "ensure_fields", "key": KEY, name: None})
    assert refused.status_code == 422
    assert f"commands[0].{name}" in refused.text


@pytest.mark.parametrize("empty", ["", None])
def test_g10_an_empty_description_and_none_are_the_same(world: AgentWorld, empty: str | None) -> None:
    world.person("edit", key=KEY, fields={"description": None})
    assert world.report_of("ensure_fields", key=KEY, description=empty)["jira_calls"] == 1
    world.person("edit", key=KEY, fields={"description": "текст"})
    assert world.report_of("ensure_fields", key=KEY, description=empty)["status"] == "done"
    assert world.issue(KEY).description is None


def test_g11_a_label_both_added_and_removed_is_refused_at_the_hub(bridge: Bridge) -> None:
    refused = bridge.post_batch({"type": "ensure_fields", "key": KEY, "labels_add": ["a", "b"], "labels_remove": ["b"]})
    assert refused.status_code == 422
    assert "labels_add and labels_remove both name b" in refused.text


def test_g12_labels_that_are_as_wished_are_no_edit(world: AgentWorld) -> None:
    world.person("edit", key=KEY, fields={"labels": ["a", "b"]})
    report = world.report_of("ensure_fields", key=KEY, labels_add=["a"], labels_remove=["c"])
    assert (report["status"], report["jira_calls"], puts(world)) == ("done", 1, [])
    world.report_of("ensure_fields", key=KEY, labels_add=["a", "d"], labels_remove=["c", "b"], duedate=None)
    assert puts(world)[0]["update"] == {"labels": [{"add": "d"}, {"remove": "b"}]}


def test_g13_labels_are_told_apart_by_case(world: AgentWorld) -> None:
    world.person("edit", key=KEY, fields={"labels": ["Q4"]})
    world.report_of("ensure_fields", key=KEY, labels_add=["q4"])
    assert sorted(world.issue(KEY).labels) == ["Q4", "q4"]


@pytest.mark.parametrize("label", ["", "a b", "a\tb", "ю" * 256])
def test_g13_what_is_no_label_is_refused_at_the_hub(bridge: Bridge, label: str) -> None:
    assert bridge.post_batch({"type": "ensure_fields", "key": KEY, "labels_add": [label]}).status_code == 422


@pytest.mark.parametrize("stored", ["a\nb", "a\r\nb", "a \r\nb  \n\n", "a\rb"])
def test_g14_texts_are_compared_without_line_ends_and_trailing_blanks_and_sent_with_lf(
    world: AgentWorld, stored: str
) -> None:
    world.person("edit", key=KEY, fields={"description": stored})
    assert world.report_of("ensure_fields", key=KEY, description="a  \r\nb\r\n")["jira_calls"] == 1
    world.report_of("ensure_fields", key=KEY, description="c \r\nd\r\n")
    assert puts(world) == [{"fields": {"description": "c\nd"}}]


def test_g15_a_summary_is_composed_on_its_way_in_and_compared_exactly(world: AgentWorld, tmp_path: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "Ёлка й")
    world.person("edit", key=KEY, fields={"summary": decomposed})
    assert world.report_of("ensure_fields", key=KEY, summary=f" {decomposed} ")["jira_calls"] == 1
    world.report_of("ensure_fields", key=KEY, summary="ёлка й")
    assert puts(world) == [{"fields": {"summary": "ёлка й"}}]
    (tmp_path / "hub").mkdir()
    bridge = Bridge(tmp_path / "hub")
    [first, *_] = bridge.batch({"type": "ensure_fields", "key": KEY, "summary": f" {decomposed} "})["commands"]
    assert first["params"]["summary"] == unicodedata.normalize("NFC", decomposed)
    bridge.close()


@pytest.mark.parametrize("locale", ["ru", "en"])
@pytest.mark.parametrize("wanted", ["Высокий", "2", "Важно"])
def test_g16_priorities_are_compared_and_sent_by_id(tmp_path: Path, wanted: str, locale: str) -> None:
    world = built(tmp_path, priorities={"Важно": "2"})
    world.person("edit", key=KEY, fields={"priority": {"id": "4"}})
    world.switch(locale=locale)
    reports = [world.report_of("ensure_fields", key=KEY, priority=wanted) for _ in range(2)]
    assert [one["jira_calls"] for one in reports] == [2, 1]
    assert puts(world) == [{"fields": {"priority": {"id": "2"}}}]


def test_g16_an_unknown_priority_fails_with_jiras_words(world: AgentWorld) -> None:
    report = world.report_of("ensure_fields", key=KEY, priority="Никакой")
    assert report["status"] == "failed"
    assert "Никакой" in report["error"]


def test_g17_an_assignee_is_a_login_null_clears_and_automatic_is_not_offered(world: AgentWorld, tmp_path: Path) -> None:
    world.report_of("ensure_fields", key=KEY, assignee="sidorov")
    world.report_of("ensure_fields", key=KEY, assignee=None)
    assert [body["fields"]["assignee"] for body in puts(world)] == [{"name": "sidorov"}, None]
    (tmp_path / "hub").mkdir()
    bridge = Bridge(tmp_path / "hub")
    assert bridge.post_batch({"type": "ensure_fields", "key": KEY, "assignee": "-1"}).status_code == 422
    bridge.close()


def test_g18_planned_dates_need_their_fields_configured(tmp_path: Path) -> None:
    world = built(tmp_path, field_ids={})
    report = world.report_of("ensure_fields", key=KEY, planned_start="2026-10-23")
    assert report["status"] == "failed"
    assert "planned_start" in report["error"]
    assert puts(world) == []


@pytest.mark.parametrize(
    ("kind", "field", "sent"),
    [
        ("date", "customfield_10583", "2026-10-23"),
        ("datetime", "customfield_10585", "2026-10-23T12:00:00.000+0000"),
    ],
)
def test_g18_planned_dates_are_written_and_compared_by_their_kind(
    tmp_path: Path, kind: Any, field: str, sent: str
) -> None:
    world = built(tmp_path, field_ids={"planned_start": field}, planned_kind=kind)
    reports = [world.report_of("ensure_fields", key=KEY, planned_start="2026-10-23") for _ in range(2)]
    assert [one["jira_calls"] for one in reports] == [2, 1]
    assert puts(world) == [{"fields": {field: sent}}]
