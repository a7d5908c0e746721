"""One process a side: a second one on the machine is refused at its start, one elsewhere is found by its epoch."""

import asyncio
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from relay import (
    AlreadyRunning,
    AsyncClient,
    AsyncServer,
    Client,
    Profile,
    Reply,
    Request,
    Server,
    ShareUnavailable,
    create_link,
)
from relay.frames import frame_from
from relay.link import Link, Me, Peer
from tests.contracts.relay_by_hand import Hands
from tests.contracts.test_relay_exchange import until
from tests.rules.test_relay_link import LINK, parcel

QUICK = Profile(resend_seconds=0.2, retry_seconds=0.05, ack_late_seconds=0.05, presence_seconds=0.0)


def test_of_two_servers_with_memories_of_their_own_the_first_ends_and_names_the_second(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    hands.run(3.0)
    first = hands.server
    hands._root = tmp_path / "another machine"
    hands._root.mkdir()
    hands.begin_server()
    hands.run(1.0)  # the second is known to the client now
    call = hands.ask("r-1")
    hands.run(0.5)
    assert list(hands.runner.running) == ["r-1"]
    assert hands.server._link is not None
    with pytest.raises(
        AlreadyRunning, match=rf"hub side .* since 2026-.*{hands.server._link.me.epoch}.*stop one of them"
    ):
        for _ in range(200):  # until the client's next heartbeat at the latest
            first.step()
            hands.run(0.3, step=0.3)
    hands.runner.answer("r-1", b"by the second")
    hands.run(1.0)
    assert call.waiter.reply is not None
    assert call.waiter.reply.body == b"by the second"


def test_a_restart_of_either_side_is_no_second_process(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    for number in range(6):
        call = hands.ask(f"r-{number}")
        hands.run(1.0)
        hands.runner.answer(f"r-{number}", b"x")
        hands.run(1.0)
        assert call.waiter.reply is not None
        if number % 2:
            hands.restart_client()
        else:
            hands.restart_server()
        hands.run(1.0)


def test_files_of_one_window_written_before_and_after_a_restart_are_no_sign_of_a_second_process() -> None:
    peer = Link(Me(LINK, "agent", "b" * 12, 3), Peer("a" * 12, 1, 0), Profile(), 0.0)
    peer.send([parcel("r-1"), parcel("x", 1_000_000), parcel("y", 1_000_000)])
    written = peer.outgoing(0.0, 0.0, requests_open=True)  # they acknowledge the life before
    assert len(written) > 1
    for publication in written:
        peer.published(publication, 0.0)
    ours = Link(Me(LINK, "hub", "c" * 12, 2), Peer("b" * 12, 3, 0), Profile(), 0.0)
    ours.send([parcel("hello")])
    (hello,) = ours.outgoing(1.0, 0.0, requests_open=True)
    peer.receive(frame_from(hello.data, hello.name), 1.0)
    (again, *_) = peer.outgoing(2.5, 0.0, requests_open=True)  # the first of them once more: it knows the new life
    for publication in (again, *written[1:]):
        ours.receive(frame_from(publication.data, publication.name), 3.0)
    assert ours.peer.taken == len(written)
    assert ours.standing.superseded_by is None


@pytest.fixture
def link(tmp_path: Path) -> Path:
    create_link(tmp_path / "main", "main")
    return tmp_path / "main"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """What begins from now on runs on another machine: it sees the share and nothing else."""
    return lambda: monkeypatch.setenv("FOLDER_RELAY_MACHINE", str(tmp_path / "another machine"))


def echo(request: Request) -> Reply:
    return Reply.of(request.path)


def test_a_second_server_on_the_machine_is_refused_whatever_memory_it_has(link: Path, tmp_path: Path) -> None:
    with Server(link, echo, state_dir=tmp_path / "one", profile=QUICK) as first:
        second = Server(link, echo, state_dir=tmp_path / "two", profile=QUICK)
        told = rf"hub side .* process {os.getpid()} on .+ since 20.*memory in {tmp_path / 'one'}"
        with pytest.raises(AlreadyRunning, match=told):
            second.start()
        same = tmp_path / "the same link by another path"
        same.symlink_to(link)
        with pytest.raises(AlreadyRunning, match=told):
            Server(same, echo, state_dir=tmp_path / "three", profile=QUICK).start()
        with Client(link, state_dir=tmp_path / "c", profile=QUICK) as client:
            assert client.call("GET", "/").json() == "/", "the first serves, and the other side is another side"
        assert first.status().share == "ok"
    with Server(link, echo, state_dir=tmp_path / "two", profile=QUICK):
        """Where the first has ended the second may begin."""


def test_a_second_client_on_the_machine_is_refused_whatever_memory_it_has(link: Path, tmp_path: Path) -> None:
    create_link(tmp_path / "other", "other")
    with (
        Client(link, state_dir=tmp_path / "one", profile=QUICK),
        Client(tmp_path / "other", state_dir=tmp_path / "two", profile=QUICK),
        pytest.raises(AlreadyRunning, match=rf"agent side .* process {os.getpid()} on .+ since 20"),
    ):
        Client(link, state_dir=tmp_path / "two", profile=QUICK)


def test_whoever_is_refused_leaves_no_trace_of_itself(link: Path, tmp_path: Path) -> None:
    with Server(link, echo, state_dir=tmp_path / "one", profile=QUICK):
        with pytest.raises(AlreadyRunning):
            Server(link, echo, state_dir=tmp_path / "two", profile=QUICK).start()
        assert len({path.name.partition("-")[0] for path in (link / "to-agent").glob("*.json")}) <= 1
    with Server(link, echo, state_dir=tmp_path / "two", profile=QUICK):
        """Its own lock was given back as well."""


def test_a_process_that_was_killed_holds_nothing_whatever_it_left_behind(link: Path, tmp_path: Path) -> None:
    with Server(link, echo, state_dir=tmp_path / "one", profile=QUICK):
        shutil.copytree(os.environ["FOLDER_RELAY_MACHINE"], tmp_path / "left")
    shutil.copytree(tmp_path / "left", os.environ["FOLDER_RELAY_MACHINE"], dirs_exist_ok=True)
    with Server(link, echo, state_dir=tmp_path / "two", profile=QUICK) as server:
        assert server.status().share == "ok"


def test_a_home_that_cannot_be_written_to_hinders_nobody(
    link: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FOLDER_RELAY_MACHINE")
    monkeypatch.setenv("HOME", "/dev/null")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Server(link, echo, state_dir=tmp_path / "one", profile=QUICK), pytest.raises(AlreadyRunning):
        Server(link, echo, state_dir=tmp_path / "two", profile=QUICK).start()


def test_the_first_of_two_servers_stops_serving_and_says_why(
    link: Path, tmp_path: Path, elsewhere: Callable[[], None]
) -> None:
    ran: list[str] = []
    ended: list[BaseException] = []

    def handler_of(who: str) -> Any:
        def handler(request: Request) -> Reply:
            ran.append(f"{who} {request.id}")
            return Reply.of(who)

        return handler

    first = Server(link, handler_of("first"), state_dir=tmp_path / "one", profile=QUICK)

    def serve() -> None:
        try:
            first.serve_forever()
        except AlreadyRunning as error:
            ended.append(error)

    serving = threading.Thread(target=serve)
    serving.start()
    with Client(link, state_dir=tmp_path / "c", profile=QUICK) as client:
        assert client.call("GET", "/", request_id="r-1").json() == "first"
        # A memory that knows nothing would take what still lies there.
        until(lambda: all("-ack-" in path.name for path in (link / "to-hub").glob("*.json")))
        elsewhere()
        with Server(link, handler_of("second"), state_dir=tmp_path / "two", profile=QUICK):
            until(lambda: client.call("GET", "/").json() == "second")
            until(lambda: len(ended) == 1)
            assert client.call("GET", "/", request_id="r-2").json() == "second"
            assert first.status().share == "foreign"
            assert "another process" in first.status().detail
    serving.join(10)
    first.stop()
    assert [line for line in ran if line.endswith(("r-1", "r-2"))] == ["first r-1", "second r-2"]


def test_a_server_on_asyncio_that_another_has_replaced_ends_too_and_is_cancelled_as_before(
    link: Path, tmp_path: Path, elsewhere: Callable[[], None]
) -> None:
    async def serve() -> None:
        first = AsyncServer(link, echo, state_dir=tmp_path / "one", profile=QUICK)
        serving = asyncio.create_task(first.serve_forever())
        async with AsyncClient(link, state_dir=tmp_path / "c", profile=QUICK) as client:
            await client.call("GET", "/")
            elsewhere()
            second = AsyncServer(link, echo, state_dir=tmp_path / "two", profile=QUICK)
            going_on = asyncio.create_task(second.serve_forever())
            while not serving.done():
                await client.call("GET", "/")
            with pytest.raises(AlreadyRunning, match="another process is the hub side"):
                await serving
            going_on.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(going_on, 10)

    asyncio.run(serve())


def test_callers_of_the_first_of_two_clients_learn_of_the_second(
    link: Path, tmp_path: Path, elsewhere: Callable[[], None]
) -> None:
    with (
        Server(link, lambda _: Reply.of("x"), state_dir=tmp_path / "s", profile=QUICK),
        Client(link, state_dir=tmp_path / "one", profile=QUICK) as first,
    ):
        assert first.call("GET", "/").json() == "x"
        elsewhere()
        with Client(link, state_dir=tmp_path / "two", profile=QUICK) as second:
            assert second.call("GET", "/").json() == "x"
            until(lambda: first.status().share == "foreign")
            for ask in (lambda: first.call("GET", "/", timeout=600), lambda: first.resume("r-1", timeout=600)):
                # At once, and not when the time is over.
                with pytest.raises(ShareUnavailable, match=r"another process is the agent side .* since 20") as told:
                    ask()
                assert (told.value.state, told.value.request_id is not None) == ("foreign", True)
            assert second.call("GET", "/").json() == "x"


def test_who_waits_while_another_takes_his_place_learns_it_at_once_and_is_silent_from_then_on(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    hands.run(3.0)
    first = hands.client
    hands._root = tmp_path / "another machine"
    hands._root.mkdir()
    waiting = hands.ask("r-1")
    first.step()
    hands.begin_client()
    for _ in range(200):
        hands.run(0.3, step=0.3)
        first.step()
        if waiting.waiter.error is not None:
            break
    assert isinstance(waiting.waiter.error, ShareUnavailable)
    epoch = first.status().epoch
    before = {name for name in hands.files("hub") if name.startswith(f"{epoch}")}
    for _ in range(300):
        hands.clock.now += 1.0
        assert first.step() > hands.clock.now, "it does not spin"
    assert {name for name in hands.files("hub") if name.startswith(f"{epoch}")} <= before
