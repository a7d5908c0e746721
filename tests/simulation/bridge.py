"""The whole bridge in one process and in virtual time: the real hub, the real agent, the fake Jira.

No folder in between: request and reply arrive. What a folder does to them is the relay's matter and the simulation's.
"""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import httpx2
from starlette.testclient import TestClient

from agent.hub import HubClient, over_http
from agent.jira import Access, JiraClient
from agent.journal import JournalFile
from agent.learning import LearntSite
from agent.pacer import Pacer
from agent.runner import Runner, Settings
from agent.site import Wanted
from examples.jira.app import JiraTransport
from examples.jira.catalogue import LINK_TYPES, SCRUM_BOARD
from examples.jira.server import FakeJira
from examples.jira.settings import DEFAULT_TOKEN, JiraSettings
from hub.api.apps import create_agent_app, create_app
from hub.api.context import Context
from hub.service import Service
from hub.store.connection import Database
from tests.simulation.clock import SimulatedClock, SimulatedIds

TOKEN: Final = "people-token"
HUB: Final = "http://127.0.0.1:8765"
JIRA: Final = "http://jira.test"
MAX_STEPS: Final = 2_000  # of one `work`: a bound, far above what any test needs


class AgentKilled(BaseException):
    """The agent's process ends here: nothing after the point where this is raised happens."""


class _Network(httpx2.BaseTransport):
    """The way to the fake Jira; may end the agent the moment Jira has executed a write."""

    def __init__(self, jira: FakeJira) -> None:
        self._inner = JiraTransport(jira)
        self.kill_after_write = False

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = self._inner.handle_request(request)
        reading = request.method == "GET" or request.url.path.endswith("/search")
        if self.kill_after_write and not reading:
            self.kill_after_write = False
            raise AgentKilled
        return response


class _InProcess(httpx2.BaseTransport):
    """The way to the hub: a test client's, for a plain httpx2 client with timeouts of its own."""

    def __init__(self, client: TestClient) -> None:
        self._client = client

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return self._client.send(request)


class Bridge:
    """One hub, one agent, one Jira; `step` and `work` move the agent, everything else is done by people and by fate."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lives = 0
        self.clock = SimulatedClock()
        self._ids = SimulatedIds()
        self.jira = FakeJira(JiraSettings(), self.clock)
        self._network = _Network(self.jira)
        self._database = Database(folder / "hub.sqlite")
        self._context = Context(Service(self._database, clock=self.clock, ids=self._ids))
        people = create_app(self._context, token=TOKEN, hosts=["127.0.0.1:8765"])
        self._people = TestClient(people, base_url=HUB, headers={"Authorization": f"Bearer {TOKEN}"})
        self._relay = TestClient(create_agent_app(self._context), base_url=HUB)
        self._hub = httpx2.Client(transport=_InProcess(self._relay), base_url=HUB)
        self._people.__enter__()
        self._relay.__enter__()
        self._control = httpx2.Client(transport=JiraTransport(self.jira), base_url=JIRA)
        self.start_agent()

    def close(self) -> None:
        self._journal.close()
        self._people.__exit__(None, None, None)
        self._relay.__exit__(None, None, None)
        self._context.close()
        self._database.close()
        self._control.close()
        self.jira.close()

    # the agent

    def start_agent(self) -> None:
        """A new process: everything it knows comes from its local disk."""
        self._journal = JournalFile(self._journal_path, self.clock)
        access = Access(JIRA, {"Authorization": f"Bearer {DEFAULT_TOKEN}"}, secrets=(DEFAULT_TOKEN,))
        jira = JiraClient(access, self._journal, self.clock, self._network)
        pacer = Pacer(self._journal, self.clock)
        wanted = Wanted(
            project="AURORA",
            board_id=SCRUM_BOARD,
            issue_types={"task": ("Задача",), "epic": ("Эпик",)},
            link_types={"блокирует начало": ("Блокировка", "outward"), "связанные": ("Связь", "outward")},
        )
        site = LearntSite(
            wanted, JIRA, self._folder / "site.json", jira=jira, pacer=pacer, clock=self.clock, gap_seconds=2.0
        )
        self._agent = Runner(
            jira=jira,
            hub=HubClient(over_http(self._hub), claim_wait=0),
            journal=self._journal,
            names=site,
            pacer=pacer,
            clock=self.clock,
            ids=self._ids,
            settings=Settings(host="vm", projects=frozenset({"AURORA"})),
        )

    @property
    def _journal_path(self) -> Path:
        return self._folder / f"journal-{self._lives}.jsonl"

    def step(self) -> float:
        """One step of the agent; answers when it wants to be woken."""
        return self._agent.step(self.clock.monotonic())

    def work(self) -> None:
        """Let the agent work until its claim finds nothing."""
        for _ in range(MAX_STEPS):
            wake = self.step()
            if self._agent.idle:
                return
            self.clock.sleep(wake - self.clock.monotonic())
        raise AssertionError(f"the agent did not come to rest within {MAX_STEPS} steps")

    def agent_is_idle(self) -> bool:
        return self._agent.idle

    def kill_agent_after_the_next_write(self) -> None:
        """Work until Jira has executed a write; then the agent is gone, at that very moment."""
        self._network.kill_after_write = True
        try:
            self.work()
        except AgentKilled:
            self._journal.close()
            return
        raise AssertionError("the agent came to rest without a write")

    def lose_journal(self) -> None:
        """The disk of the agent's machine is lost with everything on it; a person lets its successor in."""
        self._lives += 1
        self._people.post("/api/v1/adopt").raise_for_status()
        (self._folder / "site.json").unlink()

    # the relay's side of the hub, by hand

    def claim_by_hand(self) -> Any:
        """A claim whose answer the agent never sees."""
        response = self._relay.post(
            "/api/v1/agent/claim?wait=0",
            json={"agent_version": 3},
            headers={"Idempotency-Key": self._ids.new_id()},
        )
        return response.raise_for_status().json()

    def also_claimed(self, command_id: int) -> None:
        """A second command stands claimed, since an hour: what the migration of a live base may leave behind.

        By the rules of the queue alone it cannot come about, so this is the one thing done behind the hub's back.
        """
        since = datetime.fromtimestamp(self.clock.wall() - 3600, UTC).isoformat()
        with closing(sqlite3.connect(self._folder / "hub.sqlite")) as connection, connection:
            connection.execute(
                "UPDATE command SET status = 'claimed', claimed_at = :since, first_claimed_at = :since, deliveries = 1"
                " WHERE id = :id",
                {"since": since, "id": command_id},
            )

    # people at the hub

    def post_batch(self, *commands: Any) -> httpx2.Response:
        body = {"author": "person", "title": "Пакет", "commands": list(commands)}
        return self._people.post("/api/v1/batches", json=body)

    def batch(self, *commands: Any) -> Any:
        response = self.post_batch(*commands)
        assert response.status_code == 201, response.text
        return response.json()

    def apply(self, *commands: Any) -> list[int]:
        """The ids of the batch's commands, the trailing refresh included."""
        return [command["id"] for command in self.batch(*commands)["commands"]]

    def batches(self) -> Any:
        return self._get("/batches")["items"]

    def command(self, command_id: int) -> Any:
        return self._get(f"/commands/{command_id}")

    def mirrored(self, **filters: str) -> Any:
        """The first issues of the mirror with these filters."""
        return self._people.get("/api/v1/issues", params=filters).raise_for_status().json()["items"]

    def note(self, key: str, text: str) -> None:
        self._people.put(f"/api/v1/notes/{key}", json={"text": text}).raise_for_status()

    def note_of(self, key: str) -> str | None:
        response = self._people.get(f"/api/v1/notes/{key}")
        if response.status_code == 404:
            return None
        text: str = response.raise_for_status().json()["text"]
        return text

    def _get(self, path: str) -> Any:
        return self._people.get(f"/api/v1{path}").raise_for_status().json()

    # people at Jira, and its own records

    def person_edits(self, **edit: Any) -> None:
        self._control.post("/control/edits", json=edit).raise_for_status()

    def an_issue_in(self, status: str) -> str:
        """A seeded issue, put into `status` by a person."""
        self.person_edits(action="status", key="AURORA-1534", status=status)
        return "AURORA-1534"

    def jira_writes(self) -> list[Any]:
        """Requests that changed something, in order."""
        answer = self._control.get("/control/requests", params={"executed": "true"}).raise_for_status().json()
        return list(answer["requests"])

    def jira_issue(self, key: str) -> Any:
        return self._state()["issues"][key]

    def jira_issues(self, summary: str) -> list[Any]:
        found = self._state()["issues"].items()
        return [{**issue, "key": key} for key, issue in found if issue["summary"] == summary]

    def jira_links(self, first: str, second: str) -> list[str]:
        """Names of the link types that lead from `first` to `second`."""
        names = {one.id: one.name for one in LINK_TYPES}
        links = self._state()["links"]
        return [names[one["type_id"]] for one in links if (one["first_key"], one["second_key"]) == (first, second)]

    def _state(self) -> Any:
        return self._control.get("/control/state").raise_for_status().json()
