"""Validation of a batch: everything wrong at once, the nearest right name beside it, one trailing reading."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.batching import MAX_COMMANDS, Accepted, Rejected, checked_batch, trailing_refresh
from protocol.commands import MAX_KEYS, AnyCommand, EnsureFields, Refresh, keys_touched


def creation(temp_key: str, summary: str, **more: Any) -> dict[str, Any]:
    return {"type": "ensure_issue", "temp_key": temp_key, "summary": summary, **more}


def fields(key: str = "AURORA-1") -> dict[str, Any]:
    return {"type": "ensure_fields", "key": key, "duedate": "2026-10-23"}


def faults(*raw: object, link_types: tuple[str, ...] = ()) -> list[tuple[str | None, str, str]]:
    answer = checked_batch(raw, link_types)
    assert isinstance(answer, Rejected)
    return [(wrong.field, wrong.detail.en, wrong.hint.en if wrong.hint else "") for wrong in answer.faults]


def accepted(*raw: object, link_types: tuple[str, ...] = ()) -> tuple[AnyCommand, ...]:
    answer = checked_batch(raw, link_types)
    assert isinstance(answer, Accepted), answer
    return answer.commands


def test_an_empty_and_an_endless_batch_are_refused() -> None:
    assert faults() == [("commands", "the batch is empty", "")]
    assert faults(*[fields()] * (MAX_COMMANDS + 1))[0][0] == "commands"


def test_every_fault_of_a_batch_is_named_at_once_with_its_place() -> None:
    found = faults(
        {"type": "ensure_isue"},
        {"type": "ensure_fields", "key": "AURORA-1", "dudate": "2026-10-23"},
        creation("new:1", "Отчёт"),
        creation("new:2", " Отчёт "),
        {"type": "ensure_link", "source": "new:9", "target": "AURORA-1", "link_type": "x"},
        "nothing",
        {},
    )
    assert [field for field, _, _ in found] == [
        "commands[0].type",
        "commands[1].dudate",
        "commands[3].summary",
        "commands[4].source",
        "commands[5]",
        "commands[6].type",
    ]
    assert "ensure_issue" in found[0][2]
    assert "duedate" in found[1][2]
    assert "«Отчёт»" in found[2][1]


def test_a_wrong_command_still_tells_of_its_undefined_temporary_key() -> None:
    command = {"type": "ensure_link", "source": "new:9", "target": "AURORA-1", "link_type": "x", "repalce": True}
    assert [field for field, _, _ in faults(command)] == ["commands[0].repalce", "commands[0].source"]


def test_summaries_that_differ_in_case_pass() -> None:
    assert len(accepted(creation("new:1", "Отчёт"), creation("new:2", "отчёт"))) == 3


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ((fields("new:1"),), "commands[0].key"),
        ((fields("new:1"), creation("new:1", "x")), "commands[0].key"),
        ((creation("new:1", "x"), creation("new:1", "y")), "commands[1].temp_key"),
        ((creation("new:1", "x", epic_key="new:2"), creation("new:2", "y")), "commands[0].epic_key"),
        (({"type": "refresh", "keys": ["new:3"]},), "commands[0].keys"),
    ],
)
def test_a_temporary_key_is_defined_once_and_before_its_use(raw: tuple[object, ...], field: str) -> None:
    assert [found for found, _, _ in faults(*raw)] == [field]


def test_a_marker_stands_once_on_a_key() -> None:
    def comment(key: str, marker: str) -> dict[str, Any]:
        return {"type": "ensure_comment", "key": key, "marker": marker, "body": "x"}

    assert accepted(comment("AURORA-1", "plan:1"), comment("AURORA-2", "plan:1"), comment("AURORA-1", "plan:2"))
    assert [field for field, _, _ in faults(comment("A1-1", "plan:1"), comment("A1-1", "plan:1"))] == [
        "commands[1].marker"
    ]


def test_a_link_type_is_checked_where_the_hub_knows_them() -> None:
    command = {"type": "ensure_link", "source": "AURORA-1", "target": "AURORA-2", "link_type": "связаные"}
    assert accepted(command)
    assert faults(command, link_types=("связанные", "блокирует")) == [
        ("commands[0].link_type", "'связаные' is no link type", "did you mean связанные?")
    ]


def test_a_batch_of_readings_alone_gets_no_other_one() -> None:
    assert len(accepted({"type": "refresh", "keys": ["AURORA-1"]}, {"type": "refresh", "jql": "project = A"})) == 2


@given(st.lists(st.integers(1, 2_500), min_size=1, max_size=1_500))
def test_the_trailing_reading_names_every_key_once_and_never_too_many(numbers: list[int]) -> None:
    commands = [EnsureFields(key=f"AURORA-{number}", duedate=None) for number in numbers]
    readings = trailing_refresh(commands)
    keys = [key for refresh in readings for key in refresh.keys or ()]
    assert keys == list(dict.fromkeys(key for command in commands for key in keys_touched(command)))
    assert all(len(refresh.keys or ()) <= MAX_KEYS for refresh in readings)


def test_the_trailing_reading_includes_temporary_keys() -> None:
    last = accepted(creation("new:60", "x"), {**fields("new:60")})[-1]
    assert last == Refresh(keys=("new:60",))


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["type", "key", "temp_key", "summary", "source", "target", "keys", "marker", "link_type"])
VALUES = st.sampled_from(["ensure_issue", "ensure_link", "refresh", "ensure_comment", "new:1", "AURORA-1"]) | JUNK


@given(st.lists(st.dictionaries(NAMES, VALUES) | JUNK, max_size=6))
def test_no_batch_however_wild_escapes_an_answer(raw: list[object]) -> None:
    answer = checked_batch(raw)
    assert isinstance(answer, Accepted | Rejected)
    if isinstance(answer, Rejected):
        assert answer.faults
