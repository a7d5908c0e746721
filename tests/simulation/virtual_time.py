"""Virtual time for one thread: actors that are due, machines with clocks of their own, processes that can die.

Whoever blocks (the agent does) lets everybody else work meanwhile: `Time.pump`.
"""

import heapq
import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Final

EPOCH: Final = 1_791_900_000.0  # the world begins in the autumn of 2026
MAX_AT_ONCE: Final = 20_000  # turns without time going on: something spins


class PowerCut(BaseException):
    """The process ends here. No `Exception`, so that nothing on the way takes it for a fault."""


class Actor:
    """Somebody who does what is due; `due` is the moment of the world he wants to be woken at."""

    def __init__(self, name: str, turn: Callable[[], float], due: float) -> None:
        self.name = name
        self.due = due
        self.busy = False
        self._turn = turn

    def act(self) -> None:
        self.busy, self.due = True, math.inf
        try:
            wake = self._turn()
            # He may have been woken meanwhile by somebody he woke.
            self.due = min(self.due, wake)
        finally:
            self.busy = False


class Time:
    """The one time of a world, in seconds since its beginning."""

    def __init__(self) -> None:
        self.now = 0.0
        self.turns = 0
        self.actors: list[Actor] = []
        self.after_turn: Callable[[], None] = lambda: None
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def at(self, moment: float, action: Callable[[], None]) -> None:
        """Let `action` happen at `moment`."""
        heapq.heappush(self._events, (max(moment, self.now), next(self._numbers), action))

    def pump(self, until: float, *, done: Callable[[], bool] = lambda: False, owner: "Process | None" = None) -> bool:
        """Let the world go on until `until` or until `done`; whether it is done. The owner may die meanwhile."""
        at_once, last = 0, self.now
        while True:
            if owner is not None and not owner.alive:
                raise PowerCut(owner.name)
            if done():
                return True
            actor = None
            due = self._events[0][0] if self._events else math.inf
            for one in self.actors:
                if one.due < due and not one.busy:
                    actor, due = one, one.due
            if due > until:
                self.now = max(self.now, until)
                return done()
            if due > self.now:
                self.now = due
            at_once = at_once + 1 if self.now == last else 0
            last = self.now
            assert at_once < MAX_AT_ONCE, f"{actor.name if actor else 'events'} spins at {self.now}"
            self.turns += 1
            try:
                if actor is None:
                    heapq.heappop(self._events)[2]()
                else:
                    actor.act()
            except PowerCut:
                pass  # whoever died is buried below; a death further down the stack is met above
            self.after_turn()


class Machine:
    """A computer: its clocks run on the world's time, its wall clock may be wrong, its boots differ (`Clock`)."""

    def __init__(self, time: Time, name: str) -> None:
        self.name = name
        self._time = time
        self._wall_offset = 0.0
        self._booted_at = -1_000.0
        self._boot = 1

    def wall(self) -> float:
        return EPOCH + self._time.now + self._wall_offset

    def monotonic(self) -> float:
        return self._time.now - self._booted_at

    def sleep(self, seconds: float) -> None:
        """Nobody on this machine blocks, unless a process of it says otherwise (`ProcessClock`)."""
        raise AssertionError(f"something on {self.name} blocks for {seconds} s")

    def boot_id(self) -> str:
        return f"{self.name}-{self._boot}"

    def world_time(self, monotonic: float) -> float:
        """The moment of the world at which this machine's monotonic clock shows that."""
        return monotonic + self._booted_at

    def jump(self, seconds: float) -> None:
        """The wall clock is set; the monotonic one does not notice."""
        self._wall_offset += seconds

    def reboot(self) -> None:
        self._boot += 1
        self._booted_at = self._time.now - 5.0


class Process:
    """One run of a program. Its adapters pass a `point` before, inside and after everything that lasts."""

    def __init__(self, name: str, machine: Machine) -> None:
        self.name = name
        self.machine = machine
        self.alive = True
        self.points: Counter[str] = Counter()
        self.passed = 0
        self.dies_at: int | None = None  # the number of the point
        self.dies_when: Callable[[str], bool] = lambda _: False

    def point(self, what: str) -> None:
        if not self.alive:
            raise PowerCut(self.name)
        self.passed += 1
        if self.passed - 1 == self.dies_at or self.dies_when(what):
            self.die()
            raise PowerCut(self.name)

    def die(self) -> None:
        self.alive = False

    def dies_in(self, points: int) -> None:
        """The power goes after so many more points."""
        self.dies_at = self.passed + points


class ProcessClock:
    """The machine's clock for a process that blocks: while it sleeps, the world goes on."""

    def __init__(self, time: Time, machine: Machine, process: Process) -> None:
        self._time, self._machine, self._process = time, machine, process
        self.wall, self.monotonic, self.boot_id = machine.wall, machine.monotonic, machine.boot_id

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            self._time.pump(self._time.now + seconds, owner=self._process)
