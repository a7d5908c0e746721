"""A process killed (SIGKILL) at a statement, and the simulated power cut there: both leave the same database."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import count, groupby
from pathlib import Path
from typing import Any, Final

import pytest

from hub.store.connection import Database
from hub.store.schema import migrate
from tests.simulation.disks import CutConnection, CutDatabase
from tests.simulation.virtual_time import Machine, PowerCut, Process, Time

NOW: Final = "2026-10-13T08:00:00.000000Z"
READING: Final = ("SELECT", "PRAGMA")
Notes = dict[str, str]
ROOT: Final = Path(__file__).parents[2]
# In a program of its own, which has no threads: it forks, for a start costs a hundred times what the writing does.
KILLING: Final = """
import json, sys
from pathlib import Path
from tests.contracts.test_store_power_cuts import killed, left_by
print(json.dumps(left_by(killed, Path(sys.argv[1]))))
"""


def write_notes(database: Any) -> None:
    """Three transactions, of one statement, of two, and one that is thrown away."""
    for texts, stays in (({"A1-1": "one"}, True), ({"A1-1": "two", "A1-2": "two"}, True), ({"A1-3": "lost"}, False)):
        with suppress(ValueError), database.writing(NOW) as transaction:
            for key, text in texts.items():
                transaction.run("put_note", link="main", key=key, text=text, at=NOW)
            if not stays:
                raise ValueError


def notes(path: Path) -> Notes:
    with closing(Database(path)) as database, database.reading(NOW) as transaction:
        connection = database.connection()
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        found = {f"A1-{number}": transaction.one("note", link="main", key=f"A1-{number}") for number in range(1, 4)}
        return {key: str(row["text"]) for key, row in found.items() if row is not None}


def made(path: Path) -> Path:
    path.parent.mkdir()
    with closing(Database(path)) as database:
        migrate(database, lambda label: None)
    return path


class KilledConnection:
    """A real connection; before the statement of that number, or after that commit, the process is gone."""

    def __init__(self, connection: Any, fatal: int) -> None:
        self._connection, self._left = connection, fatal

    def execute(self, sql: str, values: Any = ()) -> Any:
        if sql.lstrip()[:6].upper() in READING:
            return self._connection.execute(sql, values)
        self._pass_one()
        cursor = self._connection.execute(sql, values)
        if sql == "COMMIT":
            self._pass_one()
        return cursor

    def _pass_one(self) -> None:
        self._left -= 1
        if self._left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def killed(path: Path, fatal: int) -> bool:
    """Whether a real process that writes was killed at that point, or had ended before."""

    class Killed(Database):
        def _open(self) -> Any:
            return KilledConnection(super()._open(), fatal)

    child = os.fork()
    if child == 0:
        write_notes(Killed(path))
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def cut(path: Path, fatal: int) -> bool:
    """The same for a process of the simulated world."""
    process = Process("hub", Machine(Time(), "hub"))
    database = CutDatabase(path, process, lambda: None)
    process.dies_in(fatal)
    try:
        write_notes(database)
    except PowerCut:
        return True
    finally:
        database.abandon()
    return False


def left_by(way: Callable[[Path, int], bool], folder: Path) -> list[Notes]:
    """What is left in the database by a death at each point, in order; the last: by none."""
    base = made(folder / "hub.sqlite")
    found: list[Notes] = []
    for fatal in count():
        path = Path(shutil.copy(base, folder / f"{fatal}.sqlite"))
        died = way(path, fatal)
        found.append(notes(path))
        if not died:
            return found
    raise AssertionError


def test_a_simulated_cut_at_any_statement_leaves_what_a_killed_process_leaves(tmp_path: Path) -> None:
    program = [sys.executable, "-c", KILLING, tmp_path / "killed"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=100, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    real = json.loads(done.stdout)
    assert left_by(cut, tmp_path / "cut") == real
    each_once = [state for state, _ in groupby(real)]
    assert each_once == [{}, {"A1-1": "one"}, {"A1-1": "two", "A1-2": "two"}]


def test_a_dead_process_reads_and_writes_nothing_more(tmp_path: Path) -> None:
    path = made(tmp_path / "dead" / "hub.sqlite")
    process = Process("hub", Machine(Time(), "hub"))
    database = CutDatabase(path, process, lambda: None)
    process.die()
    for use in (database.writing, database.reading):
        with pytest.raises(PowerCut), use(NOW) as transaction:
            transaction.one("note", link="main", key="A1-1")
    database.abandon()
    assert notes(path) == {}


def test_after_each_commit_and_no_sooner_the_world_has_its_look(tmp_path: Path) -> None:
    path = made(tmp_path / "look" / "hub.sqlite")
    seen: list[Notes] = []
    database = CutDatabase(path, Process("hub", Machine(Time(), "hub")), lambda: seen.append(notes(path)))
    assert isinstance(database.connection(), CutConnection)
    write_notes(database)
    database.close()
    assert seen == [{"A1-1": "one"}, {"A1-1": "two", "A1-2": "two"}]
