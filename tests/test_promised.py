"""The table of what was promised says what ran, and makes a run of everything red that covered less than it should."""

import re
from pathlib import Path

import pytest

from tests.promised import PARTS, Promised

PASSED = "passed"


def report(*covered: tuple[str, float, float | None], outcome: str = PASSED, when: str = "call") -> pytest.TestReport:
    return pytest.TestReport(
        nodeid="one",
        location=("one", 1, "one"),
        keywords={},
        outcome=outcome,  # type: ignore[arg-type]  # one of pytest's three words
        longrepr=None,
        when=when,  # type: ignore[arg-type]  # one of pytest's three phases
        user_properties=[("covered", each) for each in covered],
    )


def line_of(table: Promised, part: str) -> str:
    return next(line for line in table.lines() if line.startswith(f"{part} "))


def test_what_several_tests_covered_is_added_up_and_counted_once() -> None:
    table = Promised(everything=False)
    for when in ("setup", "call", "teardown"):
        table.note({"T9"}, report(("T9", 6_000, None), when=when))
    assert table.state("T9") == "in part"
    table.note({"T9"}, report(("T9", 4_000, None)))
    assert table.state("T9") == "passed"
    assert "10,000    10,000" in line_of(table, "T9")


def test_a_part_that_asks_for_all_is_whole_only_where_nothing_was_left_out() -> None:
    table = Promised(everything=False)
    table.note({"T4"}, report(("T4", 30, 30)))
    assert table.state("T4") == "passed"
    table.note({"T4"}, report(("T4", 1, 900)))
    assert table.state("T4") == "in part"
    assert "all 930" in line_of(table, "T4")


@pytest.mark.parametrize("when", ["setup", "call", "teardown"])
def test_a_failure_in_any_phase_fails_its_part_and_covers_nothing(when: str) -> None:
    table = Promised(everything=False)
    table.note({"T7"}, report(("T7", 50, 50), outcome="failed", when=when))
    assert table.state("T7") == "FAILED"
    assert line_of(table, "T7").split()[-3] == "0"


def test_what_did_not_run_is_said_and_fails_a_run_of_everything_alone() -> None:
    assert Promised(everything=False).short() == []
    table = Promised(everything=True)
    assert {table.state(part) for part in PARTS} == {"not run"}
    assert table.short() == list(PARTS)
    for name, part in PARTS.items():
        table.note({name}, report((name, part.asked or 1, None)))
    assert table.short() == []


def test_a_skipped_test_covers_nothing() -> None:
    table = Promised(everything=False)
    table.note({"T8"}, report(("T8", 200_000, None), outcome="skipped"))
    assert table.state("T8") == "not run"


def test_every_part_has_tests_and_every_mark_names_a_part() -> None:
    texts = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.rglob("test_*.py"))
    marks = re.findall(r"mark\.part\(([^)]*)\)", texts)
    assert {name for mark in marks for name in re.findall(r'"([^"]+)"', mark)} == set(PARTS)
