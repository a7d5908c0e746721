"""A hub whose disk is full: one clear line, the right exit code, nothing lost, and on it goes when there is room."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from hub.cli.home import make_home, read_token, settings_of
from relay import Client, RelayError
from tests.faces.small_hub import fields
from tests.faces.test_cli_served_hub import free_port
from tests.installation.test_hub_killed import Caller, Gone

PROGRAM = Path(sys.executable).parent / "jira-hub"
ROOM = "3m"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.getuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root may mount a small disk to fill it")
    disk = tmp_path / "disk"
    disk.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", disk], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no disk can be mounted here: {done.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", disk], check=True)


@pytest.fixture
def home(small_disk: Path, tmp_path: Path) -> Path:
    (tmp_path / "share").mkdir()
    make_home(small_disk / "home", {"share": str(tmp_path / "share"), "port": free_port()})
    return small_disk / "home"


def fill(disk: Path) -> Path:
    """A file that takes all the room there is."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as stream, contextlib.suppress(OSError):
        while True:
            stream.write(b"x" * 4096)
    return filler


def test_a_hub_that_finds_no_room_at_its_start_says_so_in_one_line(small_disk: Path, home: Path) -> None:
    fill(small_disk)
    done = subprocess.run([PROGRAM, "--home", home, "serve"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert "full" in lines[0] or "No space left" in lines[0]


@contextmanager
def serving(home: Path) -> Iterator[Caller]:
    settings = settings_of(home)
    caller = Caller(settings.port, read_token(settings), "anna")
    with subprocess.Popen([PROGRAM, "--home", home, "serve"], stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while True:
            try:
                assert caller.once("GET", "health")[0] == 200
                break
            except Gone:
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.05)
        try:
            yield caller
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def test_a_disk_that_fills_up_refuses_what_is_new_and_loses_nothing(
    small_disk: Path, home: Path, tmp_path: Path
) -> None:
    wish = {"author": "anna", "title": "before", "commands": [fields()]}
    with serving(home) as caller:
        assert caller.ask("POST", "batches", wish)[0] == 201
        filler = fill(small_disk)
        refused = {**wish, "title": "x" * 200, "commands": [{**fields(), "description": "x" * 30_000}] * 20}
        status, body = caller.once("POST", "batches", json.dumps(refused).encode())
        while status == 201:  # there was room in the log yet
            status, body = caller.once("POST", "batches", json.dumps(refused).encode())
        assert status == 503, body
        problem = json.loads(body)
        assert problem["code"] == "unavailable"
        assert "full" in problem["detail"]
        assert caller.once("GET", "batches/1")[0] == 200  # what is there can be read
        batch = tmp_path / "batch.json"
        batch.write_text(json.dumps(refused))
        told = subprocess.run(
            [PROGRAM, "--home", home, "apply", batch, "--json"], capture_output=True, text=True, timeout=60, check=False
        )
        assert (told.returncode, json.loads(told.stdout)["code"]) == (1, "unavailable")
        filler.unlink()
        assert caller.once("POST", "batches", json.dumps({**wish, "title": "after"}).encode())[0] == 201
    with closing(sqlite3.connect(home / "hub.sqlite")) as base:
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        titles = [row[0] for row in base.execute("SELECT title FROM batch ORDER BY id")]
    assert (titles[0], titles[-1]) == ("before", "after")


def test_a_hub_whose_relay_ended_on_a_full_disk_goes_on_by_itself_once_there_is_room(
    small_disk: Path, home: Path
) -> None:
    def relay(caller: Caller) -> tuple[str, str]:
        told = json.loads(caller.once("GET", "status")[1])["relay"]
        return told["share"], told["detail"]

    def doctor() -> tuple[int, str]:
        command = [PROGRAM, "--home", home, "doctor"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout

    with (
        serving(home) as caller,
        Client(settings_of(home).served[0].folder or "", state_dir=home.parent.parent / "agent") as agent,
    ):
        ask = ("GET", "/api/v1/agent/commands/1")
        assert agent.call(*ask).status == 404
        filler = fill(small_disk)
        with pytest.raises(RelayError):
            while agent.call(*ask, timeout=1).status:  # there is room in the log yet
                pass
        told = relay(caller)
        assert told[0] == "stuck" and told[1].endswith("make room or mend its rights; the hub goes on by itself then")
        code, seen = doctor()
        assert code == 1 and "the hub goes on by itself" in " ".join(seen.split())
        filler.unlink()
        assert agent.call(*ask, timeout=60).status == 404
        assert relay(caller)[0] == "ok"
