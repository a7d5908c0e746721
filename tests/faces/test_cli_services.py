"""`doctor` and `service install`: the hub as a part of this machine, judged by the machine's own parsers."""

import configparser
import json
import os
import plistlib
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hub.cli import app
from hub.cli.home import make_home
from hub.disk import check_local
from hub.errors import Unready
from hub.installing import Wanted, launchd_plist, systemd_unit
from hub.service import Service
from hub.store.connection import Database
from hub.store.opening import open_database
from protocol.messages import AgentState
from relay.clock import SystemClock, SystemIds
from relay.mounts import sync_tool_of
from tests.contracts.postgres_server import fresh_database
from tests.faces.running_hub import running_hub
from tests.faces.small_hub import SmallHub, fields


@pytest.fixture
def free_port() -> Iterator[int]:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    yield port


@pytest.fixture
def home(tmp_path: Path, free_port: int) -> Path:
    share = tmp_path / "share"
    share.mkdir()
    make_home(tmp_path / "home", {"share": str(share), "port": free_port})
    return tmp_path / "home"


def run(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), env={"JIRA_HUB_HOME": str(home)})


def probes(home: Path, *, code: int = 0) -> dict[str, dict[str, Any]]:
    result = run(home, "doctor", "--json")
    assert result.exit_code == code, result.output
    return {probe["name"]: probe for probe in json.loads(result.stdout)["probes"]}


def verdicts(found: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: probe["verdict"] for name, probe in found.items()}


def serving(home: Path) -> Service:
    return Service(Database(home / "hub.sqlite"), clock=SystemClock(), ids=SystemIds())


def test_a_home_that_was_just_made_is_well_but_for_what_never_ran(home: Path) -> None:
    found = probes(home)
    assert verdicts(found) == {
        "home": "ok",
        "disk": "ok",
        "database": "warn",
        "token": "ok",
        "port": "ok",
        "share": "ok",
        "backups": "warn",
        "agent": "warn",
    }
    assert [name for name, probe in found.items() if probe["verdict"] != "ok" and not probe["advice"]] == []
    assert list((home.parent / "share" / "main").glob("*.tmp")) == []


def test_a_home_that_is_a_file_is_called_one(tmp_path: Path) -> None:
    (tmp_path / "home").touch()
    result = run(tmp_path / "home", "doctor", "--json")
    assert f"{tmp_path / 'home'} is no folder" in result.stdout, result.output


def test_a_hub_that_ran_is_well(home: Path) -> None:
    service = serving(home)
    service.heartbeat("main", AgentState(agent_version=3, session="s", host="vm"))
    (home / "backups").mkdir()
    shutil.copy(home / "hub.sqlite", home / "backups" / "20261130T000000-batch-1.sqlite")
    assert set(verdicts(probes(home)).values()) == {"ok"}
    service.heartbeat("main", AgentState(agent_version=3, session="s", host="vm", blocked="no token"))
    agent = probes(home, code=1)["agent"]
    assert (agent["verdict"], "no token" in agent["seen"]) == ("fail", True)


def test_a_hub_on_a_server_is_looked_at_there(home: Path, postgres_url: str) -> None:
    with fresh_database(postgres_url) as url:
        with (home / "settings.toml").open("a", encoding="utf-8") as settings:
            settings.write(f"database_url = {json.dumps(url)}\n")
        assert verdicts(probes(home))["database"] == "ok"
        with closing(open_database(url)) as database:
            service = Service(database, clock=SystemClock(), ids=SystemIds())
            service.heartbeat("main", AgentState(agent_version=3, session="s", host="vm"))
            found = probes(home)
            assert {found[name]["verdict"] for name in ("database", "agent", "backups")} == {"ok"}
    text = (home / "settings.toml").read_text(encoding="utf-8").replace(json.dumps(url), json.dumps(f"{url}_gone"))
    (home / "settings.toml").write_text(text, encoding="utf-8")
    gone = probes(home, code=1)["database"]
    assert (gone["verdict"], "does not exist" in gone["seen"]) == ("fail", True)


def test_an_old_backup_is_worth_a_warning(home: Path) -> None:
    (home / "backups").mkdir()
    copy = home / "backups" / "20261130T000000-batch-1.sqlite"
    copy.touch()
    os.utime(copy, (1_000_000, 1_000_000))
    assert probes(home)["backups"]["verdict"] == "warn"


def test_a_token_that_others_can_read_fails(home: Path) -> None:
    (home / "token").chmod(0o644)
    token = probes(home, code=1)["token"]
    assert (token["verdict"], token["advice"]) == ("fail", f"chmod 600 {home / 'token'}")


def test_a_port_taken_by_something_else_fails_and_one_taken_by_a_hub_is_well(home: Path, free_port: int) -> None:
    with socket.create_server(("127.0.0.1", free_port)):
        assert probes(home, code=1)["port"]["verdict"] == "fail"
    with running_hub(home.parent / "other") as running:
        port = running.address.rpartition(":")[2]
        text = (home / "settings.toml").read_text(encoding="utf-8").replace(str(free_port), port)
        (home / "settings.toml").write_text(text, encoding="utf-8")
        assert probes(home)["port"]["seen"].startswith("a hub answers")


def test_a_share_that_is_gone_or_no_link_fails(home: Path) -> None:
    (home.parent / "share" / "main" / "link.json").unlink()
    assert "no link yet" in probes(home, code=1)["share"]["seen"]
    shutil.rmtree(home.parent / "share")
    assert probes(home, code=1)["share"]["verdict"] == "fail"


@pytest.mark.parametrize(("mark", "tool"), [(".stfolder", "Syncthing"), (".dropbox", "Dropbox")])
def test_a_share_of_a_sync_tool_is_worth_a_warning_and_a_home_there_is_refused(
    home: Path, mark: str, tool: str
) -> None:
    (home.parent / "share" / mark).mkdir()
    share = probes(home)["share"]
    assert (share["verdict"], tool in share["seen"]) == ("warn", True)
    (home.parent / mark).mkdir()
    assert probes(home, code=1)["home"]["verdict"] == "fail"
    with pytest.raises(Unready, match=tool):
        check_local(home)


def test_a_sync_tool_is_known_by_the_name_of_its_folder(tmp_path: Path) -> None:
    assert sync_tool_of(tmp_path / "OneDrive - Bank" / "share") == "OneDrive"
    assert sync_tool_of(tmp_path / "plain") is None


def test_a_damaged_and_a_newer_database_fail(home: Path) -> None:
    service = serving(home)
    with service._work.writing() as transaction:
        transaction.run("set_setting", link="main", key="schema_version", value="99")
    assert "newer" in probes(home, code=1)["database"]["seen"]
    (home / "hub.sqlite").write_bytes(b"no database at all" * 100)
    assert probes(home, code=1)["database"]["verdict"] == "fail"


def test_a_full_disk_is_one_clear_line_and_nothing_accepted_is_lost() -> None:
    hub = SmallHub()
    try:
        connection = hub.database.connection()
        first = hub.batch(fields())
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")  # what a full disk says, SQLite says of this too
        large = {"type": "ensure_comment", "key": "AURORA-1", "marker": "plan:1", "body": "x" * 30_000}
        body = {"author": "anna", "title": "large", "commands": [large]}
        refused = hub.people.post("/api/v1/batches", json=body)
        assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
        assert refused.json()["detail"] == "the database refuses: database or disk is full"
        assert "jira-hub doctor" in refused.json()["hint"]
        assert hub.claim()["batch_id"] == first["id"]
        connection.execute("PRAGMA max_page_count = 1000000")
        assert hub.people.post("/api/v1/batches", json=body).status_code == 201
        assert [item["title"] for item in hub.people.get("/api/v1/batches").json()["items"]] == ["large", "batch"]
    finally:
        hub.close()


HOSTILE = Wanted(["/opt/a b/bin/python", "-m", "hub", "serve"], '/home/анна/100% "quoted"\\x$HOME', "/tmp/serve.log")


def test_the_launch_agent_is_what_launchds_own_format_reads_back() -> None:
    read = plistlib.loads(launchd_plist(HOSTILE))
    assert read["ProgramArguments"] == list(HOSTILE.program)
    assert read["EnvironmentVariables"] == {"JIRA_HUB_HOME": HOSTILE.home}
    assert (read["RunAtLoad"], read["KeepAlive"]) == (True, {"SuccessfulExit": False})


def test_the_unit_has_its_sections_and_keeps_what_systemd_would_expand() -> None:
    read = configparser.RawConfigParser(strict=True)
    read.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their capitals
    read.read_string(systemd_unit(HOSTILE))
    assert read["Service"]["ExecStart"] == '"/opt/a b/bin/python" "-m" "hub" "serve"'
    assert read["Service"]["Environment"] == r'"JIRA_HUB_HOME=/home/анна/100%% \"quoted\"\\x$HOME"'
    assert (read["Service"]["Restart"], read["Install"]["WantedBy"]) == ("on-failure", "default.target")


def test_systemd_itself_finds_no_fault_in_the_unit(home: Path, tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    result = run(home, "service", "install", "--system", "systemd", "--folder", str(tmp_path / "units"), "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert "systemctl --user" in document["start"]
    if analyze is None:  # the structure is checked above wherever systemd is not
        return
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(
        [analyze, "--user", "verify", document["file"]],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment,
    )
    assert (done.returncode, [line for line in done.stderr.splitlines() if "jira-hub.service" in line]) == (0, [])


def test_a_file_that_says_something_else_is_kept(home: Path, tmp_path: Path) -> None:
    install = ("service", "install", "--system", "launchd", "--folder", str(tmp_path / "agents"))
    assert run(home, *install).exit_code == 0
    assert run(home, *install).exit_code == 0
    (path,) = (tmp_path / "agents").iterdir()
    path.write_text("mine", encoding="utf-8")
    assert run(home, *install).exit_code == 6
    assert path.read_text(encoding="utf-8") == "mine"
    assert run(home, *install, "--force").exit_code == 0
    assert run(home, "service", "install", "--system", "upstart").exit_code == 2


def test_the_file_can_be_looked_at_first(home: Path) -> None:
    result = run(home, "service", "install", "--system", "systemd", "--print")
    assert result.stdout.startswith("[Unit]")


def test_no_service_of_a_home_that_is_none(tmp_path: Path) -> None:
    result = run(tmp_path / "nowhere", "service", "install", "--print")
    assert (result.exit_code, "jira-hub init" in result.stderr) == (1, True)


def test_a_mistyped_name_gets_the_nearest_right_one(home: Path) -> None:
    assert "'doctor'" in run(home, "docter").stderr
    assert "--json" in run(home, "doctor", "--jsn").stderr
    (home / "settings.toml").write_text("prot = 1\n", encoding="utf-8")
    result = run(home, "doctor")
    assert (result.exit_code, "did you mean port?" in result.stderr) == (2, True)
