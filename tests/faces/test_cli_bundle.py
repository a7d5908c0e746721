"""`agent bundle`: the release that runs here as a wheel that any installer, and the agent's own upgrade, takes."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

from agent.upgrading import release_at
from tests.faces.test_cli_usage import run

ROOT = Path(__file__).parents[2]


def test_the_release_that_runs_here_is_packed_the_same_at_every_time(tmp_path: Path) -> None:
    made = [run("agent", "bundle", tmp_path / name, "--json", home=tmp_path / "home") for name in ("one", "two")]
    assert [result.exit_code for result in made] == [0, 0]
    first, second = (json.loads(result.stdout) for result in made)
    assert first["sha256"] == second["sha256"]
    assert (
        f"jira-agent upgrade jira_hub-{first['version']}-py3-none-any.whl --sha256 {first['sha256']}" in made[0].stderr
    )
    (tmp_path / "private").mkdir()
    release = release_at(tmp_path / "one", tmp_path / "private")
    assert (release.version, release.sha256) == (first["version"], first["sha256"])
    with zipfile.ZipFile(first["wheel"]) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"protocol", "relay", "hub", "agent"}
    for path in (*ROOT.glob("hub/store/sql/**/*.sql"), ROOT / "protocol" / "PROTOCOL.md"):
        assert path.relative_to(ROOT).as_posix() in names
    assert not [name for name in names if name.endswith(".pyc")]


def test_an_installer_takes_the_bundle_and_the_agent_starts_from_it(tmp_path: Path) -> None:
    wheel = json.loads(run("agent", "bundle", tmp_path, "--json", home=tmp_path).stdout)["wheel"]
    target = tmp_path / "installed"
    install = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--no-compile", "--quiet"]
    done = subprocess.run(
        [*install, "--disable-pip-version-check", "--target", target, wheel],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    program = "import agent; from agent.cli import main; print(agent.__file__, flush=True); main()"
    started = subprocess.run(
        [sys.executable, "-c", program, "--version"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(target), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert started.stdout.startswith(str(target))
    assert (target / "bin" / "jira-agent").is_file()
