"""The installed program from nothing to a served hub and back: `init`, `serve`, `apply`, `watch`, the end."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).parent / "jira-hub"
DEMO = Path(__file__).parents[2] / "examples" / "batches" / "demo.yaml"


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        return int(listener.getsockname()[1])


def run(home: Path, *arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [PROGRAM, "--home", home, *arguments], capture_output=True, text=True, timeout=60, check=False, cwd=home.parent
    )
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "share").mkdir()
    run(tmp_path / "home", "init", "--share", tmp_path / "share", "--port", str(free_port()))
    return tmp_path / "home"


@pytest.fixture
def serving(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JIRA_HUB_")}
    with subprocess.Popen([PROGRAM, "--home", home, "serve"], env=environment, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 30
        command = [PROGRAM, "--home", home, "status"]
        while subprocess.run(command, capture_output=True, check=False, timeout=60).returncode:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        yield process
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


def test_the_link_is_in_the_share_and_a_second_init_changes_nothing(home: Path) -> None:
    beacon = home.parent / "share" / "main" / "link.json"
    before = (beacon.read_bytes(), (home / "settings.toml").read_bytes(), (home / "token").read_bytes())
    run(home, "init", "--share", home.parent / "share")
    assert (beacon.read_bytes(), (home / "settings.toml").read_bytes(), (home / "token").read_bytes()) == before


def test_a_share_that_is_not_there_is_told_and_not_written_down(tmp_path: Path) -> None:
    told = run(tmp_path / "home", "init", "--share", tmp_path / "nowhere", code=1).stderr
    assert str(tmp_path / "nowhere") in told
    (tmp_path / "share").mkdir()
    run(tmp_path / "home", "init", "--share", tmp_path / "share")


def test_a_batch_waits_in_a_served_hub_until_an_agent_comes(home: Path, serving: subprocess.Popen[bytes]) -> None:
    assert serving.poll() is None
    batch = json.loads(run(home, "apply", DEMO, "--json").stdout)
    assert len(batch["commands"]) == 15
    told = run(home, "watch", "--timeout", "0.2", code=5).stderr
    assert "not seen yet" in told
    assert json.loads(run(home, "status", "--json").stdout)["counts"]["queued"] == 15


def test_a_served_hub_ends_well_when_it_is_asked_to(home: Path, serving: subprocess.Popen[bytes]) -> None:
    second = run(home, "serve", code=1).stderr
    assert "another hub serves" in second
    serving.send_signal(signal.SIGTERM)
    assert serving.wait(timeout=30) == 0
    assert "jira-hub serve" in run(home, "status", code=1).stderr


def test_a_hub_without_a_share_says_what_to_do(tmp_path: Path) -> None:
    run(tmp_path / "home", "init", "--port", str(free_port()))
    told = run(tmp_path / "home", "serve", code=1).stderr
    assert "jira-hub init --share" in told
