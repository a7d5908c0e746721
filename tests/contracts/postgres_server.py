"""A PostgreSQL server of the tests' own: on loopback, in a folder of its own, stopped at the end."""

import os
import pwd
import shutil
import socket
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

OPTIONS: Final = "-c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=200"


def programs() -> Path | None:
    """The newest installed server's folder of programs, if there is one; on the PATH stand only its clients."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    named = shutil.which("initdb")
    return None if named is None else Path(named).resolve().parent


def why_not() -> str | None:
    """Why no server can be started here, or None."""
    if programs() is None:
        return "PostgreSQL's server is not installed (Debian: apt-get install postgresql)"
    if os.getuid() == 0:
        try:
            pwd.getpwnam("postgres")
        except KeyError:
            return "root may not run PostgreSQL, and there is no user postgres"
    return None


def _as_whom() -> dict[str, Any]:
    if os.getuid() != 0:
        return {}
    user = pwd.getpwnam("postgres")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _reachable(folder: Path) -> Path:
    """`folder`, or where it is closed to the server's user, a folder for everybody."""
    closed = os.getuid() == 0 and any(not place.stat().st_mode & stat.S_IXOTH for place in (folder, *folder.parents))
    return Path("/tmp") if closed else folder


@contextmanager
def postgres_server(*, durable: bool = False) -> Iterator[str]:
    """The URL of its database `postgres`; `durable` where the time of a commit matters, and so its fsync."""
    binaries = programs()
    assert binaries is not None
    folder = Path(tempfile.mkdtemp(prefix="bridge-pg-", dir=_reachable(Path(tempfile.gettempdir()))))
    options = f"{OPTIONS} -c fsync={'on' if durable else 'off'}"
    who = _as_whom()
    if who:
        os.chown(folder, who["user"], who["group"])
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    data, log = folder / "data", folder / "log"
    run: dict[str, Any] = {"check": True, "stdout": subprocess.DEVNULL, "cwd": folder, "timeout": 60, **who}
    make = [binaries / "initdb", "-D", data, "-A", "trust", "-U", "hub", "-E", "UTF8", "--no-sync"]
    try:
        subprocess.run(make, **run)
        start = [binaries / "pg_ctl", "-D", data, "-w", "-l", log, "-o", f"{options} -c port={port}", "start"]
        subprocess.run(start, **run)
        try:
            yield f"postgresql://hub@127.0.0.1:{port}/postgres"
        finally:
            subprocess.run([binaries / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop"], **run)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_free: list[str] = []  # databases with the schema, nobody's at the moment: to empty one is cheaper than to make one
_first_settings: list[tuple[str, str]] = []  # what the schema itself puts there
_made = 0


@contextmanager
def fresh_database(url: str) -> Iterator[str]:
    """The URL of a new hub's database, with nothing in it but the schema."""
    global _made
    if _free:
        name = _free.pop()
        _empty(_named(url, name))
    else:
        _made += 1
        name = f"hub_{_made}"
        _run(url, f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
        migrated(_named(url, name))
        _first_settings[:] = _settings(_named(url, name))
    yield _named(url, name)
    _free.append(name)


@contextmanager
def bare_database(url: str) -> Iterator[str]:
    """The URL of a database with nothing in it at all."""
    _run(url, "CREATE DATABASE bare ENCODING 'UTF8' TEMPLATE template0")
    try:
        yield _named(url, "bare")
    finally:
        _run(url, "DROP DATABASE bare WITH (FORCE)")


def migrated(url: str) -> tuple[int, int]:
    from hub.store.postgres import PostgresDatabase
    from hub.store.schema import migrate

    with closing(PostgresDatabase(url)) as database:
        return migrate(database, lambda label: None)


def _settings(url: str) -> list[tuple[str, str]]:
    import psycopg

    with psycopg.connect(url) as connection:
        return connection.execute("SELECT key, value FROM setting").fetchall()


def _empty(url: str) -> None:
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute("SET lock_timeout = '20s'")
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        connection.execute(f"TRUNCATE {', '.join(name for (name,) in tables)} RESTART IDENTITY")
        connection.cursor().executemany("INSERT INTO setting (key, value) VALUES (%s, %s)", _first_settings)


def _named(url: str, name: str) -> str:
    return f"{url.rpartition('/')[0]}/{name}"


def _run(url: str, statement: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)


def server_or_skip() -> Iterator[str]:
    """For a fixture of the widest scope."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    with postgres_server() as url:
        yield url
