"""The wheel as a stranger installs it: four packages, three programs, nothing missing."""

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("jira-hub", "jira-agent", "folder-relay")


def run(*arguments: str | Path, cwd: Path) -> str:
    done = subprocess.run(arguments, cwd=cwd, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, f"{arguments}: {done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", folder, ROOT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_four_packages_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"protocol", "relay", "hub", "agent"}
    # What is not Python must come along too.
    for data in ROOT.glob("hub/store/sql/*.sql"):
        assert data.relative_to(ROOT).as_posix() in names
    assert "protocol/PROTOCOL.md" in names


def test_the_programs_start_from_the_wheel_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "empty", with_pip=True)
    binaries = tmp_path / "empty" / "bin"
    run(binaries / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, cwd=tmp_path)
    for program in PROGRAMS:
        assert "Usage" in run(binaries / program, "--help", cwd=tmp_path)
    run(binaries / "python", "-c", "import hub.serve, agent.runner, relay.http, protocol.commands", cwd=tmp_path)
