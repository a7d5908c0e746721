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
from hub.disk import check_local
from hub.errors import Unready

_INTRODUCTION: Final = "# Settings of the hub; environment variables JIRA_HUB_<NAME> win over them.\n"
_OF_A_LINK: Final = ("share", "project", "link_types")


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
    except OSError as error:
        raise Stop(f"The token at {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Stop(f"{path} holds no token", hint="remove it and run jira-hub init again") from error
    if not token.isprintable() or not token:
        raise Stop(f"{path} holds no token", hint="remove it and run jira-hub init again")
    return token


@dataclass(frozen=True, slots=True)
class _Change:
    """What `init` adds to the settings file: names at the top, a table `[[links]]`; and what the settings are then."""

    settings: HubSettings
    top: Mapping[str, Any]
    table: Mapping[str, Any]


def make_home(home: Path | None, wanted: Mapping[str, Any]) -> Home:
    """Make what is missing of a home; what is there stays, and settings that say otherwise are a conflict.

    A link that is not there yet becomes the only one, or one more.
    """
    from relay.clock import SystemIds

    change = _change(home, wanted)
    settings = change.settings
    file = _file_of(settings)
    try:
        link = settings.link_named(wanted.get("link"))
        check_local(settings.home)
        # The link before the settings: a share that is not there must not be written down as this hub's.
        if link.folder is not None:
            _make_link(link.folder, link.name)
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_settings(file, change)
        token_of(settings, SystemIds())
    except OSError as error:
        raise Stop(f"{error.filename or settings.home}: {error.strerror}") from error
    except Unready as error:
        raise Stop(str(error)) from error
    return Home(settings.home, file, settings.token_file, link.folder)


def _file_of(settings: HubSettings) -> Path:
    return settings.home / "settings.toml"


def _change(home: Path | None, wanted: Mapping[str, Any]) -> _Change:
    there = settings_of(home)
    name = wanted.get("link")
    shared = [link.name for link in there.served if link.share is not None]
    if name in {link.name for link in there.links}:
        return _nothing_new(there, wanted)
    if name is None or name in shared or not shared:
        return _Change(settings_of(home, **wanted), _missing(_file_of(there), wanted), {})
    return _one_more(there, wanted)


def _nothing_new(there: HubSettings, wanted: Mapping[str, Any]) -> _Change:
    """The link has its table: it may only be said again what stands there."""
    link, file = there.link_named(wanted["link"]), _file_of(there)
    known = {**link.model_dump(mode="json"), "port": there.port}
    for name, value in wanted.items():
        if name != "link" and known[name] != value:
            raise Stop(f"{file} has {name} = {known[name]!r} for the link {link.name}, not {value!r}", code=CONFLICT)
    return _Change(there, {}, {})


def _one_more(there: HubSettings, wanted: Mapping[str, Any]) -> _Change:
    file = _file_of(there)
    top = dict(_missing(file, {name: value for name, value in wanted.items() if name == "port"}))
    if not there.links:
        top |= _missing(file, {"link": there.link})  # once there are tables, the top is a link only where it has a name
    table = {"name": wanted["link"], **{name: wanted[name] for name in _OF_A_LINK if name in wanted}}
    links = [*(link.model_dump() for link in there.links), table]
    return _Change(settings_of(there.home, **{**top, "links": links}), top, table)


def _missing(file: Path, wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    """What of `wanted` the settings file does not say yet."""
    there = tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    for name, value in wanted.items():
        if there.get(name, value) != value:
            raise Stop(f"{file} has {name} = {there[name]!r}, not {value!r}", hint="change it there", code=CONFLICT)
    return {name: value for name, value in wanted.items() if name not in there}


def _write_settings(file: Path, change: _Change) -> None:
    top, table = _lines(change.top), _lines(change.table)
    if table:
        table = f"\n[[links]]\n{table}"
    if not file.exists():
        _create(file, _INTRODUCTION + top + table)
    elif top or table:
        # A name of the top level cannot follow a table, so it goes before everything that is there.
        file.write_text(top + file.read_text(encoding="utf-8").rstrip("\n") + "\n" + table, encoding="utf-8")


def _lines(values: Mapping[str, Any]) -> str:
    return "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in values.items())


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
