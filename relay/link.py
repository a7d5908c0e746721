"""The connection over a folder as a state machine: frames and the time in; frames to publish, messages, wake-ups out.

It knows no folder, no clock and no request: the driver scans, commits and publishes, in this order, between the calls.
"""

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from relay.frames import Ack, Frame, Kind, Message, Side, frame_bytes, hidden, packed
from relay.lives import Standing
from relay.names import AckName, AnyName, FrameName
from relay.ports import Cipher
from relay.profile import FRAME_OVERHEAD, MAX_FRAME_BYTES, Profile
from relay.tally import Tally
from relay.trips import RoundTrips

WANT_AGAIN_SECONDS: Final = 1.0  # a frame asked for is asked for again while it stays away
WANT_MIN_AGE_SECONDS: Final = 0.1  # younger frames may just not be visible yet: no reason to publish them twice
ACKS_KEPT: Final = 2
WINDOWS_HELD: Final = 4  # frames that came before their turn; an honest sender is one window ahead


@dataclass(frozen=True, slots=True)
class Me:
    """This side and this life of it. `epoch` is fresh for each start, `life` grows with each.

    On a paired link `key` seals this side's frames, `peer_key` proves the other's; `cipher` hides messages, if wanted.
    """

    link: str
    side: Side
    epoch: str
    life: int
    key: bytes | None = None
    peer_key: bytes | None = None
    cipher: Cipher | None = None
    hides: bool = False


@dataclass(frozen=True, slots=True)
class Peer:
    """What has to survive a restart about the other side: its newest life, and how much of it was taken."""

    epoch: str | None = None
    life: int = 0
    taken: int = 0


@dataclass(frozen=True, slots=True)
class Parcel:
    """A message, or a part of one, packed and waiting to leave."""

    kind: Kind
    id: str
    data: bytes
    last: bool = True


def hello(me: Me) -> Parcel:
    """The first word of a life."""
    return Parcel("hello", me.epoch, packed(Message("hello", me.epoch)))


@dataclass(frozen=True, slots=True)
class Publication:
    """One file to publish. Tell the link afterwards: `published` or `failed`."""

    name: AnyName
    data: bytes


@dataclass(frozen=True, slots=True)
class Received:
    """What a frame brought: new messages in the sender's order, and which of ours it proves received."""

    messages: tuple[Message, ...] = ()
    acknowledged: tuple[Parcel, ...] = ()
    new_life: bool = False


@dataclass(slots=True)
class _Flying:
    parcels: tuple[Parcel, ...]
    due: float
    attempt: int = -1  # none published yet
    published_at: float = -math.inf
    names: list[FrameName] = field(default_factory=list)


class Link:
    """One life of one side of a link."""

    def __init__(self, me: Me, peer: Peer, profile: Profile, now: float) -> None:
        self.me = me
        self.peer = peer
        self.tally = Tally()
        self.heard_at: float | None = None
        self._profile = profile
        self._waiting: deque[Parcel] = deque()
        self._waiting_bytes = 0
        self._flying: dict[int, _Flying] = {}
        self._next_seq = 1
        self._held: dict[int, Frame] = {}
        self._spoilt: set[int] = set()  # seen, and given up as unreadable: wanted anew
        self._ack_due = math.inf
        self._ack_number = 0
        self._peer_ack_number = -1
        self.standing = Standing()
        self._published_at = now
        self._refuse: list[AnyName] = []  # names that have served
        self._ack_names: deque[AckName] = deque()
        self.round_trips = RoundTrips()

    # --- sending

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def in_flight(self) -> int:
        return len(self._flying)

    def begin_again(self, me: Me) -> None:
        """Another life of this side, in the same process: of the one before nothing was taken, so all leaves anew."""
        unsent = [parcel for flying in self._flying.values() for parcel in flying.parcels]
        self._refuse.extend(name for flying in self._flying.values() for name in flying.names)
        self._refuse.extend(self._ack_names)
        self._waiting.extendleft(reversed(unsent))
        self._waiting = deque([hello(me), *(parcel for parcel in self._waiting if parcel.kind != "hello")])
        self._waiting_bytes = sum(len(parcel.data) for parcel in self._waiting)
        self._flying.clear()
        self._ack_names.clear()
        self.me, self.standing = me, Standing()
        self._next_seq, self._ack_number = 1, 0

    def has_room(self) -> bool:
        """Whether one more message may be taken on; else the caller gets `QueueFull`."""
        return len(self._waiting) < self._profile.queue_messages and self._waiting_bytes < self._profile.queue_bytes

    def send(self, parcels: Iterable[Parcel]) -> None:
        """Let the parcels leave with the next frames, in this order."""
        for parcel in parcels:
            if self.me.hides and self.me.cipher is not None and parcel.kind in ("request", "reply"):
                parcel = replace(parcel, data=hidden(parcel.data, self.me.cipher))
            self._waiting.append(parcel)
            self._waiting_bytes += len(parcel.data)

    def outgoing(self, now: float, wall: float, *, requests_open: bool) -> list[Publication]:
        """Every frame that is to be published now. Commit what was received before: these acknowledge it."""
        self._fill_window(now)
        due = [self._frame(seq, flying, wall) for seq, flying in self._flying.items() if flying.due <= now]
        if due:
            return due
        # Where requests are open the peer waits for a sign that its own arrived; else there is no hurry.
        latest = self._profile.ack_soon_seconds if requests_open else self._profile.ack_late_seconds
        if min(self._ack_due + latest, self._heartbeat_due()) <= now:
            name = AckName(self.me.epoch, self._ack_number + 1)
            return [Publication(name, self._bytes(name, (), wall))]
        return []

    def published(self, publication: Publication, now: float) -> None:
        """The file is in the folder."""
        self._published_at = now
        self._ack_due = now + WANT_AGAIN_SECONDS if self._missing() else math.inf
        match publication.name:
            case AckName() as name:
                self.tally.acks += 1
                self._ack_number = name.number
                self._ack_names.append(name)
                while len(self._ack_names) > ACKS_KEPT:
                    self._refuse.append(self._ack_names.popleft())
            case FrameName() as name:
                flying = self._flying[name.seq]
                self.tally.published += 1
                flying.attempt += 1
                self.tally.repeated += flying.attempt > 0
                self._refuse.extend(flying.names)
                flying.names = [name]
                flying.published_at = now
                flying.due = now + self._patience(flying.attempt)

    def failed(self, publication: Publication, *, name_used: bool) -> None:
        """It could not be published; it stays due. A name that may exist now is never tried again."""
        if not name_used:
            return
        match publication.name:
            case AckName() as name:
                self._ack_number = name.number
                self._refuse.append(name)
            case FrameName() as name:
                self._flying[name.seq].attempt += 1
                self._flying[name.seq].names.append(name)

    def take_refuse(self) -> list[AnyName]:
        """The names to delete now, each given once."""
        refuse, self._refuse = self._refuse, []
        return refuse

    def postpone(self, seconds: float) -> None:
        """Time in which nothing could arrive (share gone, machine asleep) does not count towards any deadline."""
        for flying in self._flying.values():
            flying.due += seconds
        self._published_at += seconds
        if self.heard_at is not None:
            self.heard_at += seconds

    def wake_at(self, *, requests_open: bool) -> float:
        """When `outgoing` has something to say without anything having happened."""
        latest = self._profile.ack_soon_seconds if requests_open else self._profile.ack_late_seconds
        if self._waiting and len(self._flying) < self._profile.window:
            return -math.inf
        due = min((flying.due for flying in self._flying.values()), default=math.inf)
        return min(due, self._ack_due + latest, self._heartbeat_due())

    # --- receiving

    def wants(self, name: AnyName, now: float) -> bool:
        """Whether the file is worth reading. A copy of what was taken is not: but its sender missed our word."""
        if name.epoch != self.peer.epoch:
            return name.epoch != self.me.epoch
        match name:
            case AckName(number=number):
                return number > self._peer_ack_number
            case FrameName(seq=seq):
                if seq <= self.peer.taken:
                    self.tally.doubled += 1
                    self._acknowledge_by(now)
                    return False
                return seq not in self._held

    def is_ahead(self, name: AnyName) -> bool:
        """Whether the frame is so far ahead that it has to stay in the folder until its turn comes nearer."""
        if isinstance(name, AckName) or name.epoch != self.peer.epoch:
            return False
        return name.seq > self.peer.taken + WINDOWS_HELD * self._profile.window

    def spoilt(self, name: AnyName, now: float) -> None:
        """The file under this name will never be whole: ask for another copy of the frame."""
        if isinstance(name, AckName) or name.epoch != self.peer.epoch or self.is_ahead(name):
            return
        if name.seq > self.peer.taken and name.seq not in self._held:
            self._spoilt.add(name.seq)
            self._acknowledge_by(now - self._profile.ack_late_seconds)

    def receive(self, frame: Frame, now: float) -> Received:
        """Take one frame in. Messages come out once each and in the order they were sent (P7)."""
        new_life = False
        if frame.epoch != self.peer.epoch:
            if frame.life <= self.peer.life:
                self.tally.resurrected += 1
                self._is_for_us(frame, current=False)
                return Received()
            self.peer = Peer(frame.epoch, frame.life, 0)
            self._held.clear()
            self._spoilt.clear()
            self._peer_ack_number = -1
            self.standing.forget_peer()
            self._acknowledge_by(now)
            new_life = True
        self._hear(now)
        self.tally.malformed += frame.malformed
        acknowledged = self._note_ack(frame, now)
        if frame.number is not None:
            self._peer_ack_number = max(self._peer_ack_number, frame.number)
            return Received((), acknowledged, new_life)
        return Received(self._take(frame, now), acknowledged, new_life)

    def _take(self, frame: Frame, now: float) -> tuple[Message, ...]:
        if frame.low > self.peer.taken + 1:
            # An earlier life of ours acknowledged all below and died before it remembered that it had.
            self._advance(frame.low - 1)
        if frame.seq <= self.peer.taken or frame.seq in self._held:
            self.tally.doubled += 1
            self._acknowledge_by(now)
            return ()
        if self.is_ahead(frame.name):
            return ()
        self._held[frame.seq] = frame
        messages: list[Message] = []
        while (following := self._held.pop(self.peer.taken + 1, None)) is not None:
            self.tally.taken += 1
            messages.extend(following.messages)
            self._advance(following.seq)
        if self._held:
            # A gap: ask at once. The delay of `outgoing` is taken off again so that nothing is waited for.
            self._ack_due = min(self._ack_due, now + self._profile.visibility_seconds - self._profile.ack_late_seconds)
        else:
            self._acknowledge_by(now)
        return tuple(messages)

    def _advance(self, seq: int) -> None:
        self.peer = Peer(self.peer.epoch, self.peer.life, seq)
        for held in [held for held in self._held if held <= seq]:
            del self._held[held]
        if self._spoilt:
            self._spoilt = {each for each in self._spoilt if each > seq}

    def _acknowledge_by(self, now: float) -> None:
        self._ack_due = min(self._ack_due, now)

    def _hear(self, now: float) -> None:
        self.heard_at = now
        for flying in self._flying.values():
            if flying.due == math.inf:
                flying.due = now

    def _note_ack(self, frame: Frame, now: float) -> tuple[Parcel, ...]:
        ack = frame.ack
        if ack is None or not self._is_for_us(frame, current=True):
            return ()
        done = [seq for seq in self._flying if seq <= ack.seq]
        parcels: list[Parcel] = []
        for seq in done:
            flying = self._flying.pop(seq)
            self.tally.acknowledged += 1
            if flying.attempt == 0:  # after a repetition nobody knows which copy was acknowledged (Karn)
                self.round_trips.note(now - flying.published_at)
            self._refuse.extend(flying.names)
            parcels.extend(flying.parcels)
        is_news = frame.number is None or frame.number > self._peer_ack_number
        for seq in ack.want if is_news else ():
            wanted = self._flying.get(seq)
            if wanted and wanted.published_at <= now - WANT_MIN_AGE_SECONDS:
                wanted.due = now
        return tuple(parcels)

    def _is_for_us(self, frame: Frame, *, current: bool) -> bool:
        ack, me = frame.ack, self.me
        return ack is not None and self.standing.note(ack, epoch=me.epoch, life=me.life, current=current)

    # --- the window

    def _fill_window(self, now: float) -> None:
        while self._waiting and len(self._flying) < self._profile.window:
            room = MAX_FRAME_BYTES - FRAME_OVERHEAD
            parcels: list[Parcel] = []
            while self._waiting and (not parcels or len(self._waiting[0].data) < room):
                parcel = self._waiting.popleft()
                room -= len(parcel.data) + 1
                self._waiting_bytes -= len(parcel.data)
                parcels.append(parcel)
            self._flying[self._next_seq] = _Flying(tuple(parcels), due=now)
            self._next_seq += 1

    def _frame(self, seq: int, flying: _Flying, wall: float) -> Publication:
        name = FrameName(self.me.epoch, seq, flying.attempt + 1)
        return Publication(name, self._bytes(name, flying.parcels, wall))

    def _bytes(self, name: AnyName, parcels: Iterable[Parcel], wall: float) -> bytes:
        ack = None
        if self.peer.epoch is not None:
            ack = Ack(self.peer.epoch, self.peer.life, self.peer.taken, self._missing())
        return frame_bytes(
            link=self.me.link,
            sender=self.me.side,
            epoch=self.me.epoch,
            life=self.me.life,
            name=name,
            low=min(self._flying, default=self._next_seq),
            ack=ack,
            sent_at=wall,
            messages=[parcel.data for parcel in parcels],
            key=self.me.key,
        )

    def _missing(self) -> list[int]:
        if not self._held and not self._spoilt:
            return []
        gap = range(self.peer.taken + 1, max(self._held, default=0))
        missing = self._spoilt.union(seq for seq in gap if seq not in self._held)
        return sorted(missing - self._held.keys())[: self._profile.window]

    def _patience(self, attempt: int) -> float:
        """How long to wait for the acknowledgement of this attempt: twice the same, then doubling."""
        if attempt >= self._profile.silent_attempts and (
            self.heard_at is None or self.heard_at < self._published_at - self._profile.offline_seconds
        ):
            return math.inf  # nobody is there; the first sign of life makes it due
        first = max(self._profile.resend_after, 1.5 * self.round_trips.average)
        doublings = min(max(0, attempt - 1), 16)
        return min(self._profile.resend_limit_seconds, first * 2.0**doublings)

    def _heartbeat_due(self) -> float:
        return self._published_at + self._profile.heartbeat_seconds
