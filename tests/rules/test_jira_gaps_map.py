"""Every row of the two tables of the Jira specification has a test that exists; the map is `tests/jira_gaps.toml`."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Rows of the reports table: the numbers left out there are of clients' own faults, not of Jira's.
REPORTS = (1, 2, 3, 4, 6, 7, 8, 9, 10, 12, 13, 14, 15, 17, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 30, 31, 32, 33, 34,
           35, 37, 39, 41)  # fmt: skip
GAPS = range(1, 54)
MAP: dict[str, dict[str, list[str]]] = tomllib.loads((ROOT / "tests/jira_gaps.toml").read_text(encoding="utf-8"))


def names_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def test_the_map_has_every_row_and_no_other() -> None:
    assert list(MAP) == [f"B{number:02d}" for number in REPORTS] + [f"G{number:02d}" for number in GAPS]


@pytest.mark.parametrize("row", MAP)
def test_every_row_leads_to_tests_that_exist(row: str) -> None:
    assert MAP[row]["tests"]
    for test in MAP[row]["tests"]:
        file, _, name = test.partition("::")
        assert name in names_in(ROOT / file), test


def test_every_test_that_bears_a_number_stands_in_its_row() -> None:
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name in names_in(path):
            found = re.match(r"test_([bg]\d\d)_", name)
            if found:
                assert f"{path.relative_to(ROOT).as_posix()}::{name}" in MAP[found[1].upper()]["tests"]
