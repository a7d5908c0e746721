"""Which file system a folder stands on, as far as this system tells: a hint, never proof."""

from pathlib import Path
from typing import Final

# Databases break there: locks are not shared, mmap is not coherent (trap 53). NFS 4 and fuse.vmhgfs-fuse begin so too.
_REMOTE: Final = ("nfs", "cifs", "smb", "9p", "virtiofs", "vboxsf", "fuse.sshfs", "fuse.rclone", "fuse.vmhgfs", "afs")

# What a sync tool leaves in the folder it keeps in step, and what its folder is usually called.
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


def file_system_of(folder: Path) -> str:
    """The type of the file system `folder` stands on; empty where it cannot be told."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""  # not Linux: nothing to tell it by
    return nearest_mount(folder.resolve(), mounts)


def nearest_mount(path: Path, mounts: str) -> str:
    """The type of the file system `path` stands on, by the text of /proc/self/mountinfo; else empty."""
    best: tuple[int, str] = (-1, "")
    for line in mounts.splitlines():
        fields, _, rest = line.partition(" - ")
        point = Path(fields.split()[4].replace("\\040", " "))
        if path.is_relative_to(point) and len(point.parts) >= best[0]:
            best = (len(point.parts), rest.split()[0])
    return best[1]


def remote_kind(folder: Path) -> str:
    """The type of the network file system `folder` stands on; empty for a local disk, or where nothing tells."""
    kind = file_system_of(folder)
    return kind if kind.startswith(_REMOTE) else ""


def sync_tool_of(folder: Path) -> str | None:
    """The sync tool whose folder this is or stands in, by its mark or the usual name."""
    for place in (folder.resolve(), *folder.resolve().parents):
        for mark, tool in _SYNC_MARKS.items():
            if (place / mark).exists():
                return tool
        for name, tool in _SYNC_NAMES.items():
            if place.name.lower().startswith(name):
                return tool
    return None
