"""The hub's computer: database, service, app and relay of one life, built on what is durable."""

import contextlib
import shutil
import sqlite3
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hub.api.apps import create_agent_app
from hub.api.context import Context
from hub.mark import MarkFile
from hub.service import Service
from relay.exchange import Settings as SideSettings
from relay.server import ServerExchange
from tests.simulation.disks import CutDatabase
from tests.simulation.virtual_loop import InlineWorkers, VirtualAsgi, VirtualLoop
from tests.simulation.virtual_time import Actor, Machine, PowerCut, Process

if TYPE_CHECKING:
    from tests.simulation.world import World

from tests.simulation.driving import SteppedDriver


@lru_cache(maxsize=1)
def _app() -> Any:
    """Building the routes costs 20 ms, and they hold no state: each life of a hub sets its own context."""
    return create_agent_app(Context(None, workers=InlineWorkers()))  # type: ignore[arg-type]  # set before each use


class HubMachine:
    """The hub's computer. `process` is None while it is down."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.machine = Machine(world.time, "hub")
        self.folder = world.folder / "hub"
        self.folder.mkdir()
        self.process: Process | None = None
        self.lives = 0
        self.down_seconds = 5.0
        self.relays: list[SteppedDriver] = []

    @property
    def database_path(self) -> Any:
        return self.folder / "hub.sqlite"

    def start(self) -> None:
        world = self.world
        self.lives += 1
        process = Process("hub", self.machine)
        self.process = process
        world.born(process)
        self.marks = MarkFile(self.folder / "hub.mark")
        try:
            self.database = CutDatabase(self.database_path, process, world.witness.hub_committed)
            self.service = Service(self.database, clock=self.machine, ids=world.ids, marks=self.marks)
        except PowerCut:
            self._died_starting()
            return
        self.loop = VirtualLoop(self.machine.monotonic)
        self.context = Context(self.service, workers=InlineWorkers())
        _app().state.context = self.context
        _app().state.link = "main"
        self.actor = Actor("hub handlers", self._turn, world.time.now)
        world.time.actors.append(self.actor)
        self.start_relay("relay")
        world.told("hub", "starts")

    def _died_starting(self) -> None:
        self.database.abandon()  # this life's, or an earlier one's that is abandoned already
        self.marks.close()
        self.process = None
        self.world.told("hub", "dies while it starts")
        self.world.start_later(self)

    def start_relay(self, state: str) -> None:
        """A relay of this hub; a second one, with a state of its own, is a mistake that the protocol must survive."""
        process, world = self.process, self.world
        assert process is not None
        profile = world.profile
        runner_of = lambda done: VirtualAsgi(_app(), done, profile.max_message_bytes, self.loop)  # noqa: E731
        exchange = ServerExchange(profile, runner_of)
        settings = SideSettings(
            world.share.simulated_view("hub", process),
            "hub",
            self.folder / state,
            "none",
            self.machine,
            world.ids,
            profile,
        )
        driver = SteppedDriver(world, settings, exchange, process)
        exchange.attach(driver)
        self.relays.append(driver)

    def _turn(self) -> float:
        return max(self.machine.world_time(self.loop.turn()), self.world.time.now + 1e-6)

    def wake_handlers(self) -> None:
        if self.process is not None and self.loop.has_work():
            self.actor.due = min(self.actor.due, self.world.time.now)

    @property
    def dead(self) -> bool:
        return self.process is not None and not self.process.alive

    def bury(self) -> None:
        """Throw the process object away."""
        for driver in self.relays:
            driver._exchange._runner.close()  # type: ignore[attr-defined]
        self._gone(abandon=True)
        self.world.told("hub", "dies")

    def stop(self) -> None:
        """End in good order."""
        for driver in self.relays:
            driver.stop_in_order()
        assert self.process is not None
        self.process.die()
        self._gone(abandon=False)
        self.world.told("hub", "stops")

    def _gone(self, *, abandon: bool) -> None:
        for driver in self.relays if abandon else ():
            driver.abandon()
        self.relays.clear()
        self.context.workers.shutdown()
        self.database.abandon()
        self.marks.close()
        self.loop.close()
        self.world.time.actors.remove(self.actor)
        self.process = None

    def backup(self) -> bytes:
        """The database as it is now."""
        with contextlib.closing(sqlite3.connect(self.database_path)) as connection:
            return connection.serialize()

    def restore(self, image: bytes) -> None:
        """Put an older database in the place of today's; the hub has to be down."""
        for suffix in ("", "-wal", "-shm"):
            self.database_path.with_name(f"hub.sqlite{suffix}").unlink(missing_ok=True)
        self.database_path.write_bytes(image)

    def lose_relay_state(self) -> None:
        shutil.rmtree(self.folder / "relay", ignore_errors=True)
