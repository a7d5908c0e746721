"""The two computers of a world: the hub with its database and relay, the agent with its journal and relay client.

A process is built new on what is durable, works in turns, and may be thrown away at any point.
"""

import contextlib
import math
import shutil
import sqlite3
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from agent.hub import HubAnswer, over_relay
from agent.jira import Access
from agent.runner import Event, Runner, Settings
from agent.serve import assemble, names_cache
from agent.site import Wanted
from examples.jira.catalogue import SCRUM_BOARD
from examples.jira.settings import DEFAULT_TOKEN
from hub.api.apps import create_agent_app
from hub.api.context import Context
from hub.mark import MarkFile
from hub.service import Service
from relay.calls import Reply
from relay.client import Client, ClientExchange, Waiter
from relay.errors import RelayError
from relay.exchange import Exchange
from relay.exchange import Settings as SideSettings
from relay.link import Link, Received
from relay.names import AnyName
from relay.server import ServerExchange
from relay.side import SideDriver
from tests.simulation.disks import CutConnection, CutDatabase, SimulatedJournal
from tests.simulation.jira_wire import JiraWire
from tests.simulation.share import SimulatedView
from tests.simulation.virtual_loop import InlineWorkers, VirtualAsgi, VirtualLoop
from tests.simulation.virtual_time import Actor, Machine, PowerCut, Process, ProcessClock

if TYPE_CHECKING:
    from tests.simulation.world import World

PROJECT = "AURORA"


@lru_cache(maxsize=1)
def _app() -> Any:
    """Building the routes costs 20 ms, and they hold no state: each life of a hub sets its own context."""
    return create_agent_app(Context(None, workers=InlineWorkers()))  # type: ignore[arg-type]  # set before each use


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
        assert self._state is not None
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
        self.database = CutDatabase(self.database_path, process, world.witness.hub_committed)
        self.marks = MarkFile(self.folder / "hub.mark")
        self.service = Service(self.database, clock=self.machine, ids=world.ids, marks=self.marks)
        self.loop = VirtualLoop(self.machine.monotonic)
        self.context = Context(self.service, workers=InlineWorkers())
        _app().state.context = self.context
        _app().state.link = "main"
        self.actor = Actor("hub handlers", self._turn, world.time.now)
        world.time.actors.append(self.actor)
        self.start_relay("relay")
        world.told("hub", "starts")

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
        return self.machine.world_time(self.loop.turn())

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


class AgentMachine:
    """The agent's computer. `process` is None while it is down."""

    def __init__(self, world: "World", name: str = "agent", host: str = "vm") -> None:
        self.world = world
        self.name, self.host = name, host
        self.machine = Machine(world.time, name)
        self.folder = world.folder / name
        self.folder.mkdir()
        self.process: Process | None = None
        self.lives = 0
        self.down_seconds = 5.0
        self.cut_whole_machine = False

    @property
    def journal_path(self) -> Any:
        return self.folder / "journal.jsonl"

    def start(self) -> None:
        world = self.world
        self.lives += 1
        process = Process(self.name, self.machine)
        self.process = process
        world.born(process)
        clock = ProcessClock(world.time, self.machine, process)
        settings = SideSettings(
            world.share.simulated_view("agent", process),
            "agent",
            self.folder / "relay",
            "none",
            clock,
            world.ids,
            world.profile,
        )
        self.client = SteppedClient(world, settings, process)
        self.actor = Actor(self.name, self._turn, world.time.now + 0.01)
        world.time.actors.append(self.actor)
        self.runner: Runner | None = None
        self.journal: SimulatedJournal | None = None
        world.told(self.name, "starts")

    def _turn(self) -> float:
        if self.runner is None:
            self._build()
        assert self.runner is not None
        wake = self.runner.step(self.machine.monotonic())
        return max(self.machine.world_time(wake), self.world.time.now)

    def _build(self) -> None:
        world, process = self.world, self.process
        assert process is not None
        self.journal = SimulatedJournal(
            self.journal_path,
            self.machine,
            process,
            world.weather.chance,
            lambda record: world.witness.journalled(self, record),
        )
        witness = world.witness
        wire = JiraWire(
            world.jira,
            world.time,
            world.weather,
            process,
            world.settle_seconds,
            lambda request: witness.call_began(self, request),
            witness.call_executed,
        )
        access = Access("http://jira.test", {"Authorization": f"Bearer {DEFAULT_TOKEN}"}, secrets=(DEFAULT_TOKEN,))
        wanted = Wanted(
            project=PROJECT,
            board_id=SCRUM_BOARD,
            issue_types={"task": ("Задача",), "epic": ("Эпик",)},
            link_types={"блокирует начало": ("Блокировка", "outward"), "связанные": ("Связь", "outward")},
        )
        self.runner = assemble(
            journal=self.journal,
            access=access,
            wanted=wanted,
            settings=Settings(
                host=self.host, gap_floor=1.0, settle=world.settle_seconds, projects=frozenset({PROJECT})
            ),
            jira_transport=wire,
            exchange=self._exchange(over_relay(self.client)),
            clock=ProcessClock(world.time, self.machine, process),
            ids=world.ids,
            names=names_cache(self.journal_path),
            listener=self._heard,
        )

    def _heard(self, event: Event) -> None:
        self.world.witness.agent_said(self, event)

    def _exchange(self, inner: Any) -> Any:
        def exchange(method: str, path: str, body: Any, request_id: str | None, timeout: float) -> HubAnswer:
            self.world.witness.asked(self, method, path, body, request_id)
            answer: HubAnswer = inner(method, path, body, request_id, timeout)
            self.world.witness.answered(self, method, path, request_id, answer)
            return answer

        return exchange

    @property
    def busy(self) -> bool:
        return self.process is not None and self.actor.busy

    @property
    def dead(self) -> bool:
        return self.process is not None and not self.process.alive and not self.actor.busy

    def bury(self) -> None:
        self.client.driver.abandon()
        self._gone()
        if self.cut_whole_machine:
            self.cut_whole_machine = False
            if self.journal is not None:
                self.journal.lose_unsynced()
                self.world.witness.may_have_forgotten(self)
            self.machine.reboot()
            self.world.told(self.name, "dies with its machine")
        else:
            self.world.told(self.name, "dies")

    def stop(self) -> None:
        """End in good order, as a signal would have it between two steps."""
        if self.runner is not None:
            self.runner.stop()
        self.client.driver.stop_in_order()
        assert self.process is not None
        self.process.die()
        self._gone()
        self.world.told(self.name, "stops")

    def _gone(self) -> None:
        if self.journal is not None:
            with contextlib.suppress(OSError):
                self.journal.close()
        self.world.time.actors.remove(self.actor)
        self.process = None

    def lose_journal(self) -> None:
        self.journal_path.unlink(missing_ok=True)
        self.world.told(self.name, "its journal is lost")

    def lose_disk(self) -> None:
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        self.world.told(self.name, "its disk is lost with everything on it")
