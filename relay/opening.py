"""How a side begins: it finds the link, takes its memory and its keys, and makes sure that nobody else is this side."""

from dataclasses import dataclass

from relay.assurance import Assurance
from relay.beacon import Beacon
from relay.errors import ProtocolMismatch
from relay.exchange import Settings
from relay.keying import LinkKeys
from relay.link import Me
from relay.pairing import keys_of, with_keys
from relay.places import machine_of
from relay.ports import Clock, Folder
from relay.presence import Presence
from relay.profile import PROTOCOL
from relay.state import State, default_state_folder


@dataclass(frozen=True, slots=True)
class Opened:
    """What a life begins with."""

    beacon: Beacon
    state: State
    keys: LinkKeys | None


class Opening:
    """One attempt after the other, until the share is there and the side is free."""

    def __init__(self, settings: Settings, folder: Folder, share: Assurance, clock: Clock) -> None:
        self.state: State | None = None  # held from the moment its lock is
        self._settings, self._folder, self._share, self._clock = settings, folder, share, clock
        self._presence: Presence | None = None

    def step(self, now: float, presence_seconds: float) -> Opened | None:
        """All of it, or `None`: look again soon. Raises `ShareFault`, `NotAFrame`, and whatever refuses the side."""
        beacon = self._share.first()
        self._folder.prepare()
        if not beacon.speaks(PROTOCOL):
            raise ProtocolMismatch(f"link {beacon.name} speaks protocols {beacon.protocol}, this side {PROTOCOL}")
        settings, side = self._settings, self._settings.side
        if self.state is not None and beacon != self._share.beacon:
            self.leave()
        if self.state is None:
            folder = settings.state_dir or default_state_folder()
            self.state = State(folder, beacon, side, settings.durability, self._clock, machine_of(settings))
            self._share.beacon = beacon
        keys = keys_of(self.state, beacon.link, side, settings.key_file)
        if self._presence is None:
            me = with_keys(Me(beacon.link, side, "", self.state.life() + 1), keys)
            self._presence = Presence(self._folder, me, self.state.epochs(), now + presence_seconds)
        return None if self._presence.watching(now) else Opened(beacon, self.state, keys)

    def leave(self) -> None:
        """It was not the right link: begin anew."""
        state, self.state, self._presence = self.state, None, None
        self._share.forget()
        if state is not None:
            state.close()
