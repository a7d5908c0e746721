"""Where a side works: the folder its settings name, the doorbell that fits it, and where its machine's locks are."""

import os
from pathlib import Path

from relay.doorbell import bell_of, doorbell_for
from relay.exchange import Settings
from relay.folder import LocalFolder
from relay.holding import machine_folder
from relay.ports import Clock, Doorbell, Folder


def folder_and_bell(settings: Settings, clock: Clock) -> tuple[Folder, Doorbell]:
    """The link folder on a file system or in memory, and the bell that its arrivals ring."""
    if isinstance(settings.folder, (str, os.PathLike)):
        folder = LocalFolder(Path(settings.folder), settings.side, clock)
        return folder, doorbell_for(folder.inbox)
    return settings.folder, bell_of(settings.folder)


def machine_of(settings: Settings) -> Path | None:
    """Where the processes of this machine that use the same folder find each other; one in memory has no others."""
    return machine_folder() if isinstance(settings.folder, (str, os.PathLike)) else None
