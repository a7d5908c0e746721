"""The home of a hub: made by `init`; its address and token read by every other command."""

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hub.cli.exits import CONFLICT, USAGE, Stop
from hub.config import HubSettings, load_settings, token_of
from hub.errors import Unready

_INTRODUCTION: Final = "# Settings of the hub; environment variables JIRA_HUB_<NAME> win over them.\n"


@dataclass(frozen=True, slots=True)
class Home:
    """What `init` made or found."""

    folder: Path
    settings: Path
    token: Path
    link_folder: Path | None


def settings_of(home: Path | None, **given: Any) -> HubSettings:
    """The settings of this home; a fault in them is wrong usage."""
    try:
        return load_settings(home, **given)
    except Unready as error:
        raise Stop(str(error), code=USAGE) from error


def address_of(settings: HubSettings) -> str:
    """Where the hub of these settings listens."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"


def read_token(settings: HubSettings) -> str:
    """The bearer token; unlike the hub itself, a client never makes one."""
    path = settings.token_file
    try:
        token = path.read_text(encoding="ascii").strip()
    except FileNotFoundError as error:
        raise Stop(
            f"There is no token at {path}: this is no hub's home yet. Make it with: jira-hub init",
            hint="or name another home with --home or JIRA_HUB_HOME",
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise Stop(f"The token at {path} cannot be read: {error}") from error
    if not token.isprintable() or not token:
        raise Stop(f"{path} holds no token", hint="remove it and run jira-hub init again")
    return token


def make_home(home: Path | None, wanted: Mapping[str, Any]) -> Home:
    """Make what is missing of a home; what is there stays, and settings that say otherwise are a conflict."""
    from relay.clock import SystemIds

    settings = settings_of(home, **wanted)
    file = settings.home / "settings.toml"
    missing = _missing(file, wanted)
    # The link before the settings: a share that is not there must not be written down as this hub's.
    if settings.link_folder is not None:
        _make_link(settings.link_folder, settings.link)
    try:
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_settings(file, missing)
        token_of(settings, SystemIds())
    except OSError as error:
        raise Stop(f"{error.filename or settings.home}: {error.strerror}") from error
    except Unready as error:
        raise Stop(str(error)) from error
    return Home(settings.home, file, settings.token_file, settings.link_folder)


def _missing(file: Path, wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    """What of `wanted` the settings file does not say yet."""
    there = tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    for name, value in wanted.items():
        if there.get(name, value) != value:
            raise Stop(f"{file} has {name} = {there[name]!r}, not {value!r}", hint="change it there", code=CONFLICT)
    return {name: value for name, value in wanted.items() if name not in there}


def _write_settings(file: Path, missing: Mapping[str, Any]) -> None:
    lines = "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in missing.items())
    if not file.exists():
        _create(file, _INTRODUCTION + lines)
    elif lines:
        # A name of the top level cannot follow a table, so it goes before everything that is there.
        file.write_text(lines + file.read_text(encoding="utf-8"), encoding="utf-8")


def _create(path: Path, text: str) -> None:
    """A new file for this person's eyes alone, from its first moment on."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)


def _make_link(folder: Path, name: str) -> None:
    """The link's folder with its beacon; one that is there already stays as it is."""
    from relay import LinkExists, create_link

    try:
        create_link(folder, name)
    except LinkExists:
        return
    except FileNotFoundError as error:
        raise Stop(f"{folder.parent} is not there", hint="mount the share first, or make the folder") from error
    except OSError as error:
        raise Stop(f"{folder}: {error.strerror}", hint="is the share mounted, and may you write there?") from error
