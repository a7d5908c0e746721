"""One contract of client and server over every share: disk, tmpfs, memory, and each kind of faulty share."""

import os
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from relay import Client, Profile, RelayTimeout, Reply, Request, Server, create_link
from relay.testing import HABITS, Fault, FaultyShare, MemoryShare
from relay.testing.strategies import fault_schedules
from tests.conftest import PROFILE
from tests.contracts.test_relay_exchange import until

pytest_plugins = ["relay.testing.plugin"]
KINDS = ("disk", "tmpfs", "memory", *HABITS)
QUICK = Profile(resend_seconds=0.2, retry_seconds=0.05)
CALLERS, CALLS = (8, 30) if PROFILE == "quick" else (16, 500)
PATIENCE = 120.0


class Counting:
    """A handler that counts what it did, by request id: the effect that must happen once."""

    def __init__(self) -> None:
        self.runs: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.may_end = threading.Event()

    def __call__(self, request: Request) -> Reply:
        with self.lock:
            self.runs[request.id] += 1
        if request.path == "/parked":
            self.may_end.wait(30)
        return Reply(200, {"x-id": request.id, "x-path": request.path}, request.body)


class Place:
    """A share of one kind with a client and a server at it, each of which can be started anew."""

    def __init__(self, kind: str, root: Path, stack: ExitStack, *, weather: float = 0.0, seed: int = 0) -> None:
        self.handler = Counting()
        self._root, self._stack = root, stack
        self.settings: dict[str, Any] = {"profile": QUICK}
        self.views: dict[str, Any]
        if kind in HABITS:
            self.use(FaultyShare(kind, weather=weather, seed=seed, pace=0.002))
        elif kind == "memory":
            self.use(MemoryShare())
        else:
            if kind == "tmpfs":
                if not os.access("/dev/shm", os.W_OK):
                    pytest.skip("this system has no /dev/shm")
                root = Path(stack.enter_context(TemporaryDirectory(dir="/dev/shm")))
            create_link(root / "main", "main")
            self.views = {"hub": root / "main", "agent": root / "main"}

    def use(self, share: MemoryShare) -> None:
        self.share = share
        self.views = {"hub": share.view("hub"), "agent": share.view("agent")}
        if isinstance(share, FaultyShare):
            self.settings = {"profile": share.profile, "clock": share.clock}

    def server(self) -> Server:
        started = Server(self.views["hub"], self.handler, state_dir=self._root / "hub-state", **self.settings).start()
        self._stack.callback(started.stop)
        return started

    def client(self) -> Client:
        return self._stack.enter_context(Client(self.views["agent"], state_dir=self._root / "agent", **self.settings))


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as stack:
        yield Place(request.param, tmp_path, stack)


def asked(client: Client, count: int, callers: int = CALLERS) -> list[Reply]:
    def call(number: int) -> Reply:
        return client.call("POST", f"/{number}", f"{number}".encode(), timeout=PATIENCE, request_id=f"r-{number}")

    with ThreadPoolExecutor(callers) as pool:
        return list(pool.map(call, range(count)))


def assert_each_answered_with_its_own(replies: list[Reply], handler: Counting) -> None:
    assert [reply.body for reply in replies] == [f"{number}".encode() for number in range(len(replies))]
    assert [reply.request_id for reply in replies] == [f"r-{number}" for number in range(len(replies))]
    assert [run for run, times in handler.runs.items() if times > 1] == []


def test_every_request_is_answered_once_with_its_own_reply(place: Place) -> None:
    server, client = place.server(), place.client()
    assert_each_answered_with_its_own(asked(client, CALLS), place.handler)
    assert sum(place.handler.runs.values()) == CALLS
    assert server.status().counters["executed"] == CALLS
    assert (server.status().peer_online, client.status().peer_online) == (True, True)


def test_a_message_of_several_frames_arrives_whole(place: Place) -> None:
    _, client = place.server(), place.client()
    body = bytes(range(256)) * 8_000
    assert client.call("PUT", "/large", body, timeout=PATIENCE).body == body


def test_what_was_asked_is_answered_after_the_server_came_back(place: Place) -> None:
    server, client = place.server(), place.client()
    first = asked(client, 5)
    server.stop()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.call, "POST", "/later", b"later", timeout=PATIENCE)
        until(lambda: client.status().counters["open"] == 1)
        place.server()
        assert waiting.result(PATIENCE).body == b"later"
    assert asked(client, 5) == first, "the stored replies, from the life before"
    assert max(place.handler.runs.values()) == 1


def test_a_request_given_up_is_withdrawn_and_resumed_by_the_next_life_of_the_client(place: Place) -> None:
    server, client = place.server(), place.client()
    client.call("GET", "/", timeout=PATIENCE)  # both have met
    with pytest.raises(RelayTimeout):
        client.call("GET", "/parked", timeout=0.8, request_id="parked")
    until(lambda: server.status().counters["withdrawn"] == 1, PATIENCE)
    client.close()
    place.handler.may_end.set()
    assert place.client().resume("parked", timeout=PATIENCE).status == 200
    assert place.handler.runs["parked"] == 1


@pytest.mark.parametrize("kind", HABITS)
def test_weather_of_its_kind_costs_time_and_nothing_else(kind: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        place = Place(kind, tmp_path, stack, weather=0.1, seed=11)
        assert isinstance(place.share, FaultyShare)
        _, client = place.server(), place.client()
        assert_each_answered_with_its_own(asked(client, CALLS), place.handler)
        assert sum(place.share.struck.values()) > 0


SCHEDULES = 8 if PROFILE == "quick" else 60


@settings(max_examples=SCHEDULES, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(faults=fault_schedules())
def test_whatever_the_faults_each_request_is_answered_once(
    faults: tuple[Fault, ...], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with ExitStack() as stack:
        root = Path(stack.enter_context(TemporaryDirectory(dir=tmp_path_factory.getbasetemp())))
        place = Place("memory", root, stack)
        place.use(FaultyShare("virtiofs", faults=faults, pace=0.002))
        _, client = place.server(), place.client()
        assert_each_answered_with_its_own(asked(client, 12, callers=4), place.handler)


def test_the_fixture_gives_a_pair_and_the_same_again_after_a_restart(relay_pair: Any) -> None:
    share, handler = FaultyShare("smb", faults=[Fault("lost", "agent", 0)], pace=0.002), Counting()
    client, server = relay_pair(handler, share)
    reply = client.call("POST", "/", b"1", timeout=PATIENCE, request_id="once")
    assert server.status().share == "ok"
    client, server = relay_pair(handler, share)
    assert client.call("POST", "/", b"1", timeout=PATIENCE, request_id="once") == reply
    assert handler.runs == {"once": 1}
