"""`jira-agent upgrade`: another release from a wheel a person has brought to this machine; no network is asked.

The caller holds the journal's lock: a running agent must not change under itself.
"""

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MAX_WHEEL: Final = 64 * 2**20  # bytes; this one has half a million
MAX_WHEELS: Final = 200
INSTALL_SECONDS: Final = 600.0
START_SECONDS: Final = 60.0
PIP: Final = (sys.executable, "-m", "pip")
_NAME: Final = re.compile(r"jira_hub-(\d{1,9}(?:\.\d{1,9}){0,5})(?:[a-z.+][a-z0-9.+]*)?-py3-none-any\.whl")


class UpgradeFault(Exception):
    """The release cannot be had from there; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Release:
    """A wheel of this program. `path` is a copy of our own: nobody changes it between the look and the installation."""

    path: Path
    version: str
    sha256: str


def release_at(place: Path, private: Path) -> Release:
    """The release `place` is, or the newest one in that folder, copied into `private` with the wheels beside it."""
    wheels = sorted(place.glob("*.whl"))[:MAX_WHEELS] if place.is_dir() else [place]
    known = [(numbers(found[1]), wheel) for wheel in wheels if (found := _NAME.fullmatch(wheel.name))]
    if not known:
        raise UpgradeFault(f"{place}: there is no wheel of jira-hub (jira_hub-<version>-py3-none-any.whl)")
    newest = max(known)[1]
    for wheel in [newest] if newest == place else wheels:
        _copy(wheel, private / wheel.name)
    copy = private / newest.name
    return Release(copy, _version_inside(copy), hashlib.sha256(copy.read_bytes()).hexdigest())


def numbers(version: str) -> tuple[int, ...]:
    """What releases are ordered by."""
    return tuple(int(part) for part in re.findall(r"\d{1,9}", version.partition("+")[0])[:6])


def _copy(wheel: Path, copy: Path) -> None:
    try:
        if wheel.stat().st_size > MAX_WHEEL:
            raise UpgradeFault(f"{wheel}: longer than {MAX_WHEEL} bytes, that is no wheel of ours")
        shutil.copyfile(wheel, copy)
    except OSError as error:
        raise UpgradeFault(f"{wheel}: {error.strerror}") from error


def _version_inside(wheel: Path) -> str:
    try:
        with zipfile.ZipFile(wheel) as archive:
            (place,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            about = archive.read(place).decode("utf-8", "replace").partition("\n\n")[0]
            whole = archive.testzip() is None and "agent/cli.py" in archive.namelist()
    except (zipfile.BadZipFile, ValueError, OSError, EOFError) as error:
        raise UpgradeFault(f"{wheel.name}: not a whole wheel ({error}): carry it over once more") from error
    found = re.search(r"^Version: (\S+)$", about, re.MULTILINE)
    if found is None or not whole or "Name: jira-hub" not in about:
        raise UpgradeFault(f"{wheel.name}: not a release of jira-hub")
    return found[1]


def install(release: Release, python: str = sys.executable, pip: Sequence[str] = PIP) -> None:
    """Install it, and what it newly depends on from the wheels beside it; then see that it starts."""
    asked = [*pip, "install", "--no-index", "--find-links", str(release.path.parent), "--no-input", "--quiet"]
    asked += ["--disable-pip-version-check", str(release.path)]
    for command in ([*asked, "--dry-run"], asked):  # what it lacks is known before anything is changed
        fault = _ran(command)
        if fault is not None:
            raise UpgradeFault(f"pip does not install it: {fault}")
    fault = _ran([python, "-c", "from agent.cli import main; main()", "--version"], START_SECONDS)
    if fault is not None:
        raise UpgradeFault(f"{release.version} is installed and does not start: {fault}; upgrade to another wheel")


def _ran(command: Sequence[str], seconds: float = INSTALL_SECONDS) -> str | None:
    """What went wrong, in the program's last words; None if nothing did."""
    with tempfile.TemporaryDirectory() as elsewhere:  # so that no module of the folder we stand in is taken for another
        try:
            done = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True, timeout=seconds, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    return None if done.returncode == 0 else (done.stderr or done.stdout).strip()[-500:] or f"code {done.returncode}"
