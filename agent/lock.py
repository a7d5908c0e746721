"""One agent per journal: an exclusive lock on the local disk, and who holds it, for the one who is refused."""

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from agent.files import replace_file
from relay.ports import Clock


class AlreadyRunning(Exception):
    """Another process holds the journal. The text is fixed by the seeds as far as the dots."""


@contextlib.contextmanager
def exclusive(journal: Path, clock: Clock) -> Iterator[None]:
    """Hold `<journal>.lock` while the block runs; raises `AlreadyRunning` at once if another process does.

    Two agents on one journal would each miss the other's creations. The system frees the lock when a process dies,
    so nothing is ever left locked; the holder's name beside it (`<journal>.holder`) decides nothing.
    """
    journal.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = journal.with_name(f"{journal.name}.lock")
    holder = journal.with_name(f"{journal.name}.holder")
    if path.is_symlink():
        raise AlreadyRunning(f"{path} is a symbolic link: remove it, a lock must be a file of its own")
    lock = FileLock(path, mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise AlreadyRunning(
            f"агент уже запущен (the agent is already running): {_said(holder)} holds {path}"
        ) from None
    try:
        _write(holder, clock)
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def _write(holder: Path, clock: Clock) -> None:
    since = datetime.fromtimestamp(clock.wall(), UTC).isoformat(timespec="seconds")
    text = json.dumps({"host": socket.gethostname(), "pid": os.getpid(), "since": since})
    replace_file(holder, [text.encode()])


def _said(holder: Path) -> str:
    try:
        found = json.loads(holder.read_bytes()[:10_000])
        return f"host {found['host']}, pid {found['pid']}, since {found['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process (which one is not recorded)"
