"""`jira-hub` before any hub is asked: help, usage, home, files that cannot be sent, a hub that does not run."""

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

from hub.cli import app

pytestmark = pytest.mark.usefixtures("logs_as_before")
ROOT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).parent / "jira-hub"


def run(*arguments: str | Path, home: Path, **environment: str) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments], env={"JIRA_HUB_HOME": str(home), **environment})


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that is bound and never listened on: nobody else can take it meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def commands(group: Any, prefix: str = "jira-hub") -> Iterator[str]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}"


def test_every_command_is_named_on_the_page_of_the_command_line() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    named = list(commands(get_command(app)))
    assert len(named) > 15
    assert [name for name in named if f"| `{name}` |" not in page] == []


def test_every_command_has_an_example_of_itself_on_that_page() -> None:
    rows = [
        line for line in (ROOT / "docs" / "cli.md").read_text(encoding="utf-8").splitlines() if "| `jira-hub" in line
    ]
    for row in rows:
        name, example = row.split("|")[1].strip(" `"), row.split("|")[3].strip(" `")
        assert example.startswith(name)


def test_help_imports_nothing_heavy() -> None:
    heavy = "'fastapi', 'uvicorn', 'rich', 'httpx2', 'pydantic', 'yaml', 'relay.client', 'sqlite3'"
    program = (
        "import sys\nfrom hub.cli import main\nsys.argv = ['jira-hub', '--help']\n"
        f"try: main()\nfinally: sys.stderr.write(','.join(sorted({{{heavy}}} & set(sys.modules))))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "watch" in done.stdout


def test_every_help_is_answered(tmp_path: Path) -> None:
    for name in commands(get_command(app)):
        assert run(*name.split()[1:], "--help", home=tmp_path).exit_code == 0


def test_the_version_is_told_without_a_command(tmp_path: Path) -> None:
    result = run("--version", home=tmp_path)
    assert (result.exit_code, result.stdout.split()[0]) == (0, "jira-hub")


def test_a_misspelt_setting_in_the_file_gets_the_nearest_right_one(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("prot = 9001\n")
    result = run("status", home=tmp_path)
    assert result.exit_code == 2
    assert "did you mean port?" in result.stderr


def test_a_misspelt_command_gets_the_nearest_right_one_and_exit_2(tmp_path: Path) -> None:
    result = run("stauts", home=tmp_path)
    assert result.exit_code == 2
    assert "Did you mean 'status'?" in result.stderr
    assert result.stdout == ""


def test_init_makes_a_home_for_this_person_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    result = run("init", "--port", "9001", "--json", home=home)
    assert result.exit_code == 0
    assert json.loads(result.stdout)["home"] == str(home)
    assert stat.S_IMODE((home / "token").stat().st_mode) == 0o600
    assert stat.S_IMODE((home / "settings.toml").stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert len((home / "token").read_text().strip()) == 64
    assert "port = 9001" in (home / "settings.toml").read_text()
    assert "jira-hub init --share" in result.stderr


def test_init_keeps_the_token_and_refuses_to_overwrite_a_setting(tmp_path: Path) -> None:
    run("init", "--port", "9001", home=tmp_path)
    token = (tmp_path / "token").read_text()
    assert run("init", home=tmp_path).exit_code == 0
    result = run("init", "--port", "9002", home=tmp_path)
    assert result.exit_code == 6
    assert "port = 9001" in result.stderr
    assert (tmp_path / "token").read_text() == token


def test_without_a_home_the_way_to_one_is_told(tmp_path: Path) -> None:
    result = run("status", home=tmp_path)
    assert result.exit_code == 1
    assert "jira-hub init" in result.stderr


def test_a_hub_that_does_not_run_is_one_line_with_the_command_that_starts_it(tmp_path: Path, closed_port: int) -> None:
    run("init", home=tmp_path)
    result = run("status", home=tmp_path, JIRA_HUB_URL=f"http://127.0.0.1:{closed_port}")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        f"No hub answers at http://127.0.0.1:{closed_port}. Start it with: jira-hub serve"
    ]


def test_with_json_a_failure_is_json_too(tmp_path: Path, closed_port: int) -> None:
    run("init", home=tmp_path)
    result = run("batch", "list", "--json", home=tmp_path, JIRA_HUB_URL=f"http://127.0.0.1:{closed_port}")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["code"] == "not_running"


@pytest.mark.parametrize("url", ["http://192.0.2.1:8765", "ftp://127.0.0.1", "127.0.0.1:8765"])
def test_the_token_is_not_sent_in_clear_to_another_machine(tmp_path: Path, url: str) -> None:
    run("init", home=tmp_path)
    result = run("status", home=tmp_path, JIRA_HUB_URL=url)
    assert result.exit_code == 2


def test_a_file_that_is_not_there_or_of_no_known_form_is_wrong_usage(tmp_path: Path) -> None:
    assert run("apply", tmp_path / "none.yaml", home=tmp_path).exit_code == 2
    (tmp_path / "batch.txt").write_text("x")
    result = run("apply", tmp_path / "batch.txt", home=tmp_path)
    assert result.exit_code == 2
    assert ".yaml, .yml, .json, .csv" in result.stderr


def test_a_file_of_bad_form_is_refused_without_asking_the_hub(tmp_path: Path) -> None:
    file = tmp_path / "batch.yaml"
    file.write_text("titel: x\ncommands:\n- {type: refresh, jql: a, jql: b}\n- {type: refesh, jql: x}\n")
    result = run("apply", file, "--json", home=tmp_path)
    assert result.exit_code == 7
    assert result.stderr.splitlines() == [
        f"{file}:1:1: unknown name titel — did you mean title?",
        f"{file}:3:27: jql stands here and in line 3 — keep one of both",
        f"{file}:4:4: type: 'refesh' is no command type — did you mean refresh or ensure_fields?",
        "3 faults, nothing was created",
    ]
    errors = json.loads(result.stdout)["errors"]
    assert [(error["line"], error["column"]) for error in errors] == [(1, 1), (3, 27), (4, 4)]


def test_refresh_wants_either_keys_or_a_jql(tmp_path: Path) -> None:
    assert run("refresh", home=tmp_path).exit_code == 2
    assert run("refresh", "AURORA-1", "--jql", "x", home=tmp_path).exit_code == 2


def test_a_setting_without_a_value_is_wrong_usage(tmp_path: Path) -> None:
    assert run("settings", "set", "pacing.ensure_fields", home=tmp_path).exit_code == 2


def test_the_installed_program_ends_with_the_same_codes(tmp_path: Path) -> None:
    environment = {**os.environ, "JIRA_HUB_HOME": str(tmp_path)}
    for arguments, code in ((["--help"], 0), (["status"], 1), (["nothing"], 2)):
        done = subprocess.run([PROGRAM, *arguments], env=environment, capture_output=True, timeout=60, check=False)
        assert done.returncode == code


@pytest.mark.parametrize(
    "wrong", [["stauts"], ["status", "--chek"], ["batch", "show", "seven"], ["batch", "show"], ["--hme", "x", "status"]]
)
def test_wrong_usage_is_json_too_where_json_was_asked(tmp_path: Path, wrong: list[str]) -> None:
    result = run(*wrong, "--json", home=tmp_path)
    assert result.exit_code == 2
    assert json.loads(result.stdout)["code"] == "usage"
    assert result.stderr


@pytest.mark.parametrize("command", [["init"], ["serve"], ["status"]])
def test_a_home_that_cannot_be_made_is_one_line_and_exit_1(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "file").touch()
    result = run(*command, home=tmp_path / "file")
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert str(tmp_path / "file") in result.stderr
    assert "Errno" not in result.stderr


def test_a_misspelt_variable_gets_the_nearest_right_one(tmp_path: Path) -> None:
    result = run("status", home=tmp_path, JIRA_HUB_PRT="9001")
    assert result.exit_code == 2
    assert "JIRA_HUB_PRT: there is no such setting; did you mean JIRA_HUB_PORT?" in result.stderr
