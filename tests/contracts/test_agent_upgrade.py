"""`jira-agent upgrade`: real wheels, real pip, an environment of its own; no network is asked."""

import hashlib
import subprocess
import sys
import venv
import zipfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent.cli import app
from agent.lock import exclusive
from agent.upgrading import UpgradeFault, install, numbers, release_at
from relay.clock import SystemClock

SETTINGS = 'jira_url = "http://jira.test/"\nproject = "AURORA"\nshare = "{home}"\njournal = "{home}/journal.jsonl"\n'
STARTS = 'import agent\ndef main() -> None:\n    print("started")\n'


def wheel(folder: Path, release: str, *, needs: str = "", program: str = STARTS, name: str = "jira-hub") -> Path:
    """A small wheel that installs for real."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = name.replace("-", "_")
    info = f"{stem}-{release}.dist-info"
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {release}\n" + (
        f"Requires-Dist: {needs}\n" if needs else ""
    )
    files: Mapping[str, str] = {
        "agent/__init__.py": "",
        "agent/cli.py": program,
        f"{info}/METADATA": about,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if name != "jira-hub":
        files = {name_: text for name_, text in files.items() if not name_.startswith("agent/")} | {f"{stem}.py": ""}
    record = "".join(f"{one},,\n" for one in [*files, f"{info}/RECORD"])
    path = folder / f"{stem}-{release}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for one, text in (*files.items(), (f"{info}/RECORD", record)):
            archive.writestr(one, text)
    return path


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an empty environment."""
    place = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(place, with_pip=False)
    return place / "bin" / "python"


def installed(place: Path, tmp_path: Path, python: Path) -> str:
    (tmp_path / "private").mkdir(exist_ok=True)
    release = release_at(place, tmp_path / "private")
    install(release, str(python), [sys.executable, "-m", "pip", "--python", str(python)])
    return release.version


def there(python: Path, name: str) -> str:
    asked = f"import importlib.metadata as m; print(m.version({name!r}))"
    return subprocess.run([python, "-c", asked], capture_output=True, text=True, timeout=60, check=True).stdout.strip()


def test_the_newest_wheel_of_a_folder_is_installed_with_what_it_newly_depends_on(tmp_path: Path, python: Path) -> None:
    wheel(tmp_path / "carried", "0.9.1")
    wheel(tmp_path / "carried", "0.10.0", needs="carried-along")
    wheel(tmp_path / "carried", "3.1", name="carried-along")
    assert installed(tmp_path / "carried", tmp_path, python) == "0.10.0"
    assert (there(python, "jira-hub"), there(python, "carried-along")) == ("0.10.0", "3.1")


def test_what_cannot_be_installed_changes_nothing_and_what_does_not_start_is_told(tmp_path: Path, python: Path) -> None:
    assert installed(wheel(tmp_path, "1.0"), tmp_path, python) == "1.0"
    with pytest.raises(UpgradeFault, match="pip does not install it"):
        installed(wheel(tmp_path, "1.1", needs="left-at-home"), tmp_path, python)
    assert there(python, "jira-hub") == "1.0"
    with pytest.raises(UpgradeFault, match=r"1\.2 is installed and does not start: (?s:.*)no such thing"):
        installed(wheel(tmp_path, "1.2", program="raise SystemExit('no such thing')"), tmp_path, python)
    assert installed(tmp_path / "jira_hub-1.0-py3-none-any.whl", tmp_path, python) == "1.0"  # and back


def test_a_wheel_that_broke_on_its_way_or_is_another_program_is_none(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    broken = wheel(tmp_path, "2.0")
    broken.write_bytes(broken.read_bytes()[:-40])
    with pytest.raises(UpgradeFault, match="carry it over once more"):
        release_at(broken, tmp_path / "private")
    other = wheel(tmp_path, "2.1", name="jira-hub-other").rename(tmp_path / "jira_hub-2.1-py3-none-any.whl")
    for place in (other, wheel(tmp_path / "more", "1", name="another"), tmp_path / "nowhere"):
        with pytest.raises(UpgradeFault):
            release_at(place, tmp_path / "private")


def test_releases_are_ordered_by_their_numbers() -> None:
    assert sorted(["0.10.0", "0.9.1", "1.0", "0.9"], key=numbers) == ["0.9", "0.9.1", "0.10.0", "1.0"]


@pytest.mark.parametrize(
    ("release", "arguments", "said"),
    [
        (version("jira-hub"), [], "is installed already"),
        ("0.0.1", [], "say --older"),
        ("9.9", ["--sha256", "0" * 64], "nothing was installed"),
        ("9.9", ["running"], "агент уже запущен"),
    ],
)
def test_the_command_installs_nothing_it_was_not_meant_to(
    release: str, arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JIRA_AGENT_HOME", str(tmp_path))
    (tmp_path / "agent.toml").write_text(SETTINGS.format(home=tmp_path), encoding="utf-8")
    carried = wheel(tmp_path, release)
    asked = ["upgrade", str(carried), *(one for one in arguments if one != "running")]
    if "running" in arguments:
        with exclusive(tmp_path / "journal.jsonl", SystemClock()):
            done = CliRunner().invoke(app, asked)
    else:
        done = CliRunner().invoke(app, asked)
        assert hashlib.sha256(carried.read_bytes()).hexdigest() in done.output
    assert (done.exit_code, said in done.output) == (1, True), done.output
