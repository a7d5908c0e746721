"""One simulated world: both programs, the share between them, Jira and people, all in one thread of virtual time.

The same seed and the same faults give the same world to the last byte (`digest`).
"""

import hashlib
import random
import sqlite3
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from examples.jira.server import FakeJira
from examples.jira.settings import JiraSettings
from protocol.messages import TERMINAL
from relay.profile import Profile
from tests.simulation import promises
from tests.simulation.agent_machine import AgentMachine
from tests.simulation.clock import SimulatedIds
from tests.simulation.fate import Fate
from tests.simulation.faults import Weather
from tests.simulation.hub_machine import HubMachine
from tests.simulation.jira_wire import JiraCall
from tests.simulation.people import People
from tests.simulation.share import SimulatedShare
from tests.simulation.virtual_time import Machine, Process, Time
from tests.simulation.witness import Incarnation, Seen, Witness

HOUR: Final = 3_600.0
LOOK_AFTER_EVERY: Final = 0.5 * HOUR  # a person looks at the hub's page
REST_SECONDS: Final = 2 * HOUR  # beyond the queue's own time: outages end, back-offs run out, sessions return


class Broken(AssertionError):
    """A promise is broken."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a world is made of, beyond its seed. Seconds."""

    faults: frozenset[str] = frozenset()
    intensity: float = 1.0
    batch_every: float = 3 * HOUR
    settle: float = 120.0
    latency: float = 0.05
    announces: bool = True
    scan_limit: float = 10.0
    first_scan: float = 0.2


class World:
    """`run` lets time pass, `settle` stops all faults and waits until everything has come to rest."""

    def __init__(self, folder: Path, seed: int = 1, plan: Plan | None = None) -> None:
        self.folder, self.seed = folder, seed
        self.plan = plan or Plan()
        self.time = Time()
        self.weather = Weather(random.Random(seed), self.plan.faults)
        self.ids = SimulatedIds(seed)
        self.settle_seconds = self.plan.settle
        self.profile = Profile(
            presence_seconds=0.0,  # a second process shall get as far as it can
            visibility_seconds=self.plan.latency,
            scan_first_seconds=self.plan.first_scan,
            scan_limit_seconds=self.plan.scan_limit,
        )
        self.share = SimulatedShare(self.time, self.weather, latency=self.plan.latency, announces=self.plan.announces)
        self.jira = FakeJira(JiraSettings(issues=12), Machine(self.time, "jira"))
        self.witness = Witness(self)
        self.switches: dict[str, Any] = {}
        self.broken: list[str] = []
        self.lenient = False  # broken promises are gathered, not raised
        self.born: Callable[[Process], None] = lambda _: None  # told of every process that starts
        self._watches: list[tuple[Callable[[], bool], Callable[[], None]]] = []
        self.at_writes: list[str] = []  # faults for the next writes to Jira, in order
        self.restores = 0
        self.judged = 0
        self._images: list[bytes] = []
        self.hub = HubMachine(self)
        self.agent = AgentMachine(self)
        self.agents = [self.agent]
        self.people = People(self)
        self.time.after_turn = self._after_turn
        self.hub.start()
        self.agent.start()
        self.fate = Fate(self, self.plan.intensity)
        self._planning = True
        self.time.at(LOOK_AFTER_EVERY, self._look_after)
        if self.plan.faults or self.plan.batch_every < HOUR * 1e6:
            self._plan_next_batch()

    # --- time

    def run(self, seconds: float) -> None:
        """Let the world go on."""
        self.time.pump(self.time.now + seconds)
        self.judge_now()

    def run_until(self, done: Any, seconds: float = 6 * HOUR) -> None:
        """Let the world go on until `done()`, which has to come within `seconds`."""
        assert self.time.pump(self.time.now + seconds, done=done), f"not within {seconds} s"

    def when(self, condition: Callable[[], bool], action: Callable[[], None]) -> None:
        """Do something the moment a condition holds, in the middle of whatever the agent waits for too."""
        self._watches.append((condition, action))

    def status(self, command_id: int) -> str:
        row = self.database().execute("SELECT status FROM command WHERE id = ?", (command_id,)).fetchone()
        return str(row["status"]) if row else "unknown"

    def until(self, command_id: int, *statuses: str, seconds: float = 6 * HOUR) -> None:
        """Let the world go on until the command has one of these statuses."""
        self.run_until(lambda: self.status(command_id) in statuses, seconds)

    def kill_agent_at(self, what: str, *, down: float = 5.0, writing: bool = True) -> None:
        """The power of the agent goes at the next point of this name, while it writes to Jira if `writing`."""
        process = self.agent.process
        assert process is not None
        self.agent.down_seconds = down
        calls = self.witness.calls

        def here(point: str) -> bool:
            return point == what and (not writing or (bool(calls) and calls[-1].writes))

        process.dies_when = here
        self.run_until(lambda: self.agent.process is None)

    def settle(self) -> None:
        """No fault strikes any more, nobody plans any more: everything has to come to rest (P12)."""
        self._planning = False
        self.fate.stop()
        self.weather.calm()
        self.share.heal()
        self.switch()
        self.people.resume()
        self._send_clones_away()
        for machine in (self.hub, self.agent):
            if machine.process is not None:
                machine.process.dies_at = None
        alive = self.agent.process is not None and self.agent.process.alive
        runner = self.agent.runner if alive else None
        if runner is not None and runner._blocked is not None and not self.agent.busy:
            self.agent.stop()  # a person has renewed the token, and starts the agent anew
        for machine in (self.hub, self.agent):
            machine.down_seconds = 1.0
            if machine.process is None:
                self.start_later(machine)
        self.time.pump(self.time.now + 5.0)
        self._wait_for_rest()
        self.run(600.0)  # late reports, late replies
        self._judge(promises.AT_REST)

    def _wait_for_rest(self) -> None:
        gaps = {"ensure_issue": 240.0, "ensure_fields": 120.0, "refresh": 10.0}
        queue = sum(gaps.get(row["type"], 60.0) for row in self.commands() if row["status"] not in TERMINAL)
        deadline = self.time.now + 3 * queue + REST_SECONDS
        while self.time.now < deadline and any(row["status"] not in TERMINAL for row in self.commands()):
            self.people.look_after()
            self.time.pump(self.time.now + 60.0)

    def _send_clones_away(self) -> None:
        """Two agents for one link are a person's mistake: he ends one of them, and says who may go on."""
        for clone in self.agents[1:]:
            if clone.process is not None:
                clone.process.die()
        self.time.pump(self.time.now + 0.01)
        if len(self.agents) > 1:
            del self.agents[1:]
            self.people.adopt()
            if self.agent.process is not None:
                self.agent.process.die()  # the clone's relay has retired its own: only a new life is heard again

    def _look_after(self) -> None:
        self.time.at(self.time.now + LOOK_AFTER_EVERY, self._look_after)
        if self._planning:
            self.people.look_after()

    def _plan_next_batch(self) -> None:
        self.time.at(self.time.now + self.weather.chance.expovariate(1 / self.plan.batch_every), self._batch)

    def _batch(self) -> None:
        if not self._planning:
            return
        self._plan_next_batch()
        if self.hub.process is not None:
            if len(self._images) < 8 and self.weather.chance.random() < 0.3:
                self._images.append(self.hub.backup())
            self.people.some_batch()

    def _after_turn(self) -> None:
        if self.broken and not self.lenient:
            raise Broken(self.broken[0])  # it was raised within a handler, which made an answer of it
        self.hub.wake_handlers()
        for watch in [one for one in self._watches if one[0]()]:
            self._watches.remove(watch)
            watch[1]()
        for machine in (self.hub, *self.agents):
            if machine.dead:
                machine.bury()
                self.start_later(machine)

    def start_later(self, machine: HubMachine | AgentMachine) -> None:
        """The machine comes up again by itself after `down_seconds`."""

        def start() -> None:
            if machine.process is None and (machine is self.hub or machine in self.agents):
                machine.start()

        self.time.at(self.time.now + machine.down_seconds, start)

    # --- Jira and the hub's database

    def switch(self, **switches: Any) -> None:
        """What an administrator changes in the fake; nothing named: all is as usual."""
        self.switches = switches
        with self.jira.store.transaction():
            self.jira.store.remember("switches", switches)
        self.told("Jira", f"is {switches or 'as usual'}")

    def agent_blocked(self, agent: AgentMachine, text: str) -> None:
        """A person looks after an agent that Jira does not let in: he starts it anew after a while."""

        def look_after() -> None:
            if agent.process is not None and agent.runner is not None and agent.runner._blocked and not agent.busy:
                agent.down_seconds = 5.0
                agent.stop()
                self.start_later(agent)

        self.time.at(self.time.now + 2 * HOUR, look_after)

    def restore_database(self) -> None:
        """Put an earlier copy in the place of the hub's database; the hub has to be down."""
        image = self.weather.chance.choice(self._images) if self._images else None
        if image is not None:
            self.hub.restore(image)
            self.restores += 1
            self.witness.hub_restored()

    def database(self) -> sqlite3.Connection:
        """The hub's database as it is, read past the hub."""
        if self.hub.process is not None:
            return self.witness._connection()
        connection = sqlite3.connect(self.hub.database_path)
        connection.row_factory = sqlite3.Row
        return connection

    def commands(self) -> list[sqlite3.Row]:
        return (
            self.database()
            .execute(
                "SELECT command.*, batch.created_at AS batch_at FROM command JOIN batch ON batch.id = command.batch_id"
                " ORDER BY command.id"
            )
            .fetchall()
        )

    def command(self, command_id: int) -> Any:
        return next(row for row in self.commands() if row["id"] == command_id)

    def present_roots(self) -> Collection[Incarnation]:
        return {self.witness.commands[row["id"], row["batch_at"]].root for row in self.commands()}

    def is_under_way(self, key: str) -> bool:
        """Whether a command that may be executed still may have to do with this issue."""
        for row in self.commands():
            if row["type"] == "ensure_issue" and row["status"] != "done" and row["first_claimed_at"]:
                return True
            if row["status"] not in TERMINAL and key in row["params"]:
                return True
        return False

    def same_hand(self, one: JiraCall, other: JiraCall) -> bool:
        """Whether two calls under one command id belong to one command: a restored hub gives ids again."""
        return self.restores == 0

    # --- judging

    def told(self, who: str, text: str, whom: str = "") -> None:
        self.witness.tell(who, text, whom)

    def broke(self, promise: str, text: str) -> None:
        message = f"{promise}: {text} (seed {self.seed}, at {self.time.now:.1f} s)"
        self.told("world", f"BROKEN {message}")
        self.broken.append(message)
        if not self.lenient:
            raise Broken(message)

    def _judge(self, judges: Any, *what: Any) -> None:
        for judge in judges:
            self.judged += 1
            text = judge(self, *what)
            if text is not None:
                self.broke(judge.__name__, text)

    def judge_move(self, row: sqlite3.Row, event: sqlite3.Row, seen: Seen) -> None:
        self._judge(promises.ON_MOVE, row, event, seen)

    def judge_call(self, agent: AgentMachine, call: JiraCall) -> None:
        self._judge(promises.ON_CALL, agent, call)

    def judge_creation(self, root: Incarnation) -> None:
        self._judge((promises.p1_one_issue_per_wish,), root)

    def judge_now(self) -> None:
        self._judge(promises.NOW_AND_THEN)

    def digest(self) -> str:
        """A hash of everything that happened."""
        hashed = hashlib.sha256()
        for told in self.witness.chronicle:
            hashed.update(f"{told.at:.6f} {told.who} {told.whom} {told.text}\n".encode())
        for name, contents in self.share.published.items():
            hashed.update(name.encode() + b"".join(contents))
        return hashed.hexdigest()

    def close(self) -> None:
        for agent in self.agents:
            if agent.process is not None:
                agent.process.die()
                agent.bury()
        if self.hub.process is not None:
            self.hub.process.die()
            self.hub.bury()
        self.people.close()
        self.jira.close()
