"""Which of this side's own files have served, and their deletion when there is nothing better to do."""

import math
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from relay.names import AnyName
from relay.ports import Folder

# Deleting costs as much as publishing: up to so many files, and so long, wait while there is something better to do.
MAX_REFUSE: Final = 8
REFUSE_SECONDS: Final = 0.02


class Refuse:
    """What is to be deleted, oldest first."""

    def __init__(self, folder: Folder, assure: Callable[[], None]) -> None:
        self._folder, self._assure = folder, assure
        self._names: deque[str] = deque()

    def add(self, names: Iterable[AnyName | str]) -> None:
        """These have served."""
        self._names.extend(str(name) for name in names)

    def delete(self, *, keep: int) -> bool:
        """Delete all but the newest `keep` files; whether there was anything to do. Raises `ShareFault`."""
        deleted = False
        while len(self._names) > max(0, keep):
            self._assure()
            self._folder.delete(self._names[0])
            self._names.popleft()
            deleted = True
        return deleted

    def clear(self) -> None:
        """None of it is ours to delete any more."""
        self._names.clear()

    def wake_at(self, now: float) -> float:
        """When what waits is to be deleted at the latest."""
        return now + REFUSE_SECONDS if self._names else math.inf
