"""One agent per journal: real processes, real signals."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.lock import AlreadyRunning, exclusive
from relay import create_link
from relay.clock import SystemClock

AGENT = [sys.executable, "-c", "from agent.cli import main; main()"]
DEADLINE = 20.0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    share = tmp_path / "share"
    share.mkdir()
    create_link(share / "main", "main")
    token = tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text("canary-token", encoding="utf-8")
    # Port 1 refuses: the agent is blocked at once, which is all that a lock needs.
    settings = f'jira_url = "http://127.0.0.1:1"\nproject = "AURORA"\nshare = "{share}"\ntoken_file = "{token}"\n'
    (tmp_path / "agent.toml").write_text(settings, encoding="utf-8")
    return tmp_path


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "JIRA_AGENT_HOME": str(home), "FOLDER_RELAY_STATE": str(home / "relay")}


@pytest.fixture
def first(home: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*AGENT, "run"], env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    assert "started" in process.stdout.readline()
    yield process
    if process.poll() is None:
        process.kill()
    process.stdout.close()
    process.wait(DEADLINE)


def second(home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*AGENT, "run"], env=environment(home), capture_output=True, text=True, timeout=DEADLINE, check=False
    )


def test_a_second_agent_ends_with_code_1_and_names_the_holder(home: Path, first: subprocess.Popen[str]) -> None:
    refused = second(home)
    assert refused.returncode == 1
    assert refused.stderr.startswith("агент уже запущен")
    assert re.search(rf"host \S+, pid {first.pid}, since \d{{4}}-", refused.stderr)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_cleanly_and_frees_the_lock(
    home: Path, first: subprocess.Popen[str], number: signal.Signals
) -> None:
    first.send_signal(number)
    output, _ = first.communicate(timeout=DEADLINE)
    assert first.returncode == 0
    assert output.splitlines()[-1].startswith("остановлен")
    with exclusive(home / "journal.jsonl", SystemClock()):
        pass
    assert json.loads((home / "journal.jsonl").read_text(encoding="utf-8").splitlines()[-1])["kind"] == "stopped"


def test_a_killed_agent_leaves_nothing_locked(home: Path, first: subprocess.Popen[str]) -> None:
    first.kill()
    first.wait(DEADLINE)
    with exclusive(home / "journal.jsonl", SystemClock()):
        pass


def test_nothing_it_writes_holds_the_token(home: Path, first: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not (home / "journal.jsonl").stat().st_size and time.monotonic() < deadline:
        time.sleep(0.05)
    first.terminate()
    output, _ = first.communicate(timeout=DEADLINE)
    assert "canary-token" not in output
    for file in home.rglob("*"):
        if file.is_file() and file.name != "token":
            assert b"canary-token" not in file.read_bytes(), file


def test_a_symbolic_link_in_the_locks_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AlreadyRunning, match="symbolic link"), exclusive(tmp_path / "journal.jsonl", SystemClock()):
        pass
    assert not (tmp_path / "elsewhere").exists()
