"""One suite for every way to the fake Jira: a socket to its process, the transport in process, the world's wire."""

import random
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

import agent.jira
from agent.jira import Access, JiraClient, network
from agent.journal import JournalFile
from agent.outcomes import Answer, Expect, JiraRequest, Outcome
from examples.jira.app import JiraTransport
from examples.jira.server import FakeJira
from examples.jira.settings import DEFAULT_TOKEN, JiraSettings
from tests.contracts import test_fake_jira_process as processes
from tests.contracts.fake_jira_world import AGILE, API
from tests.simulation.clock import SimulatedClock
from tests.simulation.faults import Weather
from tests.simulation.jira_wire import JiraCall, JiraWire
from tests.simulation.virtual_time import Machine, Process, Time

ISSUE: Final = f"{API}/issue/AURORA-1534"
COMMENT: Final = f"{ISSUE}/comment"
NEW: Final = {"project": {"key": "AURORA"}, "issuetype": {"name": "Задача"}, "summary": "Сводка"}
SETTLE: Final = 300.0
AUTHORIZED: Final = {"authorization": f"Bearer {DEFAULT_TOKEN}"}
WIRES: Final = ("socket", "in process", "world")
# As Jira's own control API has them; the world orders its faults at the wire.
ORDERS: Final[dict[str, dict[str, Any]]] = {
    "dropped before": {"kind": "drop_before_execute"},
    "dropped after": {"kind": "execute_then_drop"},
    "page before": {"kind": "html", "status": 503},
    "page after": {"kind": "html", "status": 504, "executed": True},
    "broken json": {"kind": "truncate_json"},
    "error after": {"kind": "error_after_execute"},
    "rate limit": {"kind": "rate_limit", "retry_after": "5"},
    "slow": {"kind": "delay", "seconds": 1.0},
}


@dataclass
class Wire:
    """A way to one Jira; `later` lets pass what a write needs that takes effect after its client has given up."""

    url: str
    transport: Callable[[], httpx2.BaseTransport]
    later: Callable[[], None] = lambda: None
    weather: Weather | None = None

    def client(self, headers: dict[str, str] | None = None) -> httpx2.Client:
        headers = AUTHORIZED if headers is None else headers
        return httpx2.Client(transport=self.transport(), base_url=self.url, headers=headers, trust_env=False)

    def order(self, fault: str) -> None:
        """The next request meets this fault."""
        if self.weather is not None:
            self.weather.ordered.append(fault)
            return
        with self.client() as client:
            assert client.post("/control/faults", json=ORDERS[fault]).status_code == 201

    def comments(self) -> int:
        """How many the issue has, as Jira itself has them."""
        with self.client() as client:
            return len(client.get("/control/state").json()["issues"]["AURORA-1534"]["comments"])


def over_a_socket(url: str) -> Wire:
    return Wire(url, lambda: network(Access(url, {})), lambda: time.sleep(0.05))


def in_process() -> Wire:
    jira = FakeJira(JiraSettings(), SimulatedClock())
    return Wire("http://jira.test", lambda: JiraTransport(jira))


def in_the_world() -> Wire:
    world = Time()
    machine = Machine(world, "vm")
    process = Process("agent", machine)
    jira, weather = FakeJira(JiraSettings(), Machine(world, "jira")), Weather(random.Random(1))

    def began(request: httpx2.Request) -> JiraCall:
        return JiraCall(world.now, "agent", 1, None, 0.0, request.method, request.url.path, None)

    def transport() -> JiraWire:
        return JiraWire(jira, world, weather, process, SETTLE, began, lambda call, response: None)

    return Wire("http://jira.test", transport, lambda: world.pump(world.now + SETTLE) and None, weather)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    process = processes.Process(tmp_path_factory.mktemp("jira"), "--issues", "41")
    yield process.url
    process.end(signal.SIGTERM)


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> Wire:
    if request.param == "socket":
        return over_a_socket(request.getfixturevalue("url"))
    return in_process() if request.param == "in process" else in_the_world()


# --- without faults


ASKED: Final[list[tuple[str, str, Any, int]]] = [
    ("GET", f"{API}/myself", None, 200),
    ("GET", f"{API}/serverInfo", None, 200),
    ("GET", f"{API}/field", None, 200),
    ("GET", f"{API}/priority", None, 200),
    ("GET", f"{API}/issueLinkType", None, 200),
    ("GET", f"{ISSUE}?fields=summary,status,comment", None, 200),
    ("GET", f"{API}/issue/AURORA-9999", None, 404),
    ("GET", f"{API}/search?jql=key%20=%20AURORA-1534&maxResults=2&fields=summary", None, 200),
    ("POST", f"{API}/search", {"jql": "project = AURORA ORDER BY key", "maxResults": 3, "fields": ["summary"]}, 200),
    ("POST", f"{API}/search", {"jql": "nonsense ==="}, 400),
    ("POST", f"{API}/issue", {"fields": NEW}, 201),
    ("POST", f"{API}/issue", {"fields": {"summary": "без проекта"}}, 400),
    ("PUT", ISSUE, {"fields": {"duedate": "2026-11-23"}}, 204),
    ("PUT", ISSUE, {"fields": {"duedate": "завтра"}}, 400),
    ("POST", COMMENT, {"body": 'Ё "\\\r\n текст'}, 201),
    ("GET", COMMENT, None, 200),
    ("GET", f"{ISSUE}/transitions", None, 200),
    ("POST", f"{ISSUE}/transitions", {"transition": {"id": "999999"}}, 400),
    ("GET", f"{AGILE}/board/12/sprint", None, 200),
    ("POST", f"{AGILE}/sprint/9/issue", {"issues": ["AURORA-1535"]}, 204),
    ("DELETE", f"{API}/issueLink/999999", None, 404),
    ("GET", f"{API}/no/such/resource", None, 404),
    ("POST", COMMENT, b'{"body": "no media type"}', 415),
    ("GET", "/", None, 200),
]
# What the server adds to the fake's own headers, and what is left of the rate limit at that moment.
OF_THE_MOMENT: Final = frozenset({"date", "server", "connection", "transfer-encoding", "x-ratelimit-remaining"})
TIMES: Final = re.compile(rb"\d{4}-\d\d-\d\dT[\d:.+]+|\d\d:\d\d(:\d\d)?|\d\d\.\d\d\.\d{4}")


def told(wire: Wire) -> list[tuple[Any, ...]]:
    """Each answer as it came, without the moments and addresses that differ by nature."""
    found: list[tuple[Any, ...]] = []
    with wire.client() as client, wire.client({}) as nobody, wire.client({"authorization": "Bearer wrong"}) as stranger:
        for method, path, body, status in ASKED:
            content = body if isinstance(body, bytes) else None
            answer = client.request(method, path, json=None if content else body, content=content)
            assert answer.status_code == status, (method, path, answer.status_code, answer.text)
            found.append((method, path, *_shape(answer, wire)))
        for other in (nobody, stranger):
            found.append(_shape(other.get(f"{API}/myself"), wire))
            found.append(_shape(other.post(COMMENT, json={"body": "x"}), wire))
    return found


def _shape(answer: httpx2.Response, wire: Wire) -> tuple[Any, ...]:
    headers = {name.lower(): value for name, value in answer.headers.items() if name.lower() not in OF_THE_MOMENT}
    body = TIMES.sub(b"T", answer.content.replace(wire.url.encode(), b"http://127.0.0.1"))
    assert headers.pop("content-length", "0") == str(len(answer.content))  # of a body that names the address
    return answer.status_code, headers, body


def test_every_way_gives_the_same_answers_headers_and_errors(tmp_path: Path) -> None:
    process = processes.Process(tmp_path, "--issues", "41")
    try:
        really = told(over_a_socket(process.url))
    finally:
        process.end(signal.SIGTERM)
    for simulated in (in_process(), in_the_world()):
        for one, other in zip(told(simulated), really, strict=True):
            assert one == other


# --- with faults: what the agent makes of them


READ: Final = JiraRequest("GET", ISSUE, "read", Expect(keys=("key", "fields")))
WRITE: Final = JiraRequest("POST", COMMENT, "write", Expect(frozenset({201}), ("id",)), body={"body": "x"})
# Of a write: its outcome, and whether Jira has the comment in the end. A reading has the same outcome.
MET: Final[dict[str, tuple[Outcome, bool]]] = {
    "dropped before": (Outcome.UNKNOWN, False),
    "dropped after": (Outcome.UNKNOWN, True),
    "page before": (Outcome.GATEWAY, False),
    "page after": (Outcome.GATEWAY, True),
    "broken json": (Outcome.UNKNOWN, True),
    "error after": (Outcome.BROKEN, True),
    "rate limit": (Outcome.TOO_MANY, False),
    "slow": (Outcome.UNKNOWN, True),
}


def sent(wire: Wire, request: JiraRequest, folder: Path, url: str | None = None) -> Answer:
    """What the agent's own client makes of one request."""
    journal = JournalFile(folder / "journal.jsonl", SimulatedClock())
    access = Access(url or wire.url, AUTHORIZED, secrets=(DEFAULT_TOKEN,))
    with closing(journal), closing(JiraClient(access, journal, SimulatedClock(), wire.transport())) as client:
        return client.send(request)


@pytest.mark.parametrize("fault", MET)
def test_a_fault_has_one_outcome_whatever_the_way(
    wire: Wire, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent.jira, "READ_SECONDS", {"read": 0.3, "write": 0.3})
    outcome, takes_effect = MET[fault]
    before = wire.comments()
    wire.order(fault)
    met = sent(wire, WRITE, tmp_path)
    assert (met.outcome, met.json) == (outcome, None), met.text
    ends = time.monotonic() + 20
    while wire.comments() < before + takes_effect:
        assert time.monotonic() < ends, "it never took effect"
        wire.later()
    assert wire.comments() == before + takes_effect
    wire.order(fault)
    assert sent(wire, READ, tmp_path).outcome is outcome
    wire.later()
    assert sent(wire, READ, tmp_path).outcome is Outcome.OK, "one order, one fault"


def test_a_rate_limit_says_how_long_to_wait(wire: Wire, tmp_path: Path) -> None:
    wire.order("rate limit")
    assert sent(wire, READ, tmp_path).wait_seconds >= 30.0


@pytest.mark.parametrize("way", ["socket", "world"])
def test_a_refused_connection_sends_nothing(way: str, tmp_path: Path) -> None:
    wire = in_the_world() if way == "world" else over_a_socket("http://127.0.0.1:1")
    if way == "world":
        wire.order("refused")
    assert sent(wire, WRITE, tmp_path).outcome is Outcome.NOT_SENT
    assert way == "socket" or wire.comments() == in_process().comments()
