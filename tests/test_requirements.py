"""Every requirement of the seeds has its tests, by tests/requirements.toml; and every test named there exists."""

import ast
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
TABLE: Final[dict[str, Any]] = tomllib.loads((ROOT / "tests" / "requirements.toml").read_text(encoding="utf-8"))


@cache
def declared_in(path: str) -> frozenset[str]:
    """The names of the test functions of a file; none where there is no such file."""
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    functions = (
        node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)
    )
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


def titles() -> Counter[tuple[str, str]]:
    return Counter((document, title) for document, listed in TABLE["titles"].items() for title in listed)


def test_the_list_holds_what_the_documents_hold() -> None:
    kinds = Counter((document, title.partition(":")[0]) for document, title in titles())
    assert kinds == {
        ("1-commands-delta", "requirement"): 2,
        ("1-commands-delta", "scenario"): 6,
        ("2-commands-spec", "requirement"): 5,
        ("2-commands-spec", "scenario"): 13,
        ("3-design", "decision"): 13,
        ("3-design", "risk"): 6,
        ("3-design", "migration"): 3,
    }


def test_every_title_is_mapped_once_and_to_at_least_one_test() -> None:
    mapped = Counter((row["document"], row["title"]) for row in TABLE["mapped"])
    assert mapped == titles()
    assert [row["title"] for row in TABLE["mapped"] if not row["tests"]] == []


def test_every_test_that_is_named_exists() -> None:
    named = {test for row in TABLE["mapped"] for test in row["tests"]}
    absent = [test for test in named if test.partition("::")[2] not in declared_in(test.partition("::")[0])]
    assert absent == []


def test_each_of_the_thirteen_stories_of_the_documents_is_played_under_its_own_name() -> None:
    played = declared_in("tests/simulation/test_seed_scenarios.py")
    named = {
        test.partition("::")[2]
        for row in TABLE["mapped"]
        for test in row["tests"]
        if test.startswith("tests/simulation/test_seed")
    }
    assert len(played) == 13
    assert named == played
