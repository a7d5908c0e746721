"""Sees everything that happens in a world and keeps what the promises are judged by. It judges nothing itself."""

import json
import re
import sqlite3
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx2

from agent.hub import HubAnswer
from agent.records import AnyRecord, Claimed, Finished
from agent.runner import Event
from protocol.errors import NO_REPORT
from protocol.messages import TERMINAL
from tests.simulation.jira_wire import JiraCall, body_of
from tests.simulation.wishes import is_true

if TYPE_CHECKING:
    from tests.simulation.agent_machine import AgentMachine
    from tests.simulation.world import World

# One command in one database: ids are given again after a restore, the moment of the batch is not.
Incarnation = tuple[int, str]


@dataclass(slots=True)
class Told:
    """One line of the chronicle."""

    at: float
    who: str
    whom: str
    text: str


@dataclass(slots=True)
class Seen:
    """What is known of one incarnation of a command beyond the hub's own word."""

    wish: dict[str, Any]
    type: str
    root: Incarnation
    was_true: bool = False
    claimed: bool = False
    end: tuple[Any, ...] | None = None
    late_key: bool = False
    ended_at: float | None = None


@dataclass
class Witness:
    """Everything seen. Lists grow with the world, which lives for some days at most."""

    world: "World"
    chronicle: list[Told] = field(default_factory=list)
    calls: list[JiraCall] = field(default_factory=list)
    last_call: dict[str, JiraCall] = field(default_factory=dict)
    last_write: dict[tuple[str, int], JiraCall] = field(default_factory=dict)
    asked_claims: dict[str, str] = field(default_factory=dict)  # who asked, by the request id
    answers: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    rechecked: dict[tuple[str, int], tuple[float, str]] = field(default_factory=dict)
    commands: dict[Incarnation, Seen] = field(default_factory=dict)
    created: dict[Incarnation, list[str]] = field(default_factory=lambda: defaultdict(list))
    forgotten: set[str] = field(default_factory=set)  # created before the hub or the agent last lost its memory
    carried_out: set[Incarnation] = field(default_factory=set)  # roots of what is done, in the hub's present database
    unknown_creations: list[str] = field(default_factory=list)
    root_of: dict[str, Incarnation] = field(default_factory=dict)
    delivered: dict[str, Incarnation] = field(default_factory=dict)  # by the request id of the claim
    in_hand: dict[str, Incarnation | None] = field(default_factory=dict)
    reported: dict[str, Incarnation | None] = field(default_factory=dict)  # by the request id of the report
    moves: Counter[tuple[str | None, str]] = field(default_factory=Counter)
    fault_states: Counter[tuple[str, str]] = field(default_factory=Counter)
    doubly_claimed: list[str] = field(default_factory=list)
    deleted: set[str] = field(default_factory=set)
    taken_away: set[str] = field(default_factory=set)  # deleted, or moved to where the bridge does not look
    holder: str | None = None  # the agent that holds the link, as long as no person says otherwise
    refused_at: float | None = None  # when the agent was last told that another one holds the link
    _newest_root: dict[int, Incarnation] = field(default_factory=dict)
    _claimed_ids: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _newest_event: int = 0
    _reads_copy: bool = False

    def tell(self, who: str, text: str, whom: str = "") -> None:
        self.chronicle.append(Told(self.world.time.now, who, whom, text))

    # --- the hub

    def _connection(self) -> sqlite3.Connection:
        return self.world.hub.database._opened[0]

    def hub_restored(self) -> None:
        """An older database stands in the place of the last one: what came after never happened, as far as it knows."""
        self._newest_event, self._reads_copy = 0, True
        for seen in self.commands.values():
            seen.end = None
        self.answers = {key: answer for key, answer in self.answers.items() if self._is_stored(key)}
        self.holder = None  # whoever held the link when the copy was made
        self.forgotten.update(key for keys in self.created.values() for key in keys)

    def _is_stored(self, request_id: str) -> bool:
        """Whether the hub has the answer in its database: under the id and the route it was asked at."""
        wanted = "SELECT 1 FROM answer WHERE link = 'main' AND request_key BETWEEN ? AND ?"
        return self.world.database().execute(wanted, (f"{request_id} ", f"{request_id} ~")).fetchone() is not None

    def agent_forgot(self) -> None:
        """Whoever knew of an issue may be gone, and a person may have cancelled its command.

        What the agent has reported it need not remember: the hub has it, or should.
        """
        reported = {
            self.commands[row["id"], row["batch_at"]].root
            for row in self.world.commands()
            if row["status"] in ("done", "failed") and row["error"] != NO_REPORT
        }
        self.forgotten.update(key for root, keys in self.created.items() if root not in reported for key in keys)

    def hub_committed(self) -> None:
        database = self._connection()
        if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'event'").fetchone() is None:
            return
        rows = database.execute(
            "SELECT id, command_id, from_status, to_status, why FROM event WHERE id > ? ORDER BY id LIMIT 5000",
            (self._newest_event,),
        ).fetchall()
        for row in rows:
            self._newest_event = row["id"]
            self._moved(database, row)
        if self._reads_copy:
            self._reads_copy = False
            self.carried_out.clear()  # that was in the copy's own time

    def incarnation(self, row: sqlite3.Row) -> Incarnation:
        return row["id"], row["batch_at"]

    def row(self, database: sqlite3.Connection, command_id: int) -> sqlite3.Row:
        found: sqlite3.Row = database.execute(
            "SELECT command.*, batch.created_at AS batch_at, root.batch_at AS root_at FROM command"
            " JOIN batch ON batch.id = command.batch_id LEFT JOIN (SELECT command.id, batch.created_at AS batch_at"
            " FROM command JOIN batch ON batch.id = command.batch_id) AS root ON root.id = command.root_id"
            " WHERE command.id = ?",
            (command_id,),
        ).fetchone()
        return found

    def _moved(self, database: sqlite3.Connection, event: sqlite3.Row) -> None:
        row = self.row(database, event["command_id"])
        me = self.incarnation(row)
        target = event["to_status"]
        root = (row["root_id"], row["root_at"]) if row["root_id"] else me
        seen = self.commands.get(me)
        if seen is None:
            seen = self.commands[me] = Seen(json.loads(row["params"]), row["type"], root)
        self.moves[event["from_status"], target] += 1
        self.tell("hub", f"command {row['id']} {row['type']}: {target} ({event['why']})")
        self._newest_root[row["id"]] = root
        if target == "claimed":
            seen.wish, seen.claimed = json.loads(row["params"]), True
            self._look_at(seen)
            key = self.world.hub.database.newest_key
            if key is not None:
                self.delivered[key] = me
                self._delivered_to(self.asked_claims.get(key))
            whole_key = self.world.hub.database.cut.newest_key
            stored = database.execute("SELECT body FROM answer WHERE request_key = ?", (whole_key,)).fetchone()
            identity = re.search(r'"identity":"([^"]+)"', stored[0]) if stored else None
            if identity is not None:
                self.root_of[identity[1]] = root
        if target == "done":
            self.carried_out.add(root)
        if target in TERMINAL:
            seen.ended_at = self.world.time.now
            self._look_at(seen)
        self.world.judge_move(row, event, seen)

    def _delivered_to(self, agent: str | None) -> None:
        """One agent holds the link. An answer that was stored before another one took over harms nobody (re-check)."""
        if agent is not None and self.holder not in (None, agent):
            self.world.broke("P11", f"{agent} got a command although {self.holder} holds the link")
        self.holder = agent or self.holder

    # --- the agents

    def asked(self, agent: "AgentMachine", method: str, path: str, body: Any, request_id: str | None) -> None:
        short = path.removeprefix("/api/v1/agent/").partition("?")[0]
        self.tell(agent.name, f"{method} {short}{f' {request_id[:6]}' if request_id else ''}", "hub")
        if request_id is not None and path.startswith("/api/v1/agent/claim"):
            self.asked_claims[request_id] = agent.name
        elif request_id is not None and method == "PUT":
            self.reported[request_id] = self.in_hand.get(agent.name)

    def answered(
        self, agent: "AgentMachine", method: str, path: str, request_id: str | None, answer: HubAnswer
    ) -> None:
        self.tell("hub", f"{answer.status}{f' {request_id[:6]}' if request_id else ''}", agent.name)
        if request_id is not None and answer.status < 500 and answer.status not in (409, 413, 422, 426):
            given = (answer.status, answer.body)
            before = self.answers.get(request_id, given)
            # A claim that was given up, or overtaken, is answered empty: nothing was stored, it may be asked anew.
            if "/claim" not in path or answer.status == 200 or self._is_stored(request_id):
                self.answers[request_id] = before
            if before != given:
                self.world.broke("P7", f"request {request_id} got {before} first and {answer} later")
        if "/claim" in path and answer.status == 409 and agent is self.world.agent:
            self.refused_at = self.world.time.now  # the agent tells a person once, the hub's page at each look
        if "/claim" in path and answer.status == 200:
            told = json.loads(answer.body)
            if told.get("identity"):
                self.root_of.setdefault(told["identity"], self._newest_root[told["id"]])
        if method == "GET" and answer.status == 200:
            found = json.loads(answer.body)
            self.rechecked[agent.name, found["id"]] = (self.world.time.now, found["status"])

    def journalled(self, agent: "AgentMachine", record: AnyRecord) -> None:
        if isinstance(record, Claimed):
            known = self._claimed_ids[str(agent.journal_path)]
            if record.request_id in known:
                self.doubly_claimed.append(record.request_id)
            known.add(record.request_id)
            self.in_hand[agent.name] = self.delivered.get(record.request_id)
        if isinstance(record, Finished):
            self.tell(agent.name, f"command {record.command_id} is {record.report.status}: {record.report.error or ''}")

    def in_hand_of(self, command_id: int) -> bool:
        """Whether the agent's request under way belongs to this command."""
        journal = self.world.agent.journal
        return journal is not None and journal.calls_for == command_id

    def may_have_forgotten(self, agent: "AgentMachine") -> None:
        """The newest lines of its journal may be gone with the machine: the same answer may be taken once more."""
        self._claimed_ids.pop(str(agent.journal_path), None)

    def agent_said(self, agent: "AgentMachine", event: Event) -> None:
        if event.name in ("blocked", "unblocked", "lost", "back", "refused"):
            self.tell(agent.name, f"{event.name}: {event.text[:120]}")
        if event.name == "blocked":
            self.world.agent_blocked(agent, event.text)

    # --- Jira

    def call_began(self, agent: "AgentMachine", request: httpx2.Request) -> JiraCall:
        journal, runner = agent.journal, agent.runner
        assert journal is not None and runner is not None
        delivery = journal.memory.delivery
        pauses = [one.pause_seconds for one in (delivery, runner._today) if one is not None]
        reading = request.method == "GET" or request.url.path.endswith("/search")
        call = JiraCall(
            self.world.time.now,
            agent.name,
            agent.lives,
            journal.calls_for,
            min(pauses, default=0.0),
            request.method,
            request.url.path,
            body_of(request),
            reading=reading,
        )
        self.tell(agent.name, f"{request.method} {request.url.path}", "Jira")
        if call.writes and self.world.at_writes:
            self.world.weather.ordered.append(self.world.at_writes.pop(0))
        self.world.judge_call(agent, call)
        self.calls.append(call)
        self.last_call[agent.name] = call
        if call.writes and call.command_id is not None:
            self.last_write[agent.name, call.command_id] = call
        return call

    def call_executed(self, call: JiraCall, response: httpx2.Response) -> None:
        self.tell("Jira", f"{response.status_code} {call.method} {call.path}", call.agent)
        if call.method == "POST" and call.path.endswith("/rest/api/2/issue") and response.status_code == 201:
            key = response.json()["key"]
            properties = call.body.get("properties") or [{"value": {}}]
            identity = properties[0]["value"].get("identity")
            root = self.root_of.get(identity)
            if root is None:
                self.unknown_creations.append(key)
            else:
                self.created[root].append(key)
                self.world.judge_creation(root)
        if call.writes and response.status_code < 300:
            self.jira_changed()

    def jira_changed(self) -> None:
        """Something in Jira is not as it was: some wish may be true now."""
        for seen in self.commands.values():
            if seen.claimed and seen.ended_at is None and not seen.was_true:
                self._look_at(seen)

    def _look_at(self, seen: Seen) -> None:
        if seen.claimed and not seen.was_true and is_true(self.world.jira, seen.type, seen.wish):
            seen.was_true = True
