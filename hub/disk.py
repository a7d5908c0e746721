"""Where the hub's files may stand: on a local disk, one hub a home. Nothing is opened for good in here but the lock."""

from pathlib import Path

from filelock import FileLock, Timeout

from hub.errors import InUse, Unready
from relay.mounts import remote_kind, sync_tool_of


def check_local(folder: Path) -> None:
    """Raises `Unready` where the folder stands on another machine's disk, or under a tool that copies it meanwhile."""
    kind = remote_kind(folder)
    if kind:
        raise Unready(f"{folder} stands on a network file system ({kind}): name a home on a local disk (JIRA_HUB_HOME)")
    tool = sync_tool_of(folder)
    if tool:
        raise Unready(f"{folder} stands in a folder of {tool}: name a home outside of it (JIRA_HUB_HOME)")


def hold(home: Path) -> FileLock:
    """The lock of a home, held until it is released or the process ends. Raises `Unready` where another hub has it."""
    lock = FileLock(home / "hub.lock", timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise InUse(f"another hub serves {home}: stop it, or name another home (JIRA_HUB_HOME)") from error
    return lock
