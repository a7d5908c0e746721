"""What may be wrong with a hub's home, its share and its surroundings: each probe says what it saw and what to do.

Looks only: nothing is repaired, nothing is written but an empty file into the share, which is taken away at once.
"""

import errno
import json
import os
import shutil
import socket
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Final, Literal

from hub.config import HubSettings, ServedLink
from hub.errors import Unready
from hub.moments import moment, seconds_between
from hub.store.opening import open_database, opening_faults
from hub.store.schema import SCHEMA_VERSION
from relay.mounts import remote_kind, sync_tool_of
from relay.ports import Clock, Ids

Verdict = Literal["ok", "warn", "fail"]
SCARCE_BYTES: Final = 1024**3  # a copy of the database for each of thirty batches fits below it no longer
FULL_BYTES: Final = 100 * 1024**2
OLD_BACKUP_SECONDS: Final = 7 * 86_400.0
SILENT_SECONDS: Final = 300.0  # as the queue counts it: an agent not heard for five minutes is offline
_ANSWER_SECONDS: Final = 2.0  # loopback answers at once or not at all
_ANSWER_BYTES: Final = 1024**2


@dataclass(frozen=True, slots=True)
class Probe:
    """One look: what was seen, and the way out where something is not as it should be."""

    name: str
    verdict: Verdict
    seen: str
    advice: str | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the probes look with."""

    settings: HubSettings
    clock: Clock
    ids: Ids


def examine(around: Surroundings) -> Iterator[Probe]:
    """Every probe in turn; one that cannot be made is a failure of its own, never of the whole."""
    links = around.settings.served
    for name, probe in _PROBES:
        yield _made(name, partial(probe, around))
    for link in links:
        for name, of_link in _PROBES_OF_A_LINK:
            full = f"{name} {link.name}" if len(links) > 1 else name
            yield replace(_made(full, partial(of_link, around, link)), name=full)


def _made(name: str, probe: Callable[[], Probe]) -> Probe:
    try:
        return probe()
    except Unready as error:
        return Probe(name, "fail", str(error))
    except opening_faults() as error:
        return Probe(name, "fail", str(error).strip(), "see to it that this user may read and write there")


def _home(around: Surroundings) -> Probe:
    home = around.settings.home
    if home.exists() and not home.is_dir():
        return Probe("home", "fail", f"{home} is no folder", "name another home: JIRA_HUB_HOME, or move that file away")
    if not home.is_dir():
        return Probe("home", "fail", f"{home} is not there", "make it with: jira-hub init")
    kind = remote_kind(home)
    if kind:
        seen = f"{home} stands on a network file system ({kind})"
        return Probe("home", "fail", seen, "name a home on a local disk: JIRA_HUB_HOME")
    tool = sync_tool_of(home)
    if tool:
        seen = f"{home} stands in a folder of {tool}, which copies the database while it is written"
        return Probe("home", "fail", seen, "name a home outside of it: JIRA_HUB_HOME")
    mode = stat.S_IMODE(home.stat().st_mode)
    if mode & 0o077:
        return Probe("home", "warn", f"{home} is open to others ({mode:o})", f"chmod 700 {home}")
    return Probe("home", "ok", str(home))


def _disk(around: Surroundings) -> Probe:
    free = shutil.disk_usage(_existing(around.settings.home)).free
    seen = f"{free // 1024**2} MiB free"
    if free < FULL_BYTES:
        return Probe("disk", "fail", seen, "make room: the queue stops when nothing can be written")
    if free < SCARCE_BYTES:
        return Probe("disk", "warn", seen, "make room: a copy of the database is made before each batch")
    return Probe("disk", "ok", seen)


def _database(around: Surroundings) -> Probe:
    if around.settings.database_url is not None:
        return _server(around, around.settings.database_url)
    path = around.settings.database
    if not path.exists():
        return Probe("database", "warn", f"{path} is not there yet", "it is made by: jira-hub serve")
    with _opened(path) as connection:
        verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        row = connection.execute("SELECT value FROM setting WHERE key = 'schema_version'").fetchone()
    version = int(row[0]) if row else 0
    if verdict != "ok":
        return Probe("database", "fail", f"{path} is damaged: {verdict}", "restore a copy: jira-hub restore")
    if version > SCHEMA_VERSION:
        return Probe("database", "fail", f"schema {version} is newer than this release", "use the newer release")
    if version < SCHEMA_VERSION:
        return Probe("database", "warn", f"schema {version}, this release has {SCHEMA_VERSION}", "jira-hub migrate")
    size = path.stat().st_size // 1024
    return Probe("database", "ok", f"{path}, schema {version}, {size} KiB")


def _server(around: Surroundings, url: str) -> Probe:
    """A database of PostgreSQL: reached, and of which schema."""
    with closing(open_database(url)) as database, database.reading(moment(around.clock.wall())) as transaction:
        rows = transaction.all("settings", link="main")
    name = database.path.replace(" password=''", "")
    version = next((int(row["value"]) for row in rows if row["key"] == "schema_version"), 0)
    if version != SCHEMA_VERSION:
        seen = f"{name}: schema {version}, this release has {SCHEMA_VERSION}"
        return Probe("database", "fail", seen, "use the release that wrote it, or let jira-hub serve make it")
    return Probe("database", "ok", f"{name}, schema {version}")


def _token(around: Surroundings) -> Probe:
    path = around.settings.token_file
    if not path.exists():
        return Probe("token", "fail", f"there is no token at {path}", "make it with: jira-hub init")
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        return Probe("token", "fail", f"{path} can be read by others ({mode:o})", f"chmod 600 {path}")
    return Probe("token", "ok", f"{path}, for its owner alone")


def _port(around: Surroundings) -> Probe:
    """Free, or taken by a hub; by anything else the hub cannot start."""
    host, port = around.settings.host, around.settings.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                return Probe("port", "fail", f"{host}:{port}: {os.strerror(error.errno or 0)}", "set another host")
        else:
            return Probe("port", "ok", f"{host}:{port} is free: the hub does not run")
    if _is_a_hub(host, port):
        return Probe("port", "ok", f"a hub answers at {host}:{port}")
    return Probe("port", "fail", f"{host}:{port} is taken by another program", "set another port: jira-hub init --port")


def _is_a_hub(host: str, port: int) -> bool:
    request = f"GET /api/v1/health HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n"
    try:
        with socket.create_connection((host, port), timeout=_ANSWER_SECONDS) as connection:
            connection.sendall(request.encode("ascii"))
            connection.settimeout(_ANSWER_SECONDS)
            answer = b""
            while len(answer) < 4_096 and (part := connection.recv(4_096)):
                answer += part
    except OSError:
        return False
    return b'"status":"ok"' in answer


def _share(around: Surroundings, link: ServedLink) -> Probe:
    share, folder = link.share, link.folder
    if share is None or folder is None:
        return Probe("share", "fail", "no share is set", "jira-hub init --share DIR")
    if not share.is_dir():
        return Probe("share", "fail", f"{share} is not there", "mount it, or set another: JIRA_HUB_SHARE")
    if not (folder / "link.json").is_file():
        return Probe("share", "fail", f"{folder} is no link yet", f"jira-hub init --share {share} --link {link.name}")
    probe = folder / f"doctor-{around.ids.new_id()}.tmp"
    try:
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        advice = "make room" if error.errno == errno.ENOSPC else "may this user write there?"
        return Probe("share", "fail", f"{folder} takes no file: {error.strerror}", advice)
    probe.unlink(missing_ok=True)
    if (told := _relay_told(around, link)) is not None and told["share"] != "ok":
        seen = f"the hub says of {folder}: {told['share']}: {told['detail']}"
        return Probe("share", "fail", seen, "see to that: the hub's log has more")
    tool = sync_tool_of(share)
    if tool:
        seen = f"{share} is a folder of {tool}: files come late, and conflict copies are ignored"
        return Probe("share", "warn", seen, "a share of the virtual machine itself is faster, where there is one")
    return Probe("share", "ok", f"{folder}, {remote_kind(share) or 'a local file system'}")


def _relay_told(around: Surroundings, link: ServedLink) -> Any:
    """How the running hub finds the relay of this link; None where none runs here, or it tells nothing."""
    settings = around.settings
    hub = HTTPConnection(settings.host, settings.port, timeout=_ANSWER_SECONDS)
    try:
        token = settings.token_file.read_text(encoding="utf-8").strip()
        hub.request("GET", f"/api/v1/status?link={link.name}", headers={"Authorization": f"Bearer {token}"})
        answer = hub.getresponse()
        return json.loads(answer.read(_ANSWER_BYTES)).get("relay") if answer.status == HTTPStatus.OK else None
    except (OSError, HTTPException, ValueError):  # the probe of the port tells who else answers there
        return None
    finally:
        hub.close()


def _backups(around: Surroundings) -> Probe:
    if around.settings.database_url is not None:
        return Probe("backups", "ok", "copies of this database are its server's matter, such as pg_dump")
    copies = sorted(around.settings.backups.glob("*.sqlite"), key=lambda path: path.stat().st_mtime)
    if not copies:
        return Probe("backups", "warn", "there is no copy of the database yet", "jira-hub backup")
    age = max(0.0, around.clock.wall() - copies[-1].stat().st_mtime)
    seen = f"{len(copies)} copies, the newest {_days(age)} old"
    if age > OLD_BACKUP_SECONDS:
        return Probe("backups", "warn", seen, "jira-hub backup")
    return Probe("backups", "ok", seen)


def _agent(around: Surroundings, link: ServedLink) -> Probe:
    row = _agent_row(around, link.name)
    if row is None or row[0] is None:
        return Probe("agent", "warn", "not seen yet", "start it on its machine: jira-agent run")
    silent = seconds_between(row[0], moment(around.clock.wall()))
    seen = f"version {row[1]}, last seen {_days(silent)} ago"
    if row[2]:
        return Probe("agent", "fail", f"{seen}, blocked: {row[2]}", "on its machine: jira-agent check")
    if silent > SILENT_SECONDS:
        return Probe("agent", "warn", seen, "on its machine: jira-agent check")
    return Probe("agent", "ok", seen)


def _agent_row(around: Surroundings, link: str) -> tuple[str | None, int | None, str | None] | None:
    """When the agent was last seen, its version, and what blocks it; None where none was seen ever."""
    settings = around.settings
    if settings.database_url is not None:
        now = moment(around.clock.wall())
        with closing(open_database(settings.database_url)) as database, database.reading(now) as transaction:
            row = transaction.one("agent", link=link)
        return None if row is None else (row["last_seen_at"], row["version"], row["blocked"])
    if not settings.database.exists():
        return None
    with _opened(settings.database) as connection:
        statement = "SELECT last_seen_at, version, blocked FROM agent_status WHERE link = ?"
        found: tuple[str | None, int | None, str | None] | None = connection.execute(statement, (link,)).fetchone()
    return found


_PROBES: Final[tuple[tuple[str, Callable[[Surroundings], Probe]], ...]] = (
    ("home", _home),
    ("disk", _disk),
    ("database", _database),
    ("token", _token),
    ("port", _port),
    ("backups", _backups),
)
_PROBES_OF_A_LINK: Final[tuple[tuple[str, Callable[[Surroundings, ServedLink], Probe]], ...]] = (
    ("share", _share),
    ("agent", _agent),
)


def _opened(path: Path) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_ANSWER_SECONDS))


def _existing(path: Path) -> Path:
    """The path, or the nearest folder above it that is there."""
    return next(place for place in (path, *path.parents) if place.exists())


def _days(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 2 * 3_600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3_600:.0f} h" if seconds < 2 * 86_400 else f"{seconds / 86_400:.0f} days"
