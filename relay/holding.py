"""Who is a side of a link on this machine: a lock on a local disk, and beside it the name of whoever has it.

Other machines see none of this; what their processes do is found by the epochs of their frames.
"""

import contextlib
import json
import logging
import os
import platform
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from relay.errors import AlreadyRunning
from relay.frames import Side
from relay.mounts import remote_kind
from relay.ports import Clock

_LOG: Final = logging.getLogger(__name__)


class Hold:
    """A lock on `place`/`name`, kept until `release`. Raises `AlreadyRunning`, which names the holder."""

    def __init__(self, place: Path, name: str, holder: str, *, side: Side, memory: Path, clock: Clock) -> None:
        self._holder = place / holder
        self._lock = FileLock(place / name, blocking=False)
        try:
            self._lock.acquire()
        except Timeout as error:
            raise AlreadyRunning(f"the {side} side of this link is held by {_told(self._holder)}") from error
        who = {
            "pid": os.getpid(),
            "host": platform.node(),
            "since": _moment(clock.wall()),
            "memory": str(memory.absolute()),
        }
        self._holder.write_text(json.dumps(who) + "\n", encoding="utf-8")

    def release(self, *, force: bool = False) -> None:
        """Let another process have it."""
        self._holder.unlink(missing_ok=True)
        self._lock.release(force=force)


def machine_folder() -> Path | None:
    """Where the processes of one user on one machine find each other, whatever memory each was given.

    $FOLDER_RELAY_MACHINE, else ~/.local/state/folder-relay/machine, else a folder of this user among the temporary
    files, where the home is on another machine or cannot be written to. `None`: nowhere.
    """
    named = os.environ.get("FOLDER_RELAY_MACHINE")
    for place in [Path(named)] if named else _places():
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            ours = os.name != "posix" or place.stat().st_uid == os.getuid()
        except OSError:
            continue
        if ours and not place.is_symlink() and os.access(place, os.W_OK) and not remote_kind(place):
            return place
    _LOG.warning("this user has no folder on a local disk: a second process with a memory of its own is found late")
    return None


def _places() -> Iterator[Path]:
    with contextlib.suppress(RuntimeError):  # a user without a home
        yield Path.home() / ".local" / "state" / "folder-relay" / "machine"
    yield Path(tempfile.gettempdir()) / f"folder-relay-{os.getuid() if os.name == 'posix' else 'machine'}"


def _told(holder: Path) -> str:
    try:
        who = json.loads(holder.read_text(encoding="utf-8"))
        return f"process {who['pid']} on {who['host']} since {who['since']}, with its memory in {who['memory']}"
    except (OSError, ValueError, KeyError):
        return f"another process: {holder.parent}"


def _moment(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="seconds")
