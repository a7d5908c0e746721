"""That the share is there and is the right one: asked before each read and write, for an empty or strange folder proves
nothing, and swallows what is written into it."""

from relay.beacon import Beacon, beacon_from
from relay.errors import NotAFrame, ShareFault
from relay.ports import Folder


class Assurance:
    """The beacon, as it was when the link was opened and as it is now."""

    def __init__(self, folder: Folder) -> None:
        self.beacon: Beacon | None = None  # of the link that was opened
        self._folder = folder
        self._doubted = False

    def first(self) -> Beacon:
        """Which link this folder is, before one was opened. Raises `ShareFault`, `NotAFrame`."""
        return beacon_from(self._folder.beacon())

    def assure(self) -> None:
        """Raises `ShareFault` where the folder is not that link now."""
        if self._folder.check() and not self._doubted:
            return
        self._doubted = True
        try:
            beacon = beacon_from(self._folder.beacon())
        except NotAFrame as error:
            raise ShareFault("lost", str(error)) from error
        if self.beacon is not None and beacon.link != self.beacon.link:
            raise ShareFault("foreign", f"this is link {beacon.name} ({beacon.link}), not {self.beacon.link}")
        self._doubted = False

    def doubt(self) -> None:
        """Something in the folder could not be read: whether all of it is away. Raises `ShareFault` if so."""
        self._doubted = True
        self.assure()

    def forget(self) -> None:
        """The link that was opened is left."""
        self.beacon, self._doubted = None, False
