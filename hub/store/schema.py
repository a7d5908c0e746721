"""The schema's versions: numbered SQL files, run in order in one transaction. No use case in here."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

from hub.errors import Unready
from hub.store.connection import AnyDatabase, Database

SCHEMA_VERSION: Final = 2
_MIGRATIONS: Final = Path(__file__).parent / "sql" / "migrations"


def migrate(database: AnyDatabase, copy_first: Callable[[str], object]) -> tuple[int, int]:
    """Bring the database to the newest schema; answers the versions before and after.

    `copy_first(label)` makes a copy of the file that is never rotated away; a new database and one in memory need none.
    Raises `Unready` where a newer release has been here before.
    """
    if not isinstance(database, Database):
        return _raised_elsewhere(database)
    connection = database.connection()
    before = schema_version(connection)
    _check_known(database.path, before)
    if before == SCHEMA_VERSION:
        return before, before
    if before and not database.in_memory:
        copy_first(f"schema-v{before}")
    _raise_to(connection, SCHEMA_VERSION)
    return before, SCHEMA_VERSION


def _raised_elsewhere(database: AnyDatabase) -> tuple[int, int]:
    from hub.store.postgres import PostgresDatabase  # an extra of its own: most hubs have no psycopg

    assert isinstance(database, PostgresDatabase)
    before, after = database.raise_schema(SCHEMA_VERSION)
    _check_known(database.path, after)
    return before, after


def _check_known(name: str, version: int) -> None:
    if version > SCHEMA_VERSION:
        raise Unready(f"{name} has schema {version}, this release knows {SCHEMA_VERSION}: use the newer release")


def schema_version(connection: sqlite3.Connection) -> int:
    """The version the database is at; 0 for an empty one."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'setting'").fetchone() is None:
        return 0
    row = connection.execute("SELECT value FROM setting WHERE key = 'schema_version'").fetchone()
    return 0 if row is None else int(row[0])


def _raise_to(connection: sqlite3.Connection, version: int) -> None:
    # Renaming a table must not rewrite what refers to it: the tables are rebuilt under the old names.
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("PRAGMA legacy_alter_table = ON")
    try:
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Asked again under the lock: another process may have been faster.
            for number in range(schema_version(connection) + 1, version + 1):
                for statement in statements_of((_MIGRATIONS / f"{number:04d}.sql").read_text(encoding="utf-8")):
                    connection.execute(statement)
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
    finally:
        connection.execute("PRAGMA legacy_alter_table = OFF")
        connection.execute("PRAGMA foreign_keys = ON")


def statements_of(script: str) -> list[str]:
    """The statements of a script one by one: `executescript` would commit between them."""
    statements, pending = [], ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            statements.append(pending.strip())
            pending = ""
    assert not pending.strip(), f"the script ends within a statement: {pending[:80]}"
    return statements
