"""The settings of a home, the token, and where a database may stand."""

import re
import stat
from pathlib import Path

import pytest

from hub.config import DEFAULT_PORT, HubSettings, ServedLink, load_settings, token_of
from hub.disk import hold
from hub.errors import Unready
from relay.mounts import nearest_mount
from tests.simulation.clock import SimulatedIds


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "SHARE", "LINK", "HOST", "PORT", "PROJECT", "LINK_TYPES", "DURABILITY", "LINKS"):
        monkeypatch.delenv(f"JIRA_HUB_{name}", raising=False)


def test_a_home_without_settings_has_the_defaults(tmp_path: Path) -> None:
    settings = load_settings(tmp_path)
    assert (settings.host, settings.port, settings.link) == ("127.0.0.1", DEFAULT_PORT, "main")
    assert settings.database == tmp_path / "hub.sqlite"
    assert [(link.name, link.folder) for link in settings.served] == [("main", None)]


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "settings.toml").write_text(
        'port = 1\nlink = "file"\nshare = "/mnt/share"\nlink_types = ["связанные"]\n'
    )
    monkeypatch.setenv("JIRA_HUB_PORT", "2")
    monkeypatch.setenv("JIRA_HUB_LINK", "env")
    settings = load_settings(tmp_path, port=3, link=None)
    assert (settings.port, settings.link, settings.link_named(None).folder) == (3, "env", Path("/mnt/share/env"))
    assert settings.link_types == ("связанные",)


def test_the_home_comes_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JIRA_HUB_HOME", str(tmp_path))
    assert load_settings().home == tmp_path


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("prot = 1", "did you mean port?"),
        ("port = 99999", "port: "),
        ('link = "Main!"', "link: "),
        ("port = ", "settings.toml"),
        ("xyzzy = 1", "valid: home"),
        ('[[links]]\nname = "a"\nprojet = "AURORA"', "links.0.projet; did you mean project?"),
        ('[[links]]\nname = "a"\n[[links]]\nname = "a"', "the link a stands twice"),
        ('[[links]]\nname = "A!"', "links.0.name: "),
    ],
)
def test_a_wrong_setting_is_told_in_one_line_with_the_way_out(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "settings.toml").write_text(text)
    with pytest.raises(Unready, match=re.escape(says)) as caught:
        load_settings(tmp_path)
    assert "\n" not in str(caught.value)


def test_every_setting_is_documented_and_no_other() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    table = text.partition("## Settings")[2].partition("\n## ")[0]
    lines = [line.split("|") for line in table.splitlines() if line.startswith("| `")]
    assert {name for cells in lines for name in re.findall(r"`([^`]+)`", cells[1])} == set(HubSettings.model_fields)
    (of_links,) = [cells[3] for cells in lines if cells[1] == " `links` "]
    assert set(re.findall(r"`([^`]+)`", of_links)) == set(ServedLink.model_fields)


SEVERAL = """
[[links]]
name = "second"
project = "BETA"
[[links]]
name = "third"
share = "~/third"
"""


@pytest.mark.parametrize(
    ("top", "served", "default"),
    [
        ('link = "first"\nshare = "/s"\nproject = "AURORA"', ["first", "second", "third"], "first"),
        ('share = "/s"', ["second", "third"], None),
        ('link = "third"\nshare = "/s"', ["second", "third"], "third"),
    ],
)
def test_several_links_stand_in_tables_and_the_top_is_one_where_it_has_a_name(
    tmp_path: Path, top: str, served: list[str], default: str | None
) -> None:
    (tmp_path / "settings.toml").write_text(top + SEVERAL)
    settings = load_settings(tmp_path)
    assert [link.name for link in settings.served] == served
    assert settings.default_link == default
    links = {link.name: link for link in settings.served}
    assert (links["second"].folder, links["second"].project) == (Path("/s/second"), "BETA")
    assert (links["third"].folder, links["third"].project) == (Path.home() / "third" / "third", None)
    assert load_settings(tmp_path, link="second").default_link == "second"


def test_the_only_link_is_meant_where_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text('[[links]]\nname = "far"\nshare = "/s"')
    assert load_settings(tmp_path).link_named(None).folder == Path("/s/far")


def test_a_link_of_nearly_the_right_name_is_told_the_right_one(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text('share = "/s"' + SEVERAL)
    settings = load_settings(tmp_path)
    with pytest.raises(Unready, match=re.escape("did you mean second?")):
        settings.link_named("secnod")
    with pytest.raises(Unready, match=re.escape("second, third: name one with --link")):
        settings.link_named(None)


def test_the_token_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    settings = load_settings(tmp_path)
    token = token_of(settings, SimulatedIds(1))
    assert len(token) == 64
    assert stat.S_IMODE(settings.token_file.stat().st_mode) == 0o600
    assert token_of(settings, SimulatedIds(2)) == token
    settings.token_file.write_text("short")
    with pytest.raises(Unready, match="holds no token"):
        token_of(settings, SimulatedIds(3))


MOUNTS = """21 1 254:0 / / rw,relatime - ext4 /dev/vda1 rw
22 21 0:40 / /home rw shared:9 - nfs4 server:/home rw
23 21 0:41 / /mnt/my\\040share rw - cifs //host/share rw
24 22 0:42 / /home/anna/local rw - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib", "ext4"),
        ("/home/anna", "nfs4"),
        ("/home/anna/local/hub", "tmpfs"),
        ("/mnt/my share/x", "cifs"),
        ("/homestead", "ext4"),
    ],
)
def test_the_file_system_of_a_path_is_that_of_its_nearest_mount(path: str, kind: str) -> None:
    assert nearest_mount(Path(path), MOUNTS) == kind


def test_a_home_serves_one_hub(tmp_path: Path) -> None:
    lock = hold(tmp_path)
    with pytest.raises(Unready, match="another hub"):
        hold(tmp_path)
    lock.release()
    hold(tmp_path).release()
