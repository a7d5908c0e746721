"""What may be imported, and which of its links the mirror lacks."""

from typing import Any

import pytest

from hub.importing import Import, ImportedLink, checked_import, columns_of, links_standing

A, B = "AURORA-1", "AURORA-2"


def faults(**lists: Any) -> list[tuple[str | None, str]]:
    answer = checked_import(lists.get("issues", ()), lists.get("links", ()), lists.get("notes", ()))
    assert not isinstance(answer, Import)
    return [(wrong.field, wrong.hint.en if wrong.hint else "") for wrong in answer]


def test_good_rows_are_taken_as_they_are() -> None:
    answer = checked_import(
        [{"key": A, "summary": " Отчёт ", "labels": ["a", "a"]}],
        [{"source": A, "target": B, "type": "связанные"}],
        [{"key": "new:5", "text": "x"}],
    )
    assert isinstance(answer, Import)
    assert (answer.issues[0].summary, answer.issues[0].labels) == ("Отчёт", ("a",))


def test_everything_wrong_is_told_at_once_with_the_nearest_column() -> None:
    told = faults(
        issues=[{"key": "aurora", "summary": "x"}, {"key": A, "sumary": "x"}, {"key": A, "summary": "y"}, 7],
        links=[{"source": A, "target": A, "type": "t"}, {"source": A, "type": "t"}],
        notes=[{"key": A, "text": ""}, {"key": A, "text": "x", "author": "anna"}],
    )
    fields = [field for field, _ in told]
    assert fields == [
        "issues[0].key",
        "issues[1].summary",
        "issues[1].sumary",
        "issues[3]",
        "links[0]",
        "links[1].target",
        "notes[0].text",
        "notes[1].author",
        "issues[2].key",
        "notes[1].key",
    ]
    assert dict(told)["issues[1].sumary"] == "did you mean summary?"
    assert dict(told)["notes[1].author"] == "valid: key, text"


def test_the_columns_a_row_must_have_come_first() -> None:
    assert columns_of("issues")[:2] == ("key", "summary")
    assert columns_of("links") == ("source", "target", "type")


@pytest.mark.parametrize(
    ("mirror", "verdict"),
    [
        (set(), "missing"),
        ({(A, B, "связанные")}, "present"),
        ({(B, A, "связанные")}, "reversed"),
        ({(A, B, "блокирует")}, "missing"),
        ({(B, A, "блокирует")}, "missing"),
        ({(A, B, "связанные"), (B, A, "связанные")}, "present"),
    ],
)
def test_a_link_the_other_way_round_is_reversed_and_not_missing(
    mirror: set[tuple[str, str, str]], verdict: str
) -> None:
    wanted = ImportedLink(source=A, target=B, type="связанные")
    standing = links_standing([wanted], mirror)
    assert {
        "present": standing.present == 1,
        "missing": standing.missing == (wanted,),
        "reversed": standing.reversed == (wanted,),
    } == {"present": verdict == "present", "missing": verdict == "missing", "reversed": verdict == "reversed"}
