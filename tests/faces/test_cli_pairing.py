"""`jira-hub agent pair`: the key a person reads here and types there really joins the two sides."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hub.cli import app
from relay import Client, PeerOffline, Reply, Server
from relay.pairing import store_key


def run(home: Path, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["--home", str(home), *arguments])
    return result.exit_code, result.stdout


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "share").mkdir()
    code, _ = run(tmp_path / "home", "init", "--share", str(tmp_path / "share"), "--link", "main")
    assert code == 0
    return tmp_path / "home"


def test_the_key_shown_once_joins_both_sides_and_shuts_out_who_has_none(home: Path, tmp_path: Path) -> None:
    link = tmp_path / "share" / "main"
    code, said = run(home, "agent", "pair", "--json")
    assert code == 0
    key = json.loads(said)["key"]
    store_key(link, key, side="agent", state_dir=tmp_path / "agent")
    with Server(link, lambda _: Reply.of({"heard": True}), state_dir=home / "relay") as server:
        with Client(link, state_dir=tmp_path / "agent") as client:
            assert client.call("GET", "/", timeout=30).json() == {"heard": True}
            assert server.status().paired
        with Client(link, state_dir=tmp_path / "stranger") as stranger, pytest.raises(PeerOffline):
            stranger.call("GET", "/", timeout=1.5)
        assert server.status().counters["downgraded"] > 0


def test_a_key_is_replaced_on_purpose_only(home: Path) -> None:
    first = json.loads(run(home, "agent", "pair", "--json")[1])["key"]
    assert run(home, "agent", "pair")[0] == 6
    code, said = run(home, "agent", "pair", "--again", "--encrypt", "--json")
    assert (code, json.loads(said)["key"] == first) == (0, False)


def test_without_a_share_there_is_nothing_to_pair(tmp_path: Path) -> None:
    assert run(tmp_path / "empty", "agent", "pair")[0] == 2
