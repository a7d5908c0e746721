"""What is done to a home while no hub serves it: its database brought to the newest schema, or replaced by a copy."""

import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from hub.backup import FolderBackups
from hub.config import HubSettings
from hub.disk import check_local, hold
from hub.errors import Missing, Unready
from hub.mark import MarkFile
from hub.restoring import Mark
from hub.service import Service
from hub.store.connection import Database
from hub.store.schema import SCHEMA_VERSION, migrate, schema_version
from relay.ports import Clock, Ids


def migrate_home(settings: HubSettings, clock: Clock) -> Mapping[str, Any]:
    """Bring the database of a home to the newest schema; what was there before and after, table by table.

    Raises `Missing` without a database, `Unready` where it cannot be done.
    """
    with _alone_with_database(settings) as path, closing(Database(path)) as database:
        backups = FolderBackups(path, settings.backups, clock)
        copies: list[Path] = []
        before = _row_counts(database)
        old, new = migrate(database, lambda label: copies.append(backups.make(label)))
        after = _row_counts(database)
        claimed = database.connection().execute(
            "SELECT id, deliveries FROM command WHERE status = 'claimed' ORDER BY id"
        )
        return {
            "database": str(path),
            "schema_before": old,
            "schema_after": new,
            "migrated": old != new,
            "copy": str(copies[0]) if copies else None,
            "tables": {
                name: {"before": before.get(name), "after": after.get(name)} for name in sorted({*before, *after})
            },
            "claimed": [{"id": row["id"], "deliveries": row["deliveries"]} for row in claimed],
        }


def restore_home(settings: HubSettings, copy: Path, clock: Clock, ids: Ids) -> Mapping[str, Any]:
    """Put a copy in the place of the database, and everything open in it on hold (queue.md, Restored database).

    The database as it was is copied first. Raises `Missing` without the copy, `Unready` where it cannot be done.
    """
    if not copy.is_file():
        raise Missing(f"there is no copy {copy}")
    _check_copy(copy)
    with _alone_with_database(settings, may_be_missing=True) as path:
        backups = FolderBackups(path, settings.backups, clock)
        marks = MarkFile(settings.mark)
        with closing(marks):
            kept = backups.make("before-restore") if path.exists() else None
            # Said before it is done: a hub that is cut short in between finds the copy out at its next start.
            was = marks.read() or Mark("0", 0)
            marks.write(Mark(was.epoch, was.event_id, restored=True))
            _replace(path, copy)
            with closing(Database(path)) as database:
                service = Service(database, clock=clock, ids=ids, backups=backups, marks=marks)
        taken = service.taken_over
        assert taken is not None  # the mark says so
        return {
            "database": str(path),
            "copy": str(copy),
            "kept": None if kept is None else str(kept),
            "epoch": taken.epoch,
            "held_commands": taken.held,
            "refresh_batches": taken.refreshes,
        }


@contextmanager
def _alone_with_database(settings: HubSettings, *, may_be_missing: bool = False) -> Iterator[Path]:
    if settings.database_url is not None:
        raise Unready("JIRA_HUB_DATABASE_URL names a server's: copy and restore it with pg_dump, pg_restore")
    path = settings.database
    if not path.exists() and not (may_be_missing and settings.home.is_dir()):
        raise Missing(f"there is no database {path}")
    check_local(settings.home)
    lock = hold(settings.home)
    try:
        yield path
    except (sqlite3.Error, OSError) as error:
        raise Unready(f"the database {path}: {error}") from error
    finally:
        lock.release()


def _row_counts(database: Database) -> dict[str, int]:
    connection = database.connection()
    tables = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'"
        " AND name NOT LIKE 'issue!_text%' ESCAPE '!'"  # the search index: its tables are SQLite's own
    ).fetchall()
    return {row[0]: connection.execute(f'SELECT count(*) FROM "{row[0]}"').fetchone()[0] for row in tables}


def _check_copy(copy: Path) -> None:
    try:
        with closing(sqlite3.connect(f"{copy.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            verdict = connection.execute("PRAGMA integrity_check").fetchone()[0]
            version = schema_version(connection)
    except sqlite3.Error as error:
        raise Unready(f"{copy} is no database of a hub: {error}") from error
    if verdict != "ok":
        raise Unready(f"the copy {copy} is damaged: {verdict}")
    if not 1 <= version <= SCHEMA_VERSION:
        raise Unready(f"the copy {copy} has schema {version}; this release knows 1 to {SCHEMA_VERSION}")


def _replace(path: Path, copy: Path) -> None:
    """The old database or the whole copy, whenever the power goes."""
    if path.exists():
        with closing(sqlite3.connect(path)) as connection:  # the last one to close takes the log in
            connection.execute("PRAGMA journal_mode = DELETE")
    arriving = path.with_suffix(".arriving")
    shutil.copyfile(copy, arriving)
    arriving.chmod(0o600)
    for file in (arriving, arriving.parent):
        _sync(file)
    arriving.replace(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
