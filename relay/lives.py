"""Which life of this side the other one goes by, as its acknowledgements tell: this one, a later or an earlier one."""

from dataclasses import dataclass

from relay.frames import MAX_INTEGER, Ack


@dataclass(slots=True)
class Standing:
    """What became of this life, by the words of the other side."""

    superseded_by: str | None = None
    """The epoch of another process that is this side now: it began later, when this life was known already."""

    behind: int | None = None
    """A life the other side knows, and not this one: its frames are ignored until they bear a greater count."""

    _known: bool = False

    def note(self, ack: Ack, *, epoch: str, life: int, current: bool) -> bool:
        """Whether `ack` is meant for this life; `current`: it comes from the life of the peer that counts now.

        The counts a peer's life acknowledges only grow. So of two lives of our side the greater one came later; and
        one above ours that stood before us belongs to a past in which this side's clock was ahead of today's.
        """
        if ack.epoch == epoch:
            self._known |= current
            return current
        if ack.life >= life and ack.life < MAX_INTEGER:
            if self._known:
                self.superseded_by = ack.epoch if current else self.superseded_by
            else:
                self.behind = max(ack.life, self.behind or 0)
        return False

    def forget_peer(self) -> None:
        """The peer has begun a new life, and may know less than the one before."""
        self._known = False
