"""A program: migrates a home again and again, each time killed (SIGKILL) at a later point, and says what was left.

A point is the moment before a statement of the hub's, before a file is opened, renamed or removed in the home, and
the end. Forks instead of starting anew: a start costs a hundred times what a migration does.
"""

import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import hub.upkeep
from hub.config import load_settings
from hub.store.connection import Database
from relay.clock import SystemClock

FILE_EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "sqlite3.connect"}


class Points:
    """Counts the points; at the chosen one the process is gone."""

    def __init__(self, home: Path, fatal: int) -> None:
        self._home, self._fatal, self.count = str(home), fatal, 0

    def pass_one(self) -> None:
        self.count += 1
        if self.count == self._fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in FILE_EVENTS and arguments and self._home in str(arguments[0]):
            self.pass_one()


class CountedConnection:
    def __init__(self, connection: Any, points: Points) -> None:
        self._connection, self._points = connection, points

    def execute(self, *arguments: Any) -> Any:
        self._points.pass_one()
        return self._connection.execute(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def migrate_until(home: Path, fatal: int) -> None:
    """The child: does not come back."""
    points = Points(home, fatal)

    class CountedDatabase(Database):
        def _open(self) -> Any:
            return CountedConnection(super()._open(), points)

    hub.upkeep.Database = CountedDatabase  # type: ignore[misc]  # the real one, with points
    settings = load_settings(home)
    sys.addaudithook(points.hear)
    hub.upkeep.migrate_home(settings, SystemClock())
    points.pass_one()
    os._exit(0)


def main(base: Path, folder: Path) -> None:
    """A home for each point below `folder`, made from `base`; the number of points on stdout."""
    fatal = 0
    while True:
        fatal += 1
        home = folder / f"{fatal:03d}"
        home.mkdir()
        shutil.copy(base, home / "hub.sqlite")
        child = os.fork()
        if child == 0:
            migrate_until(home, fatal)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0, f"point {fatal} ended with {os.WEXITSTATUS(status)}"
            break
    print(json.dumps({"points": fatal}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
