"""Which file system a folder stands on, as far as this system tells: a hint, never proof."""

from pathlib import Path

# A folder or file that a sync tool keeps in what it syncs.
_SYNC_MARKS = {
    ".stfolder": "syncthing",
    ".dropbox": "dropbox",
    ".dropbox.cache": "dropbox",
    ".owncloudsync.log": "owncloud",
}


def file_system_of(folder: Path) -> str:
    """The type of the file system `folder` stands on; empty where it cannot be told."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""  # not Linux: nothing to tell it by
    path = str(folder.resolve())
    best, kind = "", ""
    for line in mounts:
        fields, _, rest = line.partition(" - ")
        point = fields.split()[4].replace("\\040", " ")
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, rest.split()[0]
    return kind


def sync_tool_of(folder: Path) -> str | None:
    """The sync tool that carries `folder`, by the marks it leaves."""
    for place in (folder.resolve(), *folder.resolve().parents):
        for mark, tool in _SYNC_MARKS.items():
            if (place / mark).exists():
                return tool
    return None
