"""`jira-agent check` against the fake in each broken mode, and the configuration it reads."""

import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agent import check as check_module
from agent.check import OF_JIRA, probes
from agent.cli import app
from agent.config import AgentConfig, ConfigFault, load
from examples.jira.app import JiraTransport, create_app
from examples.jira.server import FakeJira
from examples.jira.settings import DEFAULT_TOKEN, JiraSettings
from hub.api.apps import create_agent_app
from hub.api.context import Context
from hub.service import Service
from hub.store.connection import Database
from relay import Server, create_link
from relay.clock import SystemClock, SystemIds
from tests.simulation.clock import SimulatedClock

SETTINGS = """\
jira_url = "http://jira.test/"
project = "AURORA"
board_id = 12
share = "{share}"
journal = "{home}/journal.jsonl"
token_file = "{home}/token"
{more}
[link_types]
"блокирует начало" = {{ name = "Блокировка" }}
{types}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "share").mkdir()
    create_link(tmp_path / "share" / "main", "main")
    (tmp_path / "token").touch(mode=0o600)
    (tmp_path / "token").write_text(f"{DEFAULT_TOKEN}\n", encoding="utf-8")
    monkeypatch.setenv("JIRA_AGENT_HOME", str(tmp_path))
    configure(tmp_path)
    return tmp_path


def configure(home: Path, more: str = "", types: str = "") -> None:
    text = SETTINGS.format(share=home / "share", home=home, more=more, types=types)
    (home / "agent.toml").write_text(text, encoding="utf-8")


class Probed:
    def __init__(self) -> None:
        self.clock = SimulatedClock()
        self.jira: FakeJira = create_app(JiraSettings(), self.clock).jira

    def states(self, **switches: Any) -> dict[str, str]:
        self.jira.store.remember("switches", switches)
        found = probes(load(), self.clock, JiraTransport(self.jira), hub_wait=0)
        assert all(probe.todo for probe in found if probe.state == "fail"), found
        return {probe.name: probe.state for probe in found if probe.name != "tls"}


@pytest.fixture
def jira() -> Probed:
    return Probed()


def test_all_is_well(home: Path, jira: Probed) -> None:
    assert set(jira.states().values()) == {"ok"}


@pytest.mark.parametrize(
    ("switches", "failing"),
    [
        ({"auth_mode": "expired"}, "jira"),
        ({"auth_mode": "captcha"}, "jira"),
        ({"auth_mode": "sso_200_html"}, "jira"),
        ({"auth_mode": "sso_302"}, "jira"),
        ({"auth_mode": "anonymous_downgrade"}, "jira"),
        ({"maintenance": True}, "jira"),
        ({"linking": False}, "link types"),
    ],
)
def test_each_broken_mode_fails_the_probe_that_meets_it(
    home: Path, jira: Probed, switches: dict[str, Any], failing: str
) -> None:
    states = jira.states(**switches)
    assert [name for name, state in states.items() if state == "fail"] == [failing]


def test_a_bad_token_costs_one_call(home: Path, jira: Probed) -> None:
    jira.states(auth_mode="captcha")
    assert len(jira.jira.store.requests()) == 1


def test_a_skewed_clock_is_a_warning(home: Path, jira: Probed) -> None:
    assert jira.states(clock_skew_seconds=600.0)["clock"] == "warn"


def test_the_text_of_one_direction_is_an_error(home: Path, jira: Probed) -> None:
    configure(home, types='"блокирует" = { name = "is blocked by" }')
    assert jira.states()["names"] == "fail"


def test_a_board_without_sprints_is_told(home: Path, jira: Probed) -> None:
    (home / "agent.toml").write_text(
        (home / "agent.toml").read_text(encoding="utf-8").replace("board_id = 12", "board_id = 14"), encoding="utf-8"
    )
    assert jira.states()["board"] == "fail"
    assert jira.states(kanban_sprints="empty")["board"] == "warn"


def test_an_epic_link_that_is_not_on_the_screen_is_told(home: Path, jira: Probed) -> None:
    assert jira.states(epic_link_on_create=False)["create task"] == "ok"  # set by an edit afterwards
    configure(home, more="epic_link = { mode = 'create' }")
    assert jira.states(epic_link_on_create=False)["create task"] == "warn"


def test_a_share_that_is_not_mounted_fails(home: Path, jira: Probed) -> None:
    configure(home, more='link = "other"')
    assert jira.states()["share"] == "fail"


def test_the_hub_tells_its_version_to_the_agents_check(home: Path, jira: Probed) -> None:
    database = Database(home / "hub.sqlite")
    context = Context(Service(database, clock=SystemClock(), ids=SystemIds()))
    with Server.for_asgi(home / "share" / "main", create_agent_app(context), state_dir=home / "hub"):
        found = {one.name: one for one in probes(load(), SystemClock(), JiraTransport(jira.jira), hub_wait=30)}
    context.close()
    database.close()
    assert "the hub answered in" in found["share"].seen
    assert (found["hub"].state, found["hub"].seen) == ("ok", f"version {version('jira-hub')}")


def test_the_command_prints_json_and_ends_with_1_on_a_failure(
    home: Path, jira: Probed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_module, "network", lambda _: JiraTransport(jira.jira))
    good = CliRunner().invoke(app, ["check", "--json", "--hub-wait", "0"])
    assert {probe["state"] for probe in json.loads(good.stdout)} <= {"ok", "warn"}
    assert good.exit_code == 0
    jira.jira.store.remember("switches", {"maintenance": True})
    bad = CliRunner().invoke(app, ["check", "--hub-wait", "0"])
    assert bad.exit_code == 1
    assert "fail  jira: Jira is not reached: " in bad.stdout


@pytest.mark.parametrize(
    ("spoil", "todo"),
    [
        (lambda token: token.chmod(0o640), "chmod 600 {token}"),
        (lambda token: token.unlink(), "write the token into {token}, chmod 600"),
        (lambda token: token.write_text(""), "write the token into {token}, chmod 600"),
        (lambda token: token.write_bytes(b"\xff\xfe"), "write the token into {token}, chmod 600"),
        (lambda token: token.write_text("two\nlines"), "write the token into {token}, chmod 600"),
    ],
    ids=["readable by others", "missing", "empty", "no text", "no token"],
)
def test_without_a_usable_token_the_advice_fits_and_the_probes_of_jira_are_listed_as_skipped(
    home: Path, jira: Probed, spoil: Callable[[Path], None], todo: str
) -> None:
    spoil(home / "token")
    found = {probe.name: probe for probe in probes(load(), jira.clock, JiraTransport(jira.jira), hub_wait=0)}
    assert (found["access"].state, found["access"].todo) == ("fail", todo.format(token=home / "token"))
    assert {name for name, probe in found.items() if probe.seen.startswith("skipped")} == set(OF_JIRA)
    assert found["journal"].state == "ok"
    assert jira.jira.store.requests() == []


# --- configuration


def test_a_misspelt_variable_gets_the_nearest_right_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JIRA_AGENT_PROJCT", "BOREAS")
    result = CliRunner().invoke(app, ["status", "--json"])
    assert (result.exit_code, json.loads(result.stdout)["code"]) == (1, "failure")
    assert "JIRA_AGENT_PROJCT: there is no such setting, did you mean JIRA_AGENT_PROJECT?" in result.stderr


@pytest.mark.parametrize("command", ["run", "check", "status", "journal", "collect"])
def test_without_a_configuration_one_line_names_the_file_and_the_way_to_one(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JIRA_AGENT_HOME", str(tmp_path))
    done = CliRunner().invoke(app, [command])
    assert done.exit_code == 1
    [line] = done.stderr.splitlines()
    assert str(tmp_path / "agent.toml") in line and "jira-agent init" in line


def test_a_mistake_in_the_environment_is_named_without_a_file_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JIRA_AGENT_HOME", str(tmp_path))
    monkeypatch.setenv("JIRA_AGENT_JIRA_URL", "ftp://x")
    with pytest.raises(ConfigFault, match="jira_url"):
        load()


@pytest.mark.parametrize("arguments", [["--version"], ["-h"], ["run", "-h"]])
def test_version_and_help_need_no_configuration(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JIRA_AGENT_HOME", str(tmp_path))
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0
    assert ("jira-agent" in done.stdout) if arguments == ["--version"] else ("Usage" in done.stdout)


def test_environment_beats_file_and_flags_beat_both(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JIRA_AGENT_GAP_FLOOR", "7")
    monkeypatch.setenv("JIRA_AGENT_EPIC_LINK__MODE", "edit")
    config = load(link="other")
    assert (config.gap_floor, config.link, config.epic_link.mode, config.project) == (7.0, "other", "edit", "AURORA")
    assert config.folder == home / "share" / "other"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("gap_flor = 1", r"gap_flor: there is no such setting, did you mean gap_floor\?"),
        ('jira_url = "ftp://x"', "jira_url|Cannot overwrite"),
        ("settle_seconds = -1", "settle_seconds"),
        ("gap_floors = { refesh = 1 }", "gap_floors"),
        ("not toml", "agent.toml"),
    ],
)
def test_a_mistake_in_the_file_is_named(home: Path, more: str, said: str) -> None:
    configure(home, more=more)
    with pytest.raises(ConfigFault, match=said):
        load()


def test_a_token_others_can_read_is_refused(home: Path) -> None:
    (home / "token").chmod(0o644)
    with pytest.raises(ConfigFault, match="chmod 600"):
        load().access()


def test_a_token_that_is_a_link_is_refused(home: Path) -> None:
    (home / "token").rename(home / "real")
    (home / "token").symlink_to(home / "real")
    with pytest.raises(ConfigFault, match="token_file"):
        load().access()


def test_no_text_of_the_configuration_shows_a_secret(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JIRA_AGENT_TOKEN", "canary-token")
    config = load()
    assert "canary" not in repr(config)
    assert "canary" not in repr(config.access())
    assert config.access().headers["Authorization"] == "Bearer canary-token"


def test_every_setting_says_what_it_is_for() -> None:
    undescribed = [name for name, field in AgentConfig.model_fields.items() if not field.description]
    assert undescribed == []


def test_init_writes_a_file_that_loads_and_never_overwrites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JIRA_AGENT_HOME", str(tmp_path / "new"))
    assert CliRunner().invoke(app, ["init"]).exit_code == 0
    assert load().project == "AURORA"
    assert CliRunner().invoke(app, ["init"]).exit_code == 1


@pytest.mark.parametrize("command", ["init", "check", "run", "status", "upgrade", "collect", "journal"])
def test_every_command_has_help(command: str) -> None:
    assert CliRunner().invoke(app, [command, "--help"]).exit_code == 0


def test_status_and_journal_read_what_is_there(home: Path) -> None:
    told = CliRunner().invoke(app, ["status", "--json"])
    assert json.loads(told.stdout)["at_next_start"] == "claims the next command"
    assert CliRunner().invoke(app, ["journal"]).stdout == ""
