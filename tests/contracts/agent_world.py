"""A whole agent in process: the real runner over the fake Jira and a small queue, on a simulated clock."""

import json
from pathlib import Path
from typing import Any

import httpx2

from agent.events import Event
from agent.hub import HubAnswer
from agent.jira import Access
from agent.journal import JournalFile, line_of
from agent.ports import HubUnreachable
from agent.records import AnyRecord
from agent.runner import Runner, Settings
from agent.serve import assemble, names_cache
from agent.site import Wanted
from examples.jira.app import JiraTransport, create_app
from examples.jira.control import perform_edit, remember_faults
from examples.jira.faults import Fault
from examples.jira.server import FakeJira
from examples.jira.settings import DEFAULT_TOKEN, JiraSettings
from protocol.commands import DEFAULT_GAPS
from tests.simulation.clock import SimulatedClock, SimulatedIds

WANTED = Wanted(
    project="AURORA",
    board_id=12,
    field_ids={"planned_start": "customfield_10583", "planned_end": "customfield_10584"},
    issue_types={"task": ("Задача",), "epic": ("Эпик",)},
    link_types={"блокирует начало": ("Блокировка", "outward"), "связанные": ("Связь", "outward")},
)


class Queue:
    """As much of the hub as one agent's commands need: the oldest claimed again, else the next (`agent.hub.Exchange`).

    `lose` makes the next answers to these paths get lost after they took effect.
    """

    def __init__(self, clock: SimulatedClock) -> None:
        self.clock = clock
        self.commands: list[dict[str, Any]] = []
        self.reports: dict[int, dict[str, Any]] = {}
        self.states: list[dict[str, Any]] = []
        self.stored: dict[str, HubAnswer] = {}
        self.lose: list[str] = []
        self.down = False
        self.refuse: dict[str, HubAnswer] = {}
        self.gaps: dict[str, float] = dict(DEFAULT_GAPS)
        self.restored = False

    def restore(self) -> None:
        """The hub is an older copy of itself: it gives the same ids again, and remembers no command."""
        self.commands.clear()
        self.reports.clear()
        self.restored = True

    def add(self, command_type: str, *, identity: str | None = None, **params: Any) -> int:
        number = len(self.commands) + 40
        self.commands.append(
            {
                "id": number,
                "type": command_type,
                "params": params,
                "status": "queued",
                "delivery": 0,
                "identity": identity,
                "restored": self.restored,
            }
        )
        return number

    def __call__(self, method: str, path: str, body: Any, request_id: str | None, timeout: float) -> HubAnswer:
        if self.down:
            raise HubUnreachable("nobody is there")
        body = json.loads(json.dumps(body))
        if request_id is not None and request_id in self.stored:
            return self.stored[request_id]
        answer = self._answer(method, path.partition("?")[0], body)
        if request_id is not None:
            self.stored[request_id] = answer
        for part in self.lose:
            if part in path:
                self.lose.remove(part)
                raise HubUnreachable("the answer got lost")
        return answer

    def _answer(self, method: str, path: str, body: Any) -> HubAnswer:
        refusal = next((self.refuse[part] for part in self.refuse if part in path), None)
        if refusal is not None:
            return refusal
        if path.endswith("/claim"):
            return self._claim(body)
        if path.endswith("/heartbeat"):
            self.states.append(body)
            return HubAnswer(204, b"")
        number = int(path.removesuffix("/result").rpartition("/")[2])
        command = next((one for one in self.commands if one["id"] == number), None)
        if command is None:
            return HubAnswer(404, json.dumps({"code": "not_found", "title": "", "detail": "no such command"}).encode())
        if method == "GET":
            return self._delivery(command)
        if command["status"] == "claimed":
            command["status"] = body["status"]
        self.reports[number] = body
        return HubAnswer(200, b"{}")

    def _claim(self, body: Any) -> HubAnswer:
        self.states.append(body)
        waiting = [one for one in self.commands if one["status"] == "claimed"]
        waiting += [one for one in self.commands if one["status"] == "queued"]
        if not waiting:
            return HubAnswer(204, b"")
        waiting[0]["status"] = "claimed"
        waiting[0]["delivery"] += 1
        return self._delivery(waiting[0])

    def _delivery(self, command: dict[str, Any]) -> HubAnswer:
        delivery = {**command, "pause_seconds": self.gaps[command["type"]]}
        return HubAnswer(200, json.dumps({k: v for k, v in delivery.items() if v is not None}).encode())


class Killed(BaseException):
    """The power went: the agent's process is gone."""


class Doom:
    """Counts the points at which the power can go, and lets it go at one of them."""

    def __init__(self) -> None:
        self.points = 0
        self.at: int | None = None

    def pass_by(self) -> None:
        number, self.points = self.points, self.points + 1
        if number == self.at:
            raise Killed


class Wire(httpx2.BaseTransport):
    """The way to the fake Jira. `calls` are (moment, life, method, path); `faults` hit the n-th request from `sent`
    0: before Jira works, or after."""

    def __init__(self, jira: FakeJira, clock: SimulatedClock, doom: Doom) -> None:
        self.inner = JiraTransport(jira)
        self.clock = clock
        self.doom = doom
        self.life = 0
        self.sent = 0
        self.calls: list[tuple[float, int, str, str]] = []
        self.faults: dict[int, Exception | httpx2.Response] = {}
        self.after_faults: dict[int, Exception | httpx2.Response] = {}

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        number, self.sent = self.sent, self.sent + 1
        self.doom.pass_by()
        self.calls.append((self.clock.wall(), self.life, request.method, request.url.path))
        if number in self.faults:
            return self._fault(self.faults[number])
        response = self.inner.handle_request(request)
        self.doom.pass_by()
        if number in self.after_faults:
            return self._fault(self.after_faults[number])
        return response

    def _fault(self, fault: Exception | httpx2.Response) -> httpx2.Response:
        if isinstance(fault, Exception):
            raise fault
        return fault


class DoomedJournal(JournalFile):
    """The real journal; the power can go before each record, in the middle of it, and after it."""

    doom = Doom()

    def append(self, record: AnyRecord) -> None:
        self.doom.pass_by()
        try:
            self.doom.pass_by()
        except Killed:
            self._write(line_of(record)[:20])
            raise
        super().append(record)
        self.doom.pass_by()


class AgentWorld:
    """One fake Jira, one queue, one agent that can be killed and started again."""

    def __init__(self, folder: Path, settings: Settings | None = None, wanted: Wanted = WANTED) -> None:
        self.folder = folder
        self.clock = SimulatedClock()
        self.ids = SimulatedIds()
        self.jira: FakeJira = create_app(JiraSettings(), self.clock).jira
        self.doom = Doom()
        self.wire = Wire(self.jira, self.clock, self.doom)
        self.queue = Queue(self.clock)
        self.events: list[Event] = []
        self.settings = settings or Settings(projects=frozenset({"AURORA"}))
        self.wanted = wanted
        self.token = DEFAULT_TOKEN
        self.start()

    def access(self) -> Access:
        return Access("http://jira", {"Authorization": f"Bearer {self.token}"}, (self.token,))

    def start(self) -> Runner:
        """A new process on what is durable."""
        self.journal = DoomedJournal(self.folder / "journal.jsonl", self.clock, sync=lambda _: None)
        self.journal.doom = self.doom
        self.wire.life += 1
        self.runner = assemble(
            journal=self.journal,
            access=self.access(),
            look_again=self.access,
            wanted=self.wanted,
            settings=self.settings,
            jira_transport=self.wire,
            exchange=self.queue,
            clock=self.clock,
            ids=self.ids,
            names=names_cache(self.folder / "journal.jsonl"),
            listener=self.events.append,
        )
        return self.runner

    def run(self, *, steps: int = 200) -> None:
        """Until every command has been reported."""
        for _ in range(steps):
            if all(one["id"] in self.queue.reports or one["status"] == "cancelled" for one in self.queue.commands):
                return
            self.turn()
        raise AssertionError(f"not at rest after {steps} steps: {self.queue.commands}, {self.events[-5:]}")

    def turn(self) -> None:
        wake = self.runner.step(self.clock.monotonic())
        self.clock.sleep(wake - self.clock.monotonic())

    def learn(self) -> None:
        """One empty claim: the names are learnt, the wire is counted from here."""
        self.turn()
        self.wire.sent = 0

    def report_of(self, command_type: str, **params: Any) -> dict[str, Any]:
        number = self.queue.add(command_type, **params)
        self.run()
        return self.queue.reports[number]

    def switch(self, **switches: Any) -> None:
        """What an administrator changes in the fake."""
        self.jira.store.remember("switches", switches)

    def fault(self, *faults: Fault) -> None:
        remember_faults(self.jira.store, list(faults))

    def person(self, action: str, **edit: Any) -> Any:
        """What a person does in the browser."""
        with self.jira.store.transaction():
            return perform_edit(self.jira.context(), {"action": action, **edit})

    def issue(self, key: str) -> Any:
        """The issue as the fake's database has it."""
        found = self.jira.store.issue_by_key(key)
        assert found is not None
        return found

    def comments(self, key: str) -> list[str]:
        return [one.body for one in self.jira.store.comments(self.issue(key).id)]

    def links(self, *keys: str) -> list[tuple[str, str, str]]:
        """(type, first, second) of the links between these issues."""
        ids = {self.issue(key).id: key for key in keys}
        found = self.jira.store.links()
        return [(one.type_id, ids[one.first], ids[one.second]) for one in found if {one.first, one.second} <= set(ids)]

    def written(self) -> list[dict[str, Any]]:
        """The requests that changed something in Jira, oldest first."""
        return [one for one in self.jira.store.requests() if one["executed"]]

    def requests(self) -> list[dict[str, Any]]:
        """Every request Jira saw, oldest first."""
        return self.jira.store.requests()
