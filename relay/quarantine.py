"""Copies of files that turned out to be no frames, on the local disk, for people to look at. Bounded."""

import logging
from pathlib import Path
from typing import Final

_LOG: Final = logging.getLogger(__name__)
QUARANTINE_NAME: Final = "quarantine"
QUARANTINE_FILES: Final = 50


class Quarantine:
    """What is kept; the file in the share is its sender's to delete."""

    def __init__(self, state_folder: Path) -> None:
        self.folder = state_folder / QUARANTINE_NAME
        self.count = 0

    def keep(self, name: str, data: bytes, reason: object) -> None:
        """Keep a copy, as long as there is room: a flood must not fill the local disk."""
        self.count += 1
        _LOG.warning("%s is no frame (%s) and was put into quarantine", name, reason)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if len(list(self.folder.iterdir())) < QUARANTINE_FILES:
            (self.folder / name).write_bytes(data)
