"""Where the hub's files may stand: on a local disk, one hub a home. Nothing is opened for good in here but the lock."""

from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from hub.errors import InUse, Unready
from relay.mounts import remote_kind

# What such a tool leaves in the folder it keeps in step, and what its folder is usually called.
_SYNC_MARKS: Final = {
    ".stfolder": "Syncthing",
    ".dropbox": "Dropbox",
    ".dropbox.cache": "Dropbox",
    ".owncloudsync.log": "ownCloud",
    ".nextcloudsync.log": "Nextcloud",
    ".sync": "Resilio Sync",
}
_SYNC_NAMES: Final = {
    "dropbox": "Dropbox",
    "onedrive": "OneDrive",
    "google drive": "Google Drive",
    "googledrive": "Google Drive",
    "yandex.disk": "Yandex Disk",
    "yandexdisk": "Yandex Disk",
    "nextcloud": "Nextcloud",
    "mobile documents": "iCloud",
}


def sync_tool_of(folder: Path) -> str:
    """The sync tool whose folder this is or stands in, by its mark or the usual name; empty for none."""
    for place in (folder.resolve(), *folder.resolve().parents):
        marked = next((tool for mark, tool in _SYNC_MARKS.items() if (place / mark).exists()), None)
        if marked is not None:
            return marked
        named = next((tool for name, tool in _SYNC_NAMES.items() if place.name.lower().startswith(name)), None)
        if named is not None:
            return named
    return ""


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
