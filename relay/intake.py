"""What becomes of each file that is seen: read or not, taken, waited for, put into quarantine, or left for good.

Of a link's state only what the files in the folder have to do with; when to look is `looking`'s business.
"""

import math
from collections.abc import Callable, Iterable

from relay.errors import FrameGone, FrameUnfit, NotAFrame, ShareFault
from relay.frames import PEER_OF, Frame, frame_from
from relay.link import Link, Received
from relay.looking import Doubts
from relay.names import AnyName, FrameName, frame_name, taking_order
from relay.ports import Folder
from relay.profile import MAX_FRAME_BYTES, Profile
from relay.quarantine import Quarantine
from relay.sealing import sealed_otherwise


class Intake:
    """The files of the other side."""

    def __init__(self, folder: Folder, profile: Profile) -> None:
        self.doubts = Doubts()
        self.quarantine: Quarantine | None = None
        self.profile = profile
        self.counts = {"foreign": 0, "unfit": 0, "quarantined": 0, "downgraded": 0, "keyed": 0, "guessed": 0}
        self._folder = folder
        self._known: set[str] = set()
        self._early: set[str] = set()  # read once and right, but their turn is still far
        self._guess_due = -math.inf

    def fresh(self, link: Link, names: Iterable[str]) -> list[tuple[AnyName, str]]:
        """The frames in a listing that are still of interest, in the order in which they are to be taken."""
        present = set(names)
        self._known &= present
        self._early &= present
        self.doubts.settle(present)
        fresh = present - self._known
        frames = [(parsed, name) for name in fresh if (parsed := frame_name(name)) is not None]
        self.counts["foreign"] = len(fresh) - len(frames)
        frames.sort(key=lambda found: taking_order(found[0], link.peer.epoch))
        return frames

    def take(
        self, link: Link, parsed: AnyName, name: str, now: float, assure_share: Callable[[], None]
    ) -> Received | None:
        """Read one file; what it brought, `None` if there was nothing to see. `assure_share` raises if it is away."""
        if not self.doubts.may_look(name, now) or (name in self._early and link.is_ahead(parsed)):
            return None
        if not link.wants(parsed, now):
            self._settle(link, parsed, name)
            return None
        try:
            data = self._folder.read(name, MAX_FRAME_BYTES)
        except FrameGone:
            self.doubts.clear(name)  # listed and not there: a stale listing; the next scan looks again
            return None
        except FrameUnfit:
            self.counts["unfit"] += 1
            self._known.add(name)
            self.doubts.clear(name)
            return None
        except ShareFault:
            # One file that nobody may read must not stop the others; a share that fails altogether fails here too.
            assure_share()
            self.doubts.note(name, b"", now)
            return None
        try:
            frame = _checked(frame_from(data, parsed, link.me.peer_key, link.me.cipher), link)
        except NotAFrame as error:
            self._doubt(link, parsed, name, data, error, now)
            return None
        received = link.receive(frame, now)
        self._settle(link, parsed, name)
        return received

    def guess(self, link: Link, now: float, *, heard: bool, waiting: bool) -> FrameName | None:
        """The next frame's predictable name, to be opened although no listing showed it: rarely.

        Listings lag where opening is fresh (sshfs: 20 s). But each miss renews a negative entry where opening lags
        (NFS: 30 s), so it is only tried while an answer is overdue, and not where the doctor found that.
        """
        if heard or not waiting or link.peer.epoch is None:
            self._guess_due = now + self.profile.guess_seconds
            return None
        if now < self._guess_due:
            return None
        self._guess_due = now + self.profile.guess_seconds
        self.counts["guessed"] += 1
        return FrameName(link.peer.epoch, link.peer.taken + 1, 0)

    def _settle(self, link: Link, parsed: AnyName, name: str) -> None:
        """There is nothing more to be had from this file, unless its turn is still to come."""
        (self._early if link.is_ahead(parsed) else self._known).add(name)
        self.doubts.clear(name)  # a better copy came meanwhile: a doubt that stays due would never let us sleep

    def _doubt(self, link: Link, parsed: AnyName, name: str, data: bytes, error: NotAFrame, now: float) -> None:
        if sealed_otherwise(data, link.me.peer_key):
            # Whole, and it will never count: only one side is paired, or somebody tries to get in without the key.
            self.counts["keyed" if link.me.peer_key is None else "downgraded"] += 1
            self._known.add(name)
            self.doubts.clear(name)
        elif self.doubts.note(name, data, now):
            assert self.quarantine is not None
            self._known.add(name)
            self.quarantine.keep(name, data, error)
            self.counts["quarantined"] = self.quarantine.count
            link.spoilt(parsed, now)


def _checked(frame: Frame, link: Link) -> Frame:
    if frame.link != link.me.link or frame.sender != PEER_OF[link.me.side]:
        raise NotAFrame(f"a frame of link {frame.link} from the {frame.sender}")
    return frame
