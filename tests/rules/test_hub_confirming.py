"""Confirmation by state: what the mirror must show, type by type."""

from typing import Any

import pytest

from hub.confirming import confirmed_by_state
from protocol.commands import command_from
from protocol.issues import IssueLink, IssueState

KEY = "AURORA-1"


def confirmed(command_type: str, params: dict[str, Any], issue: IssueState | None) -> bool:
    key = params.get("source", params.get("key", KEY))
    return confirmed_by_state(command_from(command_type, params), {} if issue is None else {key: issue})


def test_an_issue_that_was_not_read_confirms_nothing() -> None:
    assert not confirmed("ensure_fields", {"key": KEY, "duedate": None}, None)


@pytest.mark.parametrize(
    ("wish", "state", "answer"),
    [
        ({"duedate": "2026-10-23"}, {"duedate": "2026-10-23"}, True),
        ({"duedate": "2026-10-23"}, {"duedate": "2026-10-24"}, False),
        ({"duedate": None}, {"duedate": None}, True),
        ({"duedate": None}, {"duedate": "2026-10-24"}, False),
        ({"summary": " Отчёт "}, {"summary": "Отчёт"}, True),
        ({"summary": "отчёт"}, {"summary": "Отчёт"}, False),
        ({"description": "a\nb"}, {"description": "a  \r\nb\r\n"}, True),
        ({"description": None}, {"description": None}, True),
        ({"description": None}, {"description": "x"}, False),
        ({"labels_add": ["a"], "labels_remove": ["b"]}, {"labels": ("a", "c")}, True),
        ({"labels_add": ["a"]}, {"labels": ()}, False),
        ({"labels_remove": ["b"]}, {"labels": ("b",)}, False),
        ({"duedate": "2026-10-23", "priority": "High"}, {"duedate": "2026-10-23", "priority": "Low"}, False),
        ({"epic_key": "AURORA-9"}, {"epic_key": "AURORA-9"}, True),
        ({"assignee": None}, {"assignee": "anna"}, False),
    ],
)
def test_fields_are_confirmed_when_all_that_were_given_match(
    wish: dict[str, Any], state: dict[str, Any], answer: bool
) -> None:
    assert confirmed("ensure_fields", {"key": KEY, **wish}, IssueState(key=KEY, **state)) is answer


def test_a_status_is_confirmed_by_the_last_of_the_path_alone() -> None:
    wish = {"key": KEY, "target": ["Разработка", "Готово"]}
    assert confirmed("ensure_status", wish, IssueState(key=KEY, status="Готово"))
    assert not confirmed("ensure_status", wish, IssueState(key=KEY, status="Разработка"))


@pytest.mark.parametrize(
    ("sprint", "state", "answer"),
    [
        ("Спринт 2", {"sprint": " Спринт 2 ", "sprint_id": 2}, True),
        ("Спринт 2", {"sprint": "Спринт 1"}, False),
        ("Спринт 2", {}, False),
        ("backlog", {}, True),
        ("backlog", {"sprint": "Спринт 1", "sprint_id": 1}, False),
        ({"id": 9}, {"sprint": "any", "sprint_id": 9}, True),
        ({"id": 9}, {"sprint": "9"}, False),
    ],
)
def test_a_sprint_is_confirmed_by_name_by_id_or_as_the_backlog(
    sprint: Any, state: dict[str, Any], answer: bool
) -> None:
    assert confirmed("ensure_sprint", {"key": KEY, "sprint": sprint}, IssueState(key=KEY, **state)) is answer


def issue_link(source: str, target: str, link_type: str, **more: Any) -> IssueLink:
    return IssueLink(source=source, target=target, link_type=link_type, **more)


@pytest.mark.parametrize(
    ("links", "answer"),
    [
        ((issue_link(KEY, "AURORA-2", "связанные"),), True),
        ((), False),
        ((issue_link("AURORA-2", KEY, "связанные"),), False),
        ((issue_link("AURORA-2", KEY, "связанные", symmetric=True),), True),
        ((issue_link(KEY, "AURORA-2", "связанные"), issue_link(KEY, "AURORA-2", "блокирует")), False),
        ((issue_link(KEY, "AURORA-2", "связанные"), issue_link("AURORA-2", KEY, "связанные")), False),
        ((issue_link(KEY, "AURORA-2", "связанные"), issue_link(KEY, "AURORA-2", "Cloners", managed=False)), True),
        ((issue_link(KEY, "AURORA-2", "связанные"), issue_link(KEY, "AURORA-3", "блокирует")), True),
        ((issue_link(KEY, "AURORA-2", "связанные"), issue_link(KEY, "AURORA-2", "связанные", jira_id="5")), True),
    ],
)
def test_a_link_is_confirmed_when_it_is_there_and_nothing_managed_contradicts(
    links: tuple[IssueLink, ...], answer: bool
) -> None:
    wish = {"source": KEY, "target": "AURORA-2", "link_type": "связанные"}
    assert confirmed("ensure_link", wish, IssueState(key=KEY, links=links)) is answer


@pytest.mark.parametrize(
    ("command_type", "params"),
    [
        ("ensure_issue", {"temp_key": "new:1", "summary": "Отчёт"}),
        ("ensure_comment", {"key": KEY, "marker": "plan:1", "body": "x"}),
        ("refresh", {"keys": [KEY]}),
    ],
)
def test_creations_comments_and_readings_are_never_confirmed(command_type: str, params: dict[str, Any]) -> None:
    assert not confirmed(command_type, params, IssueState(key=KEY, summary="Отчёт"))
