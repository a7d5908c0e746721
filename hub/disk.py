"""Where the hub's files may stand: on a local disk, one hub a home. Nothing is opened for good in here but the lock."""

from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from hub.errors import Unready

# SQLite's locks and its shared memory do not work across machines: a database there gets damaged sooner or later.
_REMOTE: Final = ("nfs", "cifs", "smb", "9p", "virtiofs", "vboxsf", "fuse.sshfs", "fuse.rclone", "fuse.vmhgfs", "afs")


def file_system_of(path: Path, mounts: str) -> str:
    """The type of the file system `path` stands on, by the text of /proc/mounts; empty where it says nothing."""
    best: tuple[int, str] = (-1, "")
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) < 3:
            continue
        point = Path(fields[1].replace("\\040", " "))
        if path.is_relative_to(point) and len(point.parts) >= best[0]:
            best = (len(point.parts), fields[2])
    return best[1]


def check_local(folder: Path) -> None:
    """Raises `Unready` where the folder stands on another machine's disk."""
    try:
        mounts = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:  # no Linux: nothing to tell it by
        return
    kind = file_system_of(folder.resolve(), mounts)
    if kind.startswith(_REMOTE):
        raise Unready(f"{folder} stands on a network file system ({kind}): name a home on a local disk (JIRA_HUB_HOME)")


def hold(home: Path) -> FileLock:
    """The lock of a home, held until it is released or the process ends. Raises `Unready` where another hub has it."""
    lock = FileLock(home / "hub.lock", timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise Unready(f"another hub serves {home}: stop it, or name another home (JIRA_HUB_HOME)") from error
    return lock
