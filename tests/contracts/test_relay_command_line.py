"""What a mistyped `folder-relay` says: one line, and nothing is started."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["init", "/nowhere/at/all"], "mount the share first"),
        (["serve", "LINK", "--upstream", "htp://127.0.0.1:1"], "no address of an HTTP server"),
        (["serve", "LINK", "no_such_module:app"], "cannot be imported"),
        (["serve", "LINK"], "serve one of both"),
        (["call", "LINK/none", "GET", "/"], "the share is lost"),
    ],
)
def test_a_mistake_is_one_clear_line_and_no_traceback(tmp_path: Path, arguments: list[str], said: str) -> None:
    program = [sys.executable, "-m", "relay"]
    link = tmp_path / "main"
    subprocess.run([*program, "init", link], check=True, capture_output=True, timeout=60)
    given = [argument.replace("LINK", str(link)) for argument in arguments]
    state = ["--state", str(tmp_path / "state")] if given[0] != "init" else []
    done = subprocess.run([*program, *given, *state], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert said in " ".join(done.stderr.replace("│", " ").split())
