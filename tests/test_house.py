"""The rules of the house that no linter knows: sizes as a ratchet, documents that agree with code, no traces."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAX_FUNCTION_LINES = 50
MAX_FILE_LINES = 400
# A shrinking list: a name may leave it, none may join.
LONG_FUNCTIONS: frozenset[str] = frozenset()
LONG_FILES: frozenset[str] = frozenset()


def tracked(*suffixes: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    paths = (ROOT / name for name in listed.stdout.split("\0") if name.endswith(suffixes))
    return [path for path in paths if path.is_file()]


PYTHON = [path for path in tracked(".py") if "vendored" not in path.parts]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_there_is_something_to_check() -> None:
    assert len(PYTHON) > 20


def test_no_file_outgrows_the_reader() -> None:
    long = {name_of(path) for path in PYTHON if len(path.read_text(encoding="utf-8").splitlines()) > MAX_FILE_LINES}
    assert long == LONG_FILES


def test_no_function_outgrows_a_screen() -> None:
    long = set()
    for path in PYTHON:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                if (node.end_lineno or first) - first + 1 > MAX_FUNCTION_LINES:
                    long.add(f"{name_of(path)}:{node.name}")
    assert long == LONG_FUNCTIONS


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        name_of(path)
        for path in PYTHON
        if path.stat().st_size and not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_no_module_is_named_after_nothing() -> None:
    empty_words = {"utils", "util", "helpers", "helper", "manager", "types", "common", "misc"}
    assert [name_of(path) for path in PYTHON if path.stem in empty_words or path.parent.name in empty_words] == []


def test_no_trace_of_a_machine_or_a_registry() -> None:
    # Put together here, so that this file does not hold what it looks for.
    forbidden = re.compile(
        "|".join(
            [
                "/wo" + "rk/",
                "/ro" + "ot/",
                "pythonhos" + "ted",
                "pypi" + r"\.org",
                "registry" + r"\.npmjs",
                "dl\\.fbaip",
            ]
        )
    )
    texts = tracked(
        ".py", ".md", ".toml", ".lock", ".sql", ".yaml", ".html", ".css", "Makefile", "run", ".txt", ".json"
    )
    found = [
        f"{name_of(path)}:{number}: {line.strip()[:80]}"
        for path in texts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if forbidden.search(line)
    ]
    assert found == []


def test_no_work_is_left_marked() -> None:
    marks = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]) + r")\b")
    product = [path for path in PYTHON if not name_of(path).startswith("tests/")]
    assert [name_of(path) for path in product if marks.search(path.read_text(encoding="utf-8"))] == []


HEAVY = {"fastapi", "uvicorn", "starlette", "httpx2", "watchdog", "sqlite3", "pydantic", "rich"}


@pytest.mark.parametrize(("package", "unwelcome"), [("hub", HEAVY), ("relay", {"fastapi"}), ("agent", {"fastapi"})])
def test_a_command_line_answers_help_without_what_it_does_not_need(package: str, unwelcome: set[str]) -> None:
    """A person who only asks for help does not wait for a web framework; the agent's machine need not have one."""
    program = (
        f"import sys; sys.argv = ['{package}', '--help']\n"
        f"from {package}.cli import main\n"
        "try: main()\n"
        "except SystemExit as stop: code = stop.code\n"
        f"loaded = {unwelcome} & set(sys.modules)\n"
        "sys.exit(f'imported {loaded}' if loaded else code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout


def test_the_readme_names_every_dependency_with_its_reason() -> None:
    listed = re.findall(
        r'^    "([A-Za-z0-9-]+)[=<>\[]', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE
    )
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in listed if f"| {name} |" not in readme] == []


def test_the_readme_holds_the_lifecycle_as_the_table_in_code_draws_it() -> None:
    from hub.lifecycle import diagram

    assert diagram() in (ROOT / "README.md").read_text(encoding="utf-8")
