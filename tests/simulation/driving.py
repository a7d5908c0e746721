"""The relay's drivers and client without their threads: the world takes their steps."""

import contextlib
import math
import sqlite3
from typing import TYPE_CHECKING, Any

from relay.calls import Reply
from relay.client import Client, ClientExchange, Waiter
from relay.errors import RelayError
from relay.exchange import Exchange
from relay.exchange import Settings as SideSettings
from relay.link import Link, Received
from relay.names import AnyName
from relay.side import SideDriver
from tests.simulation.disks import CutConnection
from tests.simulation.share import SimulatedView
from tests.simulation.virtual_time import Actor, PowerCut, Process

if TYPE_CHECKING:
    from tests.simulation.world import World


class Bell:
    """A doorbell (`Doorbell`) that wakes an actor of the world."""

    def __init__(self, world: "World", actor: Actor) -> None:
        self._world, self._actor = world, actor
        self._moved = False

    def ring(self) -> None:
        self._actor.due = self._world.time.now

    def move(self) -> None:
        self._moved = True
        self.ring()

    def wait(self, seconds: float) -> bool:
        moved, self._moved = self._moved, False
        return moved

    def listens(self) -> bool:
        return self._world.share.announces

    def close(self) -> None:
        """Nothing is lent."""


class SteppedDriver(SideDriver):
    """A side whose steps the world takes; a frame that is acted on has to be the one that was published (P16)."""

    def __init__(self, world: "World", settings: SideSettings, exchange: Exchange, process: Process) -> None:
        super().__init__(settings, exchange)
        self._world, self._process = world, process
        self.actor = Actor(f"{process.name} relay", self._turn, world.time.now)
        self.bell = Bell(world, self.actor)
        self._intake.take = self._watched(self._intake.take)  # type: ignore[method-assign]  # to look on, not to change
        world.share.bells[settings.side].append(self.bell.move)
        world.time.actors.append(self.actor)

    def _turn(self) -> float:
        try:
            wake = self.step(moved=self.bell.wait(0))
        except RelayError as refusal:
            return self._leave_by(refusal)
        # Time has to go on: no machine does anything in no time at all.
        return max(self._process.machine.world_time(wake), self._world.time.now + 0.001)

    def _leave_by(self, refusal: RelayError) -> float:
        """As the driver's thread ends; the hub goes on without this relay."""
        self._end_by(refusal)
        if self._state is not None:
            self._state.close()
        self.leave()
        return math.inf

    @property
    def running(self) -> bool:
        if not self._process.alive:
            raise PowerCut(self._process.name)
        return True

    def _open(self, now: float) -> bool:
        if not super()._open(now):
            return False
        assert self._state is not None
        self._state._db = CutConnection(self._state._db, self._process, f"{self._settings.side} state")
        return True

    def _watched(self, take: Any) -> Any:
        """The intake's `take`, each frame of which is compared with what was published under its name."""
        folder = self._folder
        assert isinstance(folder, SimulatedView)

        def taking(link: Link, parsed: AnyName, name: str, *rest: Any) -> Received | None:
            folder.last_read = None
            received: Received | None = take(link, parsed, name, *rest)
            if received is not None and folder.last_read is not None:
                seen_name, data = folder.last_read
                if data not in self._world.share.published.get(seen_name, ()):
                    self._world.broke("P16", f"{seen_name} was acted on although it is not what was published")
            return received

        return taking

    def stop_in_order(self) -> None:
        if self._refusal is not None:
            return
        self._close()
        if self._state is not None:
            self._state.close()
        self.leave()

    def abandon(self) -> None:
        """The process is dead: what it had not committed is gone, its locks are free."""
        self._exchange.close = lambda: None  # type: ignore[method-assign]  # nobody is left to say a last word
        if self._state is not None:
            with contextlib.suppress(sqlite3.Error):
                self._state._db.close()
            self._state._lock.release(force=True)
        self.leave()

    def leave(self) -> None:
        bells = self._world.share.bells[self._settings.side]
        if self.bell.move in bells:
            bells.remove(self.bell.move)
        if self.actor in self._world.time.actors:
            self._world.time.actors.remove(self.actor)


class _WorldWaiter(Waiter):
    """A caller's wait, during which the world goes on."""

    __slots__ = ("_process", "_world")

    def __init__(self, world: "World", process: Process) -> None:
        super().__init__()
        self._world, self._process = world, process

    def wait(self, seconds: float) -> bool:
        time = self._world.time
        return time.pump(
            time.now + seconds, done=lambda: self.reply is not None or self.error is not None, owner=self._process
        )


class SteppedClient(Client):
    """The real client over a driver that the world steps."""

    def __init__(self, world: "World", settings: SideSettings, process: Process) -> None:
        self._world, self._process = world, process
        self._exchange = ClientExchange(settings.profile or world.profile)
        self._driver = SteppedDriver(world, settings, self._exchange, process)

    @property
    def driver(self) -> SteppedDriver:
        assert isinstance(self._driver, SteppedDriver)
        return self._driver

    def call(self, method: str, path: str, body: Any = None, **how: Any) -> Reply:
        reply = super().call(method, path, body, **how)
        asked = how.get("request_id")
        if asked is not None and reply.request_id != asked:
            self._world.broke("P6", f"the reply to {reply.request_id} was given to {asked}")
        return reply

    def _waiter(self) -> Waiter:
        return _WorldWaiter(self._world, self._process)
