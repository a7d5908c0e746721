"""Where a hub may stand and which links it has: `init`, `serve` and `doctor`, each with one clear line."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from hub.api.serving import Served
from hub.cli.home import make_home, settings_of
from hub.errors import Unready
from hub.serve import running_hub
from tests.contracts.shares.mounts import mounted
from tests.faces.test_cli_served_hub import free_port
from tests.faces.test_cli_usage import run


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "share").mkdir()
    return tmp_path


def said(result: Any, code: int) -> str:
    """The one line of a refusal."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    line, *more = result.stderr.splitlines()
    assert more == []
    return str(line)


def not_served(home: Path) -> str:
    """Why this home serves no hub."""
    with pytest.raises(Unready) as refusal, running_hub(settings_of(home)):
        pass
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def test_a_home_on_a_network_file_system_is_refused_by_every_program(place: Path) -> None:
    (place / "far").mkdir()
    with mounted("sshfs", place / "far", place / "point"):
        home = place / "point" / "home"
        assert "network file system (fuse.sshfs)" in said(run("init", "--share", place / "share", home=home), 1)
        assert not home.exists()
        home.mkdir(mode=0o700)
        assert "network file system (fuse.sshfs)" in not_served(home)
        doctor = run("doctor", "--json", home=home)
        probes = {probe["name"]: probe for probe in json.loads(doctor.stdout)["probes"]}
        assert (doctor.exit_code, probes["home"]["verdict"]) == (1, "fail")
        assert "local disk" in probes["home"]["advice"]


def test_a_home_under_a_sync_tool_is_refused_by_every_program(place: Path) -> None:
    (place / ".stfolder").mkdir()
    home = place / "home"
    assert "folder of Syncthing" in said(run("init", home=home), 1)
    assert not home.exists()
    home.mkdir(mode=0o700)
    assert "folder of Syncthing" in not_served(home)


def test_a_share_under_a_sync_tool_works_and_init_says_that_files_come_late(place: Path) -> None:
    (place / "share" / ".stfolder").mkdir()
    result = run("init", "--share", place / "share", home=place / "home")
    assert result.exit_code == 0
    (line,) = [line for line in result.stderr.splitlines() if "Syncthing" in line]
    assert "late" in line


def test_init_of_another_name_adds_a_link_and_takes_none_away(place: Path) -> None:
    home, other = place / "home", place / "other"
    other.mkdir()
    run("init", "--share", place / "share", "--project", "AURORA", home=home)
    result = run("init", "--link", "second", "--share", other, "--project", "BETA", "--json", home=home)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["link_folder"] == str(other / "second")
    assert (other / "second" / "link.json").is_file()
    assert run("init", "--link", "third", home=home).exit_code == 0
    assert (place / "share" / "third" / "link.json").is_file()
    served = {link.name: (link.share, link.project) for link in settings_of(home).served}
    assert served == {
        "main": (place / "share", "AURORA"),
        "second": (other, "BETA"),
        "third": (place / "share", None),
    }
    assert settings_of(home).default_link == "main"
    before = (home / "settings.toml").read_text(encoding="utf-8")
    assert run("init", "--link", "second", "--project", "BETA", home=home).exit_code == 0
    assert run("init", "--link", "main", home=home).exit_code == 0
    assert run("init", "--link", "second", "--project", "GAMMA", home=home).exit_code == 6
    assert (home / "settings.toml").read_text(encoding="utf-8") == before
    assert tomllib.loads(before)["link"] == "main"


def test_doctor_looks_at_every_link(place: Path) -> None:
    home = place / "home"
    make_home(home, {"share": str(place / "share"), "port": free_port()})
    make_home(home, {"link": "second"})
    (place / "share" / "second" / "link.json").unlink()
    probes = {probe["name"]: probe for probe in json.loads(run("doctor", "--json", home=home).stdout)["probes"]}
    assert probes["share main"]["verdict"] == "ok"
    assert (probes["share second"]["verdict"], probes["share second"]["advice"]) == (
        "fail",
        f"jira-hub init --share {place / 'share'} --link second",
    )
    assert {"agent main", "agent second"} <= probes.keys()


def test_a_link_of_this_home_is_named_before_the_command(place: Path) -> None:
    home = place / "home"
    make_home(home, {"share": str(place / "share")})
    make_home(home, {"link": "second"})
    result = run("--link", "secnod", "agent", "pair", home=home)
    assert (result.exit_code, "did you mean second?" in result.stderr) == (2, True)
    assert run("--link", "second", "agent", "pair", home=home).exit_code == 0
    assert run("--link", "second", "serve", home=home).exit_code == 2
    assert run("--link", "third", "init", home=home).exit_code == 0
    assert [link.name for link in settings_of(home).served] == ["main", "second", "third"]
    assert [path.parent.name[:7] for path in (home / "relay").rglob("*") if path.is_file()] == ["second-"]


def test_a_link_whose_share_is_away_holds_up_no_other(place: Path) -> None:
    home = place / "home"
    (place / "other").mkdir()
    make_home(home, {"share": str(place / "share"), "port": free_port()})
    make_home(home, {"link": "second", "share": str(place / "other")})
    (place / "other" / "second" / "link.json").unlink()
    with running_hub(settings_of(home)) as server:
        served: Served = server.config.app.state.served  # type: ignore[union-attr]  # it is a FastAPI app
        states = {link: served.relay_of(link)["share"] for link in ("main", "second")}  # type: ignore[index]
        assert states["main"] == "ok"
        assert states["second"] != "ok"
    (place / "share" / "main" / "link.json").unlink()
    assert "is no link yet: jira-hub init" in not_served(home)
