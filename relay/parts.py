"""Large messages travel as parts: cut here, and made whole again within bounds."""

from collections.abc import Iterable
from typing import Final

from relay.frames import Message, packed_parts
from relay.link import Parcel

MAX_UNFINISHED: Final = 8  # one sender sends its parts in a row, so more than a few is a broken sender


class Assembly:
    """The parts that have come of messages that are not whole yet. Frames are taken in order, and so are parts."""

    def __init__(self, limit_bytes: int, kept: Iterable[Message] = ()) -> None:
        self.broken = 0
        self._limit = limit_bytes
        self._parts: dict[str, list[Message]] = {}
        for message in kept:
            self.whole(message)

    def whole(self, message: Message) -> Message | None:
        """The whole message if this was its last part. A first part starts anew; one out of its turn is dropped."""
        index, count = message.part
        if count == 1:
            return message
        if index == 1:
            self._parts[message.id] = []
            while len(self._parts) > MAX_UNFINISHED:
                self._drop(next(iter(self._parts)))
        parts = self._parts.get(message.id)
        if parts is None:
            return None
        size = sum(len(part.body) for part in parts) + len(message.body)
        if index != len(parts) + 1 or (parts and parts[0].part[1] != count) or size > self._limit:
            self._drop(message.id)
            return None
        parts.append(message)
        if index < count:
            return None
        del self._parts[message.id]
        return Message(message.kind, message.id, parts[0].head, b"".join(part.body for part in parts))

    def clear(self) -> None:
        """The sender's life is over; it sends everything anew."""
        self._parts.clear()

    def _drop(self, message_id: str) -> None:
        self.broken += 1
        del self._parts[message_id]


def parcels_of(message: Message) -> tuple[Parcel, ...]:
    """A request or reply, cut to what frames carry."""
    pieces = packed_parts(message)
    return tuple(Parcel(message.kind, message.id, piece, piece is pieces[-1]) for piece in pieces)
