"""What a mistyped `folder-relay` says: one line, and nothing is started."""

import json
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
        (
            ["call", "LINK/none", "GET", "/", "--timeout", "0.5"],
            "the share is lost: beacon: No such file or directory; mount the share, or",
        ),
        (
            ["call", "LINK", "GET", "/", "--timeout", "0.1"],
            "within 0.1 s; does it run, and does it see the same folder?",
        ),
        (["call", "LINK", "PUT", "/", "-d", "@none"], "none: No such file or directory"),
        (
            ["serve", "LINK", "json:dumps", "--state", "LINK/link.json"],
            "the local memory cannot be used: Not a directory",
        ),
        (["lss", "LINK"], "Did you mean 'ls'?"),
    ],
)
def test_a_mistake_is_one_clear_line_and_no_traceback(tmp_path: Path, arguments: list[str], said: str) -> None:
    program = [sys.executable, "-m", "relay"]
    link = tmp_path / "main"
    subprocess.run([*program, "init", link], check=True, capture_output=True, timeout=60)
    given = [argument.replace("LINK", str(link)) for argument in arguments]
    state = ["--state", str(tmp_path / "state")] if given[0] != "init" and "--state" not in given else []
    done = subprocess.run([*program, *given, *state], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert said in " ".join(done.stderr.replace("│", " ").split())


def test_wrong_usage_of_the_doctor_is_json_too_where_json_was_asked(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "relay", "doctor", tmp_path, "--json"]
    for wrong, code in (([], "usage"), (["--side", "hubb"], "usage")):
        done = subprocess.run([*program, *wrong], capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, json.loads(done.stdout)["code"]) == (2, code)
