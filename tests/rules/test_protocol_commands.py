"""The forms of the seven commands: what is accepted, what is refused, and what absence and null mean."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from protocol.commands import (
    COMMAND_TYPES,
    DEFAULT_GAPS,
    MODELS,
    EnsureComment,
    EnsureLink,
    EnsureStatus,
    command_from,
    comment_text,
    keys_touched,
    keys_used,
    starts_with_marker,
    temporary_keys_used,
    with_real_keys,
)

GOOD: list[tuple[str, dict[str, Any]]] = [
    ("ensure_issue", {"temp_key": "new:1", "summary": "Отчёт"}),
    ("ensure_issue", {"temp_key": "new:1", "issue_type": "epic", "summary": "Эпик", "labels": ["a", "A"]}),
    ("ensure_issue", {"temp_key": "new:2", "summary": "x", "epic_key": "new:1", "duedate": None}),
    ("ensure_fields", {"key": "AURORA-1533", "duedate": "2026-10-23"}),
    ("ensure_fields", {"key": "AURORA-1533", "description": None, "labels_add": ["x"], "labels_remove": ["X"]}),
    ("ensure_comment", {"key": "AURORA-1", "marker": "plan:1", "body": "текст"}),
    ("ensure_status", {"key": "AURORA-1", "target": "Готово"}),
    ("ensure_status", {"key": "AURORA-1", "target": ["Разработка", "Готово"]}),
    ("ensure_link", {"source": "new:60", "target": "AURORA-1537", "link_type": "связанные", "replace": True}),
    ("ensure_sprint", {"key": "AURORA-1", "sprint": "backlog"}),
    ("ensure_sprint", {"key": "AURORA-1", "sprint": {"id": 9}}),
    ("refresh", {"keys": ["AURORA-1", "new:1"]}),
    ("refresh", {"jql": "project = AURORA"}),
]

BAD: list[tuple[str, dict[str, Any], str]] = [
    ("ensure_issue", {"temp_key": "AURORA-1", "summary": "x"}, "temp_key"),
    ("ensure_issue", {"temp_key": "new:1", "summary": "  "}, "is empty"),
    ("ensure_issue", {"temp_key": "new:1", "summary": "a\nb"}, "line break"),
    ("ensure_issue", {"temp_key": "new:1", "summary": "я" * 256}, "256 long"),
    ("ensure_issue", {"temp_key": "new:1", "summary": "📌" * 128}, "256 long"),
    ("ensure_issue", {"temp_key": "new:1", "summary": "x\ud800"}, "surrogate"),
    ("ensure_issue", {"temp_key": "new:1", "summary": "x", "labels": ["a b"]}, "one word"),
    ("ensure_issue", {"temp_key": "new:1", "summary": "x", "issue_type": "epic", "epic_key": "A1-1"}, "epic_key"),
    ("ensure_issue", {"temp_key": "new:1", "summary": "x", "epic_key": "new:1"}, "own epic"),
    ("ensure_issue", {"temp_key": "new:1", "summary": "x", "colour": "red"}, "colour"),
    ("ensure_fields", {"key": "AURORA-1"}, "no field"),
    ("ensure_fields", {"key": "aurora-1", "duedate": None}, "key"),
    ("ensure_fields", {"key": "AURORA-1\n", "duedate": None}, "key"),
    ("ensure_fields", {"key": "AURORA-١", "duedate": None}, "key"),
    ("ensure_fields", {"key": "AURORA-1", "summary": None}, "cannot be cleared"),
    ("ensure_fields", {"key": "AURORA-1", "priority": None}, "cannot be cleared"),
    ("ensure_fields", {"key": "AURORA-1", "duedate": "2026-02-30"}, "calendar"),
    ("ensure_fields", {"key": "AURORA-1", "duedate": "20261023"}, "duedate"),
    ("ensure_fields", {"key": "AURORA-1", "description": "x" * 32_768}, "32768 long"),
    ("ensure_fields", {"key": "AURORA-1", "labels_add": ["a"], "labels_remove": ["a"]}, "both name a"),
    ("ensure_comment", {"key": "AURORA-1", "marker": "ab", "body": "x"}, "marker"),
    ("ensure_comment", {"key": "AURORA-1", "marker": "a{b}", "body": "x"}, "marker"),
    ("ensure_comment", {"key": "AURORA-1", "marker": "abc", "body": "  \r\n "}, "body is empty"),
    ("ensure_comment", {"key": "AURORA-1", "marker": "abc", "body": "x" * 32_765}, "together"),
    ("ensure_status", {"key": "AURORA-1", "target": []}, "target"),
    ("ensure_link", {"source": "AURORA-1", "target": "AURORA-1", "link_type": "x"}, "itself"),
    ("ensure_link", {"source": "AURORA-1", "target": "AURORA-2", "link_type": "x", "replace": "yes"}, "replace"),
    ("ensure_sprint", {"key": "AURORA-1", "sprint": ""}, "sprint"),
    ("ensure_sprint", {"key": "AURORA-1", "sprint": {"id": "9"}}, "id"),
    ("refresh", {}, "either"),
    ("refresh", {"keys": []}, "keys"),
    ("refresh", {"keys": ["AURORA-1"], "jql": "x"}, "either"),
    ("ensure_nothing", {}, "ensure_nothing"),
]


@pytest.mark.parametrize(("command_type", "params"), GOOD)
def test_a_good_command_keeps_exactly_the_parameters_that_were_given(command_type: str, params: dict[str, Any]) -> None:
    command = command_from(command_type, params)
    assert command.params() == params
    assert command_from(command_type, command.params()) == command


@pytest.mark.parametrize(("command_type", "params", "why"), BAD)
def test_a_bad_command_is_refused_and_says_why(command_type: str, params: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        command_from(command_type, params)


def test_every_type_has_its_model_its_gap_and_a_good_example() -> None:
    assert set(MODELS) == set(DEFAULT_GAPS) == set(COMMAND_TYPES) == {command_type for command_type, _ in GOOD}


def test_texts_are_normalised_on_the_way_in() -> None:
    command = command_from("ensure_fields", {"key": "AURORA-1", "summary": " Отчёт ", "description": "a \r\nb\r\n\r\n"})
    assert command.params() == {"key": "AURORA-1", "summary": "Отчёт", "description": "a\nb"}


def test_a_status_path_and_a_single_status_read_alike() -> None:
    assert EnsureStatus(key="AB-1", target="Готово").path == ("Готово",)
    assert EnsureStatus(key="AB-1", target=("Разработка", "Готово")).path == ("Разработка", "Готово")


def test_temporary_keys_are_replaced_wherever_a_key_may_stand() -> None:
    real = {"new:1": "AURORA-7"}
    for command_type, params, name in [
        ("ensure_issue", {"temp_key": "new:2", "summary": "x", "epic_key": "new:1"}, "epic_key"),
        ("ensure_fields", {"key": "new:1", "duedate": None}, "key"),
        ("ensure_comment", {"key": "new:1", "marker": "abc", "body": "x"}, "key"),
        ("ensure_status", {"key": "new:1", "target": ["a", "b"]}, "key"),
        ("ensure_link", {"source": "new:1", "target": "AURORA-1", "link_type": "x"}, "source"),
        ("ensure_link", {"source": "AURORA-1", "target": "new:1", "link_type": "x"}, "target"),
        ("ensure_sprint", {"key": "new:1", "sprint": "backlog"}, "key"),
    ]:
        command = command_from(command_type, params)
        assert temporary_keys_used(command) == ("new:1",)
        replaced = with_real_keys(command, real)
        assert replaced.params() == {**params, name: "AURORA-7"}
        assert temporary_keys_used(replaced) == ()
    refresh = command_from("refresh", {"keys": ["AURORA-7", "new:1", "new:2"]})
    assert with_real_keys(refresh, real).params() == {"keys": ["AURORA-7", "new:2"]}


def test_a_link_that_becomes_a_link_to_itself_is_refused() -> None:
    link = EnsureLink(source="new:1", target="AURORA-7", link_type="x")
    with pytest.raises(ValidationError, match="itself"):
        with_real_keys(link, {"new:1": "AURORA-7"})


def test_a_status_path_is_no_key() -> None:
    status = command_from("ensure_status", {"key": "AURORA-1", "target": "Готово"})
    assert keys_used(status) == keys_touched(status) == ("AURORA-1",)


def test_an_issue_touches_the_key_it_defines() -> None:
    issue = command_from("ensure_issue", {"temp_key": "new:1", "summary": "x", "epic_key": "AURORA-1"})
    assert keys_used(issue) == ("AURORA-1",)
    assert keys_touched(issue) == ("new:1", "AURORA-1")


@given(st.from_regex(r"[A-Za-z0-9:#._-]{3,64}", fullmatch=True), st.text(min_size=1, max_size=50))
def test_a_comment_starts_with_its_marker_and_is_not_marked_twice(marker: str, body: str) -> None:
    text = comment_text(marker, body)
    assert starts_with_marker(text, marker)
    assert comment_text(marker, text) == text
    assert text.endswith(body)


def test_a_marker_is_not_taken_for_a_longer_one() -> None:
    assert starts_with_marker("plan:1 text", "plan:1")
    assert not starts_with_marker("plan:12 text", "plan:1")
    assert not starts_with_marker("plan:1.2 text", "plan:1")
    comment = EnsureComment(key="AB-1", marker="plan:1", body="plan:12 is done")
    assert comment_text(comment.marker, comment.body) == "plan:1\nplan:12 is done"
