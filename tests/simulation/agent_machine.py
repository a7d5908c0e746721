"""The agent's computer: relay client, journal and runner of one life, built on what is durable."""

import contextlib
import shutil
from typing import TYPE_CHECKING, Any

from agent.hub import HubAnswer, over_relay
from agent.jira import Access
from agent.runner import Event, Runner, Settings
from agent.serve import assemble, names_cache
from agent.site import Wanted
from examples.jira.catalogue import SCRUM_BOARD
from examples.jira.settings import DEFAULT_TOKEN
from relay.exchange import Settings as SideSettings
from tests.simulation.disks import SimulatedJournal
from tests.simulation.jira_wire import JiraWire
from tests.simulation.virtual_time import Actor, Machine, Process, ProcessClock

if TYPE_CHECKING:
    from tests.simulation.world import World

from tests.simulation.driving import SteppedClient

PROJECT = "AURORA"


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
        # A hair later, where rounding would wake him a hair too early again and again.
        soonest = self.world.time.now + (1e-6 if wake > self.machine.monotonic() else 0.0)
        return max(self.machine.world_time(wake), soonest)

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
        self.world.witness.agent_forgot()
        self.world.told(self.name, "its journal is lost")

    def lose_disk(self) -> None:
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        self.world.witness.agent_forgot()
        self.world.told(self.name, "its disk is lost with everything on it")
