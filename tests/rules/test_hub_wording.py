"""What is wrong with a command, in words a person can act upon: one fault a mistake, at its very place."""

from typing import Any

import pytest

from hub.batching import Rejected, checked_batch

KEY = "AURORA-1"


MISTAKES: list[tuple[dict[str, Any], tuple[str, str, str]]] = [
    (
        {"type": "ensure_fields", "key": "aurora-1", "duedate": "2026-10-23"},
        ("key", "'aurora-1' is no issue key", "did you mean AURORA-1?"),
    ),
    (
        {"type": "ensure_fields", "key": "AURORA", "duedate": "2026-10-23"},
        ("key", "'AURORA' is no issue key", "write it as AURORA-1533, or as new:1 for an issue this batch creates"),
    ),
    (
        {"type": "refresh", "keys": ["aurora"]},
        ("keys[0]", "'aurora' is no issue key", "write it as AURORA-1533, or as new:1 for an issue this batch creates"),
    ),
    (
        {"type": "ensure_fields", "key": KEY, "duedate": "23.10.2026"},
        ("duedate", "'23.10.2026' is no date", "write year, month, day: 2026-10-23"),
    ),
    (
        {"type": "ensure_fields", "key": KEY, "duedate": "tomorrow"},
        ("duedate", "'tomorrow' is no date", "write year, month, day: 2026-10-23"),
    ),
    (
        {"type": "ensure_comment", "key": KEY, "marker": "a b", "body": "x"},
        ("marker", "'a b' is no marker", "3 to 64 Latin letters, digits and : # . _ -, no blanks"),
    ),
    (
        {"type": "ensure_issue", "temp_key": "1", "summary": "x"},
        ("temp_key", "'1' is no temporary key", "write new: and a number, such as new:1"),
    ),
    (
        {"type": "ensure_issue", "temp_key": "new:1", "summary": "x", "issue_type": "epik"},
        ("issue_type", "'epik' is none of task, epic", "did you mean epic?"),
    ),
    ({"type": "ensure_status", "key": KEY, "target": []}, ("target", "is empty", "")),
    ({"type": "ensure_status", "key": KEY, "target": ["a", ""]}, ("target[1]", "is empty", "")),
    ({"type": "ensure_status", "key": KEY, "target": ["a", 1]}, ("target[1]", "must be a text", "")),
    ({"type": "ensure_status", "key": KEY, "target": 5}, ("target", "is of no form this may have", "")),
    ({"type": "ensure_sprint", "key": KEY, "sprint": {"id": "x"}}, ("sprint.id", "must be a whole number", "")),
    ({"type": "ensure_sprint", "key": KEY, "sprint": {}}, ("sprint.id", "is missing", "")),
    ({"type": "ensure_sprint", "key": KEY, "sprint": ""}, ("sprint", "is empty", "")),
    ({"type": "ensure_sprint", "key": KEY, "sprint": "x" * 300}, ("sprint", "is longer than 255", "")),
    (
        {"type": "ensure_fields", "key": KEY, "labels_add": ["a", "b c"]},
        ("labels_add[1]", "'b c' is empty or has a blank in it; a label is one word", ""),
    ),
    ({"type": "ensure_fields", "key": KEY, "labels_add": "a"}, ("labels_add", "must be a list", "")),
    ({"type": "refresh", "keys": []}, ("keys", "is empty", "")),
    (
        {"type": "refresh", "keys": [KEY, "x-1"]},
        (
            "keys[1]",
            "'x-1' is no issue key",
            "write it as AURORA-1533, or as new:1 for an issue this batch creates",
        ),
    ),
    (
        {"type": "ensure_link", "source": KEY, "target": "AURORA-2", "link_type": "x", "replace": "yes"},
        ("replace", "must be true or false", ""),
    ),
]


def told(**command: Any) -> list[tuple[str, str, str]]:
    """Field (within the command), detail and hint of each fault."""
    answer = checked_batch([command])
    assert isinstance(answer, Rejected)
    return [
        (
            (wrong.field or "").removeprefix("commands[0]").lstrip("."),
            wrong.detail.en,
            wrong.hint.en if wrong.hint else "",
        )
        for wrong in answer.faults
    ]


@pytest.mark.parametrize(("command", "fault"), MISTAKES)
def test_a_mistake_is_told_once_at_its_place_with_the_way_out(
    command: dict[str, Any], fault: tuple[str, str, str]
) -> None:
    assert told(**command) == [fault]


def test_two_mistakes_in_one_list_are_two_faults() -> None:
    faults = told(type="ensure_status", key=KEY, target=["", "a", 7])
    assert [field for field, _, _ in faults] == ["target[0]", "target[2]"]


def test_no_text_of_a_validator_reaches_a_person_in_english_only() -> None:
    answer = checked_batch(
        [
            {"type": "ensure_fields", "key": "x", "duedate": "y"},
            {"type": "ensure_status", "key": KEY, "target": 5},
            {"type": "ensure_comment", "key": KEY, "marker": "?", "body": 7},
        ]
    )
    assert isinstance(answer, Rejected)
    assert [wrong.detail.en for wrong in answer.faults if wrong.detail.en == wrong.detail.ru] == []
