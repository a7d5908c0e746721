"""Whether another process is this side of the link already, perhaps on another machine: known by what it does now.

No clock is compared: files that lie there prove nothing, for a machine that has died leaves its own for ever.
"""

from collections.abc import Collection

from relay.errors import AlreadyRunning, FrameGone, FrameUnfit, NotAFrame
from relay.leftovers import another, own_frame
from relay.link import Me
from relay.names import AnyName, frame_name
from relay.ports import Folder


class Presence:
    """A watch over this side's own folder, before it publishes anything."""

    def __init__(self, folder: Folder, me: Me, ours: Collection[str], until: float) -> None:
        """`ours`: the epochs this memory has lived. Where nobody else has written, there is nothing to wait for."""
        self._folder, self._me, self._ours = folder, me, ours
        self._before = set(folder.own())
        self._until = until if any(self._strange(name) for name in self._before) else None

    def watching(self, now: float) -> bool:
        """Whether it is too early to tell. Raises `AlreadyRunning` as soon as another process publishes something."""
        if self._until is None:
            return False
        for name in set(self._folder.own()) - self._before:
            if (frame := self._strange(name)) is not None:
                raise AlreadyRunning(f"{another(self._me, *frame)}, and is at work: stop it first")
            self._before.add(name)
        return now < self._until

    def _strange(self, name: str) -> tuple[str, int] | None:
        """Epoch and life of a frame of this side that no life of this memory has written."""
        parsed: AnyName | None = frame_name(name)
        if parsed is None or parsed.epoch in self._ours:
            return None
        try:
            frame = own_frame(self._folder, parsed, self._me)
        except (FrameGone, FrameUnfit, NotAFrame):
            return None
        return (frame.epoch, frame.life) if (frame.link, frame.sender) == (self._me.link, self._me.side) else None
