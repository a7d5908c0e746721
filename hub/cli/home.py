"""Making a hub's home, and what a client reads from it: the address and the token. Nothing of the queue is in here."""

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hub.cli.exits import CONFLICT, FAILURE, USAGE, Stop

DEFAULT_PORT: Final = 8765
SETTINGS: Final = "settings.toml"
TOKEN: Final = "token"
_INTRODUCTION: Final = """\
# Settings of the hub; environment variables JIRA_HUB_<NAME> win over them. docs/cli.md tells more.
"""


@dataclass(frozen=True, slots=True)
class Home:
    """What `init` made or found."""

    folder: Path
    settings: Path
    token: Path
    link_folder: Path | None


def folder_of(home: Path | None) -> Path:
    """The home asked for, else the platform's data folder."""
    return (home or Path("~/.local/share/jira-hub")).expanduser().absolute()


def address_of(home: Path | None) -> str:
    """Where the hub of this home listens, by its settings."""
    settings = _settings(folder_of(home) / SETTINGS)
    host = settings.get("host", "127.0.0.1")
    port = os.environ.get("JIRA_HUB_PORT") or settings.get("port", DEFAULT_PORT)
    return f"http://{f'[{host}]' if ':' in str(host) else host}:{port}"


def token_of(home: Path | None) -> str:
    """The bearer token of this home's hub."""
    path = folder_of(home) / TOKEN
    try:
        token = path.read_text(encoding="ascii").strip()
    except FileNotFoundError as error:
        raise Stop(
            f"There is no token at {path}: this is no hub's home yet. Make it with: jira-hub init",
            hint="or name another home with --home or JIRA_HUB_HOME",
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise Stop(f"The token at {path} cannot be read: {error}", code=FAILURE) from error
    if not token:
        raise Stop(f"The token at {path} is empty", hint="remove the file and run jira-hub init again")
    return token


def make_home(home: Path | None, wanted: Mapping[str, Any], *, share: Path | None, link: str) -> Home:
    """Make what is missing of a home; what is there stays, and settings that say otherwise are a conflict."""
    folder = folder_of(home)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        settings = _write_settings(folder / SETTINGS, wanted)
        token = _write_token(folder / TOKEN)
    except OSError as error:
        raise Stop(f"{error.filename or folder}: {error.strerror}") from error
    return Home(folder, settings, token, _link_folder(share, link) if share else None)


def _settings(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Stop(
            f"{path}: {error}", hint="mend the file, or move it away and run jira-hub init", code=USAGE
        ) from error


def _write_settings(path: Path, wanted: Mapping[str, Any]) -> Path:
    there = _settings(path)
    for name, value in wanted.items():
        if there.get(name, value) != value:
            raise Stop(f"{path} has {name} = {there[name]!r}, not {value!r}", hint="change it there", code=CONFLICT)
    missing = {name: value for name, value in wanted.items() if name not in there}
    lines = "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in missing.items())
    if not path.exists():
        _create(path, _INTRODUCTION + lines)
    elif lines:
        # Top-level names cannot follow a table, so they go before everything that is there.
        path.write_text(lines + path.read_text(encoding="utf-8"), encoding="utf-8")
    return path


def _write_token(path: Path) -> Path:
    from relay.clock import SystemIds

    if not path.exists():
        ids = SystemIds()
        _create(path, f"{ids.new_id()}{ids.new_id()}\n")
    return path


def _create(path: Path, text: str) -> None:
    """A new file for this person's eyes alone, from its first moment on."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)


def _link_folder(share: Path, link: str) -> Path:
    from relay import create_link

    folder = share.expanduser().absolute() / link
    create_link(folder, link)
    return folder
