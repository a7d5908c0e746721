"""The simulated share: one folder, two views that do not agree, and everything a share does to files."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from relay.beacon import beacon_bytes
from relay.errors import FrameGone, FrameUnfit, ShareFault, ShareState
from relay.frames import PEER_OF, Side
from relay.names import frame_name
from relay.testing import MemoryShare
from relay.testing.memory import MemoryView
from tests.simulation.clock import SimulatedIds
from tests.simulation.faults import FOLDER, Weather
from tests.simulation.virtual_time import Process, Time

# The other devices that may stand in the share's place: each side has its own, an empty link that nobody else is on.
OTHER_LINKS: Final[dict[Side, str]] = {"hub": "f" * 32, "agent": "e" * 32}
FOREIGN_NAMES = (".DS_Store", "~lock.json", "Thumbs.db", ".syncthing.frame.json.tmp", "._0123456789ab-00000001-00.json")


@dataclass(slots=True)
class _Shown:
    """How a file looks to its reader: from `at` on; spoilt until `whole_at`, not to be opened until `open_at`."""

    at: float
    data: bytes
    spoilt: bytes | None = None
    whole_at: float = math.inf
    open_at: float = 0.0
    refuses: bool = False


class SimulatedShare(MemoryShare):
    """What was published is in `files`; what the reader sees of it is in `shown`."""

    def __init__(self, time: Time, weather: Weather, *, latency: float, announces: bool) -> None:
        super().__init__("main", ids=SimulatedIds(7))
        self.time, self.weather = time, weather
        self.latency, self.announces = latency, announces
        self.shown: dict[Side, dict[str, _Shown]] = {"hub": {}, "agent": {}}
        self.published: dict[str, list[bytes]] = {}  # every content a name ever had
        self.bells: dict[Side, list[Callable[[], None]]] = {"hub": [], "agent": []}
        self.states: dict[Side, ShareState] = {"hub": "ok", "agent": "ok"}
        self.other_device: dict[Side, bool] = {"hub": False, "agent": False}
        self.stale: dict[Side, list[str] | None] = {"hub": None, "agent": None}
        self.hooks: list[Callable[[Side, str], None]] = []  # told of every publication, before its fate is drawn

    def put(self, reader: Side, name: str, data: bytes) -> None:
        """A file is in the folder; how and when its reader sees it is fate."""
        self.published.setdefault(name, []).append(data)
        self.files[reader][name] = data
        for hook in self.hooks:
            hook(reader, name)
        chance = self.weather.chance
        shown = _Shown(self.time.now + self.latency * (0.5 + chance.random()), data)
        match self.weather.strikes(FOLDER):
            case "lost":
                if chance.random() < 0.5:
                    del self.files[reader][name]
                shown.at = math.inf
            case "late":
                shown.at += chance.choice((5.0, 30.0, 120.0, 900.0))
            case "overtaken":
                shown.at += chance.uniform(0.5, 4.0)
            case "doubled":
                self.litter(reader, f"{name[:-5]}.sync-conflict-20261013-100000-ABCDEFG.json", data)
            case "resurrected":
                self.time.at(shown.at + chance.choice((10.0, 60.0, 600.0)), lambda: self.resurrect(reader, name, data))
            case "truncated":
                shown.spoilt = data[: chance.randrange(len(data))]
                shown.whole_at = self._healed()
            case "nul tail":
                cut = chance.randrange(len(data))
                shown.spoilt = data[:cut] + bytes(len(data) - cut)
                shown.whole_at = self._healed()
            case "bit flip":
                bit = chance.randrange(8 * len(data))
                shown.spoilt = data[: bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1 :]
            case "unreadable":
                shown.open_at, shown.refuses = shown.at + chance.choice((2.0, 60.0)), True
            case "stale negative":
                shown.open_at = shown.at + chance.choice((1.0, 30.0))
        self.show(reader, name, shown)

    def _healed(self) -> float:
        # A file being copied is whole soon; one that was cut stays so.
        return self.time.now + self.weather.chance.choice((1.0, 20.0, math.inf))

    def show(self, reader: Side, name: str, shown: _Shown) -> None:
        self.shown[reader][name] = shown
        if self.announces and shown.at < math.inf:
            self.time.at(shown.at, lambda: self.announce(reader))

    def announce(self, reader: Side) -> None:
        for bell in self.bells[reader]:
            bell()

    def litter(self, reader: Side, name: str, data: bytes = b"?") -> None:
        """A file that is nobody's frame."""
        self.files[reader][name] = data
        self.shown[reader][name] = _Shown(self.time.now, data)

    def resurrect(self, reader: Side, name: str, data: bytes) -> None:
        """A sync tool brings back what was deleted."""
        if name not in self.files[reader]:
            self.show(reader, name, _Shown(self.time.now, data))

    def remove(self, reader: Side, name: str) -> None:
        self.files[reader].pop(name, None)
        self.shown[reader].pop(name, None)

    def heal(self) -> None:
        """Everything is as it should be: what is in the folder is seen, whole and by everybody."""
        for reader in PEER_OF:
            self.states[reader], self.other_device[reader], self.stale[reader] = "ok", False, None
            for name, shown in self.shown[reader].items():
                if name in self.files[reader]:
                    shown.at, shown.spoilt, shown.open_at = min(shown.at, self.time.now), None, 0.0

    def simulated_view(self, side: Side, process: Process) -> "SimulatedView":
        return SimulatedView(self, side, process)


class SimulatedView(MemoryView):
    """One side's view, for one process: every effect is passed by a point where the power may go (`Folder`)."""

    share: SimulatedShare

    def __init__(self, share: SimulatedShare, side: Side, process: Process) -> None:
        super().__init__(share, side)
        self._process = process
        self.last_read: tuple[str, bytes] | None = None
        self.listen = None  # the world rings the bells

    def beacon(self) -> bytes:
        self._must_be_there()
        self._looked = self._there()
        return self._looked

    def _there(self) -> bytes:
        if self.share.other_device[self.side]:
            return beacon_bytes(OTHER_LINKS[self.side], "main")
        assert self.share.beacon is not None
        return self.share.beacon

    def check(self) -> bool:
        self._must_be_there()
        return self._looked == self._there()

    def arrivals(self) -> list[str]:
        self._must_be_there()
        if self.share.other_device[self.side]:
            return []
        stale = self.share.stale[self.side]
        if stale is not None:
            return list(stale)
        now = self.share.time.now
        return [name for name, shown in self.share.shown[self.side].items() if shown.at <= now]

    def own(self) -> list[str]:
        self._must_be_there()
        if self.share.other_device[self.side]:
            return []
        return list(self.share.files[PEER_OF[self.side]])

    def read(self, name: str, limit: int) -> bytes:
        self._must_be_there()
        assert frame_name(name) is not None, f"P16: the foreign file {name} was opened"
        shown = self.share.shown[self.side].get(name)
        now = self.share.time.now
        if shown is None or shown.at > now or self.share.other_device[self.side]:
            raise FrameGone(name)
        if shown.open_at > now:
            if shown.refuses:
                raise ShareFault("denied", f"{name}: permission denied")
            raise FrameGone(name)
        data = shown.data if shown.spoilt is None or shown.whole_at <= now else shown.spoilt
        if len(data) > limit:
            raise FrameUnfit(name)
        self.last_read = (name, data)
        return data

    def publish(self, name: str, data: bytes, *, durable: bool, first: Callable[[], None] = lambda: None) -> None:
        self._process.point("publish before")
        self._must_be_writable(name)
        first()
        if self.share.other_device[self.side]:
            return  # swallowed: nobody reads there
        assert name not in self.share.files[PEER_OF[self.side]], f"the name {name} was used while it is in the folder"
        self.share.put(PEER_OF[self.side], name, data)
        self._process.point("publish after")
        if self.share.weather.strikes({"unsure publication": FOLDER["unsure publication"]}):
            raise ShareFault("lost", f"{name}: stale file handle after the rename", name_used=True)

    def delete(self, name: str) -> None:
        self._process.point("delete before")
        self._must_be_writable(name)
        assert frame_name(name) is not None, f"P16: the foreign file {name} was deleted"
        if self.share.other_device[self.side]:
            return
        self.share.remove(PEER_OF[self.side], name)
        self._process.point("delete after")

    def _must_be_there(self) -> None:
        state = self.share.states[self.side]
        if state not in ("ok", "full", "readonly"):
            raise ShareFault(state, "so the world has it")

    def _must_be_writable(self, name: str) -> None:
        state = self.share.states[self.side]
        if state != "ok":
            raise ShareFault(state, f"{name}: so the world has it")
