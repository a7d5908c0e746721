"""The migration of live bases cut short anywhere, run by two at once, and of every base a hub can have left (P15)."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.backup import FolderBackups
from hub.config import load_settings
from hub.store.connection import Database
from hub.store.schema import SCHEMA_VERSION, migrate, schema_version
from hub.upkeep import migrate_home
from tests.conftest import PROFILE
from tests.contracts.old_bases import Base, columns_of, filled_base, old_bases, rows_of, write_base
from tests.promised import Covered
from tests.simulation.clock import SimulatedClock

ROOT = Path(__file__).parents[2]


class PowerCut(BaseException):
    """The process dies here."""


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        return schema_version(connection)


@pytest.mark.part("T5")
def test_killed_at_any_point_the_base_has_one_schema_or_the_other_and_the_next_start_ends_it(
    tmp_path: Path, covered: Covered
) -> None:
    base = tmp_path / "base.sqlite"
    write_base(base, filled_base())
    columns, before = columns_of(base), rows_of(base)
    homes = tmp_path / "homes"
    homes.mkdir()
    program = [sys.executable, "-m", "tests.contracts.migration_cuts", base, homes]
    done = subprocess.run(program, capture_output=True, text=True, timeout=250, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    points = json.loads(done.stdout)["points"]
    assert points > 60  # each statement of the migration is one
    for home in sorted(homes.iterdir()):
        path = home / "hub.sqlite"
        version = version_of(path)
        assert rows_of(path, columns) == before, home.name
        copies = list((home / "backups").glob("*-schema-v1.sqlite"))
        if version != 1:
            assert [version_of(copy) for copy in copies] == [1], f"{home.name}: no copy was made first"
        report = migrate_home(load_settings(home), SimulatedClock())
        assert (report["migrated"], report["schema_after"]) == (version == 1, SCHEMA_VERSION)
        assert rows_of(path, columns) == before, home.name
    covered("T5", points)


class CutConnection:
    """Lets a number of statements pass; what comes then finds nobody to run it."""

    def __init__(self, connection: sqlite3.Connection, left: int) -> None:
        self._connection, self._left = connection, left

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql.startswith(("PRAGMA", "ROLLBACK")):
            return self._connection.execute(sql, *values)
        self._left -= 1
        if self._left < 0:
            raise PowerCut
        return self._connection.execute(sql, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def cut_database(statements: int) -> type[Database]:
    class Cut(Database):
        def _open(self) -> Any:
            return CutConnection(super()._open(), statements)

    return Cut


@pytest.mark.part("T11")
def test_any_base_of_schema_1_keeps_every_column_of_every_row(
    tmp_path_factory: pytest.TempPathFactory, covered: Covered
) -> None:
    met = 0

    @given(base=old_bases(), statements=st.integers(0, 80))
    def kept(base: Base, statements: int) -> None:
        nonlocal met
        keeps_every_row(tmp_path_factory.mktemp("base"), base, statements)
        met += 1

    kept()
    covered("T11", met)


def keeps_every_row(folder: Path, base: Base, statements: int) -> None:
    """The migration of this base is cut short after so many statements, and ended by the next start."""
    path = folder / "hub.sqlite"
    write_base(path, base)
    columns, before = columns_of(path), rows_of(path)
    backups = FolderBackups(path, folder / "backups", SimulatedClock())
    cut = cut_database(statements)(path)
    try:
        migrate(cut, backups.make)
    except PowerCut:
        pass
    finally:
        cut.close()
    assert version_of(path) in (1, SCHEMA_VERSION)
    assert rows_of(path, columns) == before
    with closing(Database(path)) as database:
        migrate(database, backups.make)
        claimed = database.connection().execute("SELECT deliveries FROM command WHERE status = 'claimed'").fetchall()
        assert [tuple(row) for row in claimed] == [(1,)] * len(claimed)
    assert version_of(path) == SCHEMA_VERSION
    assert rows_of(path, columns) == before


OPENING = """
import sys
from hub.backup import FolderBackups
from hub.service import Service
from hub.store.connection import Database
from pathlib import Path
from relay.clock import SystemClock, SystemIds
path = Path(sys.argv[1])
clock = SystemClock()
sys.stdin.readline()
Service(Database(path), clock=clock, ids=SystemIds(), backups=FolderBackups(path, path.parent / "backups", clock))
print("up")
"""


def test_two_processes_that_open_an_old_base_at_once_migrate_it_once(tmp_path: Path) -> None:
    for attempt in range(2 if PROFILE == "quick" else 10):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        path = folder / "hub.sqlite"
        write_base(path, filled_base())
        columns, before = columns_of(path), rows_of(path)
        del before["setting"]  # the start of a service writes settings of its own
        start: Callable[[], subprocess.Popen[str]] = lambda path=path: subprocess.Popen(  # noqa: E731  # typed where it stands
            [sys.executable, "-c", OPENING, path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        processes = [start(), start()]
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in processes:
            out, err = process.communicate(timeout=60)
            assert out == "up\n", err
        assert version_of(path) == SCHEMA_VERSION
        after = rows_of(path, columns)
        del after["setting"]
        assert after == before
