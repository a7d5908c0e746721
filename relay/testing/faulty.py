"""A share in memory that behaves like a real kind of share, and fails when it is told to: for tests of programs.

Deterministic but for the threads that use it: faults strike the nth operation of a side, weather comes from a seed.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from relay.clock import SystemClock
from relay.errors import FrameGone, ShareFault, ShareState
from relay.frames import PEER_OF, Side
from relay.ports import Clock, Ids
from relay.profile import Profile
from relay.testing.habits import HABITS, ON_LISTING, ON_PUBLISH, ON_READING, Fault, FaultKind, Habits
from relay.testing.memory import MemoryShare, MemoryView
from relay.testing.showing import Shown, first_look

Operation = str
_OUTAGES: Final[dict[FaultKind, ShareState]] = {"eio": "lost", "enotconn": "lost", "unmounted": "lost"}
_REFUSALS: Final[dict[FaultKind, ShareState]] = {"enospc": "full", "readonly": "readonly", "sharing_violation": "lost"}
_WEATHER_SECONDS: Final = 20.0  # at pace 1


class SteppingClock:
    """A clock (`Clock`) whose wall can be set, as after suspend or a snapshot; time itself is that of `base`."""

    def __init__(self, base: Clock) -> None:
        self._base = base
        self._offset = 0.0

    def step(self, seconds: float) -> None:
        """Set the wall clock forward, or back."""
        self._offset += seconds

    def wall(self) -> float:
        return self._base.wall() + self._offset

    def monotonic(self) -> float:
        return self._base.monotonic()

    def sleep(self, seconds: float) -> None:
        self._base.sleep(seconds)

    def boot_id(self) -> str:
        return self._base.boot_id()


class FaultyShare(MemoryShare):
    """One link folder on a share of the given kind: nfs, smb, sshfs, hgfs, vboxsf, virtiofs or syncthing.

    `faults` strike once each; `weather` is the chance (0 to 1) that an operation meets one of the kind's own faults.
    `pace` scales the kind's delays: 1.0 is as measured (sshfs: 20 s), the default makes a test of it. Give `clock`
    to client and server where clock steps are among the faults, and `profile` to both in any case.
    """

    def __init__(
        self,
        kind: str | Habits = "nfs",
        *,
        faults: Iterable[Fault] = (),
        weather: float = 0.0,
        seed: int = 0,
        pace: float = 0.01,
        name: str = "main",
        ids: Ids | None = None,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(name, ids=ids)
        self.habits = HABITS[kind] if isinstance(kind, str) else kind
        self.clock = SteppingClock(clock or SystemClock())
        self.pace = pace
        self.struck: Counter[FaultKind] = Counter()
        self.shown: dict[Side, dict[str, Shown]] = {"hub": {}, "agent": {}}
        self._faults = {(fault.side, _struck_by(fault.kind), fault.nth): fault for fault in faults}
        self._weather, self._seed = weather, seed
        self._done: Counter[tuple[Side, Operation]] = Counter()

    @property
    def profile(self) -> Profile:
        """What the doctor would have measured on this share: waits that fit its delays."""
        seen = max(self.habits.appears_seconds, self.habits.opens_seconds) * self.pace
        return Profile(visibility_seconds=seen, resend_seconds=0.2, retry_seconds=0.02)

    def view(self, side: Side) -> "FaultyView":
        return FaultyView(self, side)

    def appear(self, reader: Side, name: str, data: bytes) -> None:
        with self.lock:
            self.shown[reader][name] = Shown(data)
        super().appear(reader, name, data)

    def strike(self, side: Side, operation: Operation) -> Fault | None:
        """The fault that meets this operation, if one does. Counts the operation."""
        with self.lock:
            nth = self._done[side, operation]
            self._done[side, operation] += 1
        fault = self._faults.get((side, operation, nth)) or self._gust(side, operation, nth)
        if fault is not None:
            self.struck[fault.kind] += 1
            if fault.kind == "clock_step":
                self.clock.step(fault.seconds)
        return fault

    def _gust(self, side: Side, operation: Operation, nth: int) -> Fault | None:
        if self._weather <= 0:
            return None
        drawn = hashlib.sha256(f"{self._seed} {side} {operation} {nth}".encode()).digest()
        kinds = [kind for kind in self.habits.weather if _struck_by(kind) == operation]
        if not kinds or int.from_bytes(drawn[:4], "big") >= self._weather * 2**32:
            return None
        return Fault(kinds[drawn[4] % len(kinds)], side, nth, _WEATHER_SECONDS * self.pace * (drawn[5] + 1) / 256)

    def calm(self) -> None:
        """No more faults from now on; what was hidden or spoilt shows as it is."""
        with self.lock:
            self._faults.clear()
            self._weather = 0.0
            for reader, shown in self.shown.items():
                self.shown[reader] = {
                    name: Shown(each.data) for name, each in shown.items() if name in self.files[reader]
                }


class FaultyView(MemoryView):
    """One side's view of a `FaultyShare` (`Folder`)."""

    share: FaultyShare

    def __init__(self, share: FaultyShare, side: Side) -> None:
        super().__init__(share, side)
        self._away_until = 0.0
        self._empty = False
        self._refuses: tuple[float, ShareState] = (0.0, "ok")
        self._listing: tuple[float, list[str]] | None = None
        self._last: bytes = b""

    def arrivals(self) -> list[str]:
        now = self.share.clock.monotonic()
        fault = self.share.strike(self.side, "listing")
        if fault is not None and fault.kind in _OUTAGES:
            self._away_until, self._empty = now + fault.seconds, fault.kind == "unmounted"
        elif fault is not None:
            self._listing = (now + fault.seconds, self._listed(now))
        self._must_be_there()
        if self._empty and now < self._away_until:
            return []
        if self._listing is not None and now < self._listing[0]:
            return list(self._listing[1])
        self._listing = None
        return self._listed(now)

    def _listed(self, now: float) -> list[str]:
        with self.share.lock:
            return [name for name, shown in self.share.shown[self.side].items() if shown.from_ <= now < shown.until]

    def read(self, name: str, limit: int) -> bytes:
        now = self.share.clock.monotonic()
        fault = self.share.strike(self.side, "reading")
        with self.share.lock:
            shown = self.share.shown[self.side].get(name)
            if fault is not None and shown is not None:
                shown.opens = max(shown.opens, now + (fault.seconds if fault.kind == "stale_negative" else 0.001))
            gone = shown is None or now < shown.opens or (name not in self.share.files[self.side] and not shown.returns)
        if gone or shown is None:
            self._must_be_there()
            raise FrameGone(name)
        data = super().read(name, limit) if not shown.returns else shown.data
        return shown.spoilt if shown.spoilt is not None and now < shown.whole else data

    def publish(self, name: str, data: bytes, *, durable: bool, first: Callable[[], None] = lambda: None) -> None:
        now = self.share.clock.monotonic()
        fault = self.share.strike(self.side, "publishing")
        if fault is not None and (state := _REFUSALS.get(fault.kind)) is not None:
            self._refuses = (now + fault.seconds, state)
        self._must_be_writable(name)
        if now < self._refuses[0]:
            raise ShareFault(self._refuses[1], f"{name}: told so by the test")
        first()
        if self._empty and now < self._away_until:
            return  # a dead mount takes what is written, and keeps it from everybody
        habits, pace, reader = self.share.habits, self.share.pace, PEER_OF[self.side]
        shown = first_look(habits, pace, data, now)
        if fault is not None:
            self._spoil(fault, shown, name, now)
        self._last = data
        with self.share.lock:
            self.share.files[reader][name] = data
            self.share.shown[reader][name] = shown
        if habits.announces:
            self.share.ring(reader)

    def _spoil(self, fault: Fault, shown: Shown, name: str, now: float) -> None:
        match fault.kind:
            case "lost":
                shown.until = now
            case "late" | "reordered":
                shown.from_ += fault.seconds
            case "truncated":
                shown.spoilt, shown.whole = shown.data[: len(shown.data) // 2], now + fault.seconds
            case "nul_filled":
                half = len(shown.data) // 2
                shown.spoilt, shown.whole = shown.data[:half] + bytes(len(shown.data) - half), now + fault.seconds
            case "old_content":
                old = self._last[: len(shown.data)]
                shown.spoilt, shown.whole = old.ljust(len(shown.data), b"\0"), now + fault.seconds
            case "conflict_copy":
                copy = f"{name[:-5]}.sync-conflict-20261130-120000-ABCDEFG.json"
                with self.share.lock:
                    self.share.files[PEER_OF[self.side]][copy] = shown.data
                    self.share.shown[PEER_OF[self.side]][copy] = Shown(shown.data)
            case "doubled" | "resurrected":
                shown.comes_back = fault.seconds
            case _:
                pass

    def delete(self, name: str) -> None:
        super().delete(name)
        now, reader = self.share.clock.monotonic(), PEER_OF[self.side]
        with self.share.lock:
            shown = self.share.shown[reader].get(name)
            if shown is None:
                return
            shown.until = now + self.share.habits.vanishes_seconds * self.share.pace
            if shown.comes_back is not None:
                shown.returns = True
                shown.from_, shown.until = now + shown.comes_back, now + 10 * (shown.comes_back + 0.1)

    def beacon(self) -> bytes:
        self._must_not_be_empty()
        return super().beacon()

    def check(self) -> bool:
        self._must_not_be_empty()
        return super().check()

    def listen(self, listener: Callable[[], None]) -> None:
        """Only where the kind of share tells of arrivals; else the listener never hears anything."""
        if self.share.habits.announces:
            super().listen(listener)

    def _must_not_be_empty(self) -> None:
        self._must_be_there()
        if self._empty and self.share.clock.monotonic() < self._away_until:
            raise ShareFault("lost", "beacon: no such file")

    def _must_be_there(self) -> None:
        if not self._empty and self.share.clock.monotonic() < self._away_until:
            raise ShareFault("lost", "told so by the test")
        super()._must_be_there()


def _struck_by(kind: FaultKind) -> Operation:
    if kind in ON_PUBLISH:
        return "publishing"
    return "listing" if kind in ON_LISTING else "reading" if kind in ON_READING else "nothing"
