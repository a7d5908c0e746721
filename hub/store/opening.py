"""Which engine a database's name asks for, and what may go wrong with any of them while they work."""

import sqlite3
import sys
from pathlib import Path

from hub.errors import Unready
from hub.store.connection import AnyDatabase, Database

URLS = ("postgresql://", "postgres://")


def open_database(name: Path | str) -> AnyDatabase:
    """A PostgreSQL database by its URL, else the SQLite file of that name. Raises `Unready` without psycopg."""
    if not isinstance(name, str) or not name.startswith(URLS):
        return Database(name)
    try:
        from hub.store.postgres import PostgresDatabase
    except ImportError as error:
        raise Unready('a database on PostgreSQL needs psycopg: pip install "jira-hub[postgres]"') from error
    return PostgresDatabase(name)


def operating_faults() -> tuple[type[Exception], ...]:
    """A full disk, a lock held too long, a server that is away: nobody's mistake, and the next attempt may do.

    So is a table that is not there: a copy is being restored.
    """
    psycopg = sys.modules.get("psycopg")  # there once a database of its kind was opened
    if psycopg is None:
        return (sqlite3.OperationalError,)
    return (sqlite3.OperationalError, psycopg.OperationalError, psycopg.errors.UndefinedTable)


def opening_faults() -> tuple[type[Exception], ...]:
    """What else may be wrong with a database that is being opened: it is none, or nobody may read it."""
    psycopg = sys.modules.get("psycopg")
    return (OSError, sqlite3.Error) if psycopg is None else (OSError, sqlite3.Error, psycopg.Error)
