"""Client and server together: calls, restarts, withdrawals, shares that fail and come back, in one process."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from relay import (
    Client,
    MessageTooLarge,
    PeerOffline,
    Profile,
    RelayClosed,
    RelayStatus,
    RelayTimeout,
    Reply,
    Request,
    Server,
    ShareUnavailable,
    UnknownRequest,
    create_link,
)
from relay.http import AsyncFolderTransport, FolderTransport
from relay.ports import Folder
from relay.testing import MemoryShare

QUICK = Profile(resend_seconds=0.2, retry_seconds=0.05, stuck_seconds=0.3)
Views = dict[str, Any]


def echo(request: Request) -> Reply:
    return Reply(200, {"x-path": request.path, "x-id": request.headers["idempotency-key"]}, request.body)


def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, "it never came true"
        time.sleep(0.005)


def everything_published(status: RelayStatus) -> bool:
    """Whether all that was given to a side is in the folder, the other side not having been there yet."""
    published = status.counters["published"] - status.counters["repeated"]
    return (status.counters["open"], status.waiting) == (0, 0) and published == status.in_flight


@pytest.fixture(params=["disk", "memory"])
def views(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Views]:
    if request.param == "disk":
        create_link(tmp_path / "main", "main")
        yield {"hub": tmp_path / "main", "agent": tmp_path / "main"}
    else:
        share = MemoryShare()
        yield {"hub": share.view("hub"), "agent": share.view("agent")}


@pytest.fixture
def server_of(views: Views, tmp_path: Path) -> Callable[..., Server]:
    return lambda handler, **more: Server(views["hub"], handler, state_dir=tmp_path / "s", profile=QUICK, **more)


@pytest.fixture
def client_of(views: Views, tmp_path: Path) -> Callable[..., Client]:
    return lambda **more: Client(views["agent"], state_dir=tmp_path / "c", profile=QUICK, **more)


@pytest.mark.parametrize("durability", ["full", "none"])
def test_a_call_comes_back_with_its_reply(server_of: Any, client_of: Any, durability: str) -> None:
    with server_of(echo, durability=durability), client_of(durability=durability) as client:
        reply = client.call("post", "/add?n=1", {"имя": [1, 2.5, None]}, request_id="r:1")
        assert reply.json() == {"имя": [1, 2.5, None]}
        assert (reply.headers["x-path"], reply.headers["x-id"], reply.request_id) == ("/add?n=1", "r:1", "r:1")
        assert client.call("GET", "/").body == b""
        large = bytes(range(256)) * 12_000
        assert client.call("PUT", "/large", large).body == large


def test_async_handlers_and_failing_ones(server_of: Any, client_of: Any) -> None:
    async def handler(request: Request) -> Reply:
        await asyncio.sleep(0)
        if request.path == "/fails":
            raise KeyError("a mistake of the handler's")
        return Reply.of({"asked": request.path}, 201)

    with server_of(handler), client_of() as client:
        assert client.call("GET", "/a").json() == {"asked": "/a"}
        failed = client.call("GET", "/fails")
        assert (failed.status, failed.json()["code"]) == (500, "handler_failed")


def test_a_reply_no_link_carries_becomes_an_answer_that_says_so(server_of: Any, client_of: Any) -> None:
    too_large = b"x" * (33 << 20)
    wrong = {"/status": Reply(999), "/headers": Reply(200, {"a": "x" * 70_000}), "/large": Reply(200, {}, too_large)}
    with server_of(lambda request: wrong.get(request.path) or Reply()), client_of() as client:
        assert client.call("GET", "/status").json()["code"] == "reply_invalid"
        assert client.call("GET", "/headers").json()["code"] == "reply_invalid"
        with pytest.raises(MessageTooLarge):
            client.call("GET", "/large", timeout=60)
        with pytest.raises(MessageTooLarge):
            client.call("POST", "/", too_large)
        with pytest.raises(ValueError, match="surrogate"):
            client.call("GET", "/", headers={"a": "\ud800"})
        assert client.call("GET", "/still-works").status == 200


def test_one_id_is_one_request_however_often_it_is_called(server_of: Any, client_of: Any) -> None:
    runs: list[str] = []

    def handler(request: Request) -> Reply:
        runs.append(request.id)
        return Reply.of(len(runs))

    with server_of(handler), client_of() as client:
        first = client.call("POST", "/", {"n": 1}, request_id="same")
        assert client.call("POST", "/", {"n": 2}, request_id="same") == first
    with server_of(handler), client_of() as client:
        assert client.call("POST", "/", {"n": 3}, request_id="same") == first
    assert runs == ["same"]


def test_a_timeout_leaves_the_outcome_open_and_resume_gets_it_in_a_new_process_too(
    server_of: Any, client_of: Any
) -> None:
    may_end = threading.Event()
    runs: list[str] = []

    def handler(request: Request) -> Reply:
        runs.append(request.id)
        may_end.wait(30)
        return Reply.of("late")

    with server_of(handler) as server:
        with client_of() as client, pytest.raises(RelayTimeout) as timeout:
            client.call("POST", "/slow", timeout=0.3, request_id="slow")
        assert not isinstance(timeout.value, PeerOffline)
        may_end.set()
        until(lambda: server.status().counters["executed"] == 1)
        with client_of() as client:
            assert client.resume("slow").json() == "late"
            with pytest.raises(UnknownRequest):
                client.resume("never-made")
    assert runs == ["slow"]


def test_a_late_answer_is_kept_and_answers_nobody_else(server_of: Any, client_of: Any) -> None:
    may_end = threading.Event()

    def handler(request: Request) -> Reply:
        if request.path == "/slow":
            may_end.wait(30)
        return Reply.of(request.path)

    with server_of(handler) as server, client_of() as client:
        with pytest.raises(RelayTimeout):
            client.call("GET", "/slow", timeout=0.2, request_id="slow")
        client.call("GET", "/next")
        may_end.set()
        until(lambda: server.status().counters["executed"] == 2)
        assert client.call("GET", "/other").json() == "/other"
        assert server.status().counters["withdrawn"] == 1
        # Withdrawn, so its answer stayed where it is; asked for again, it comes, and only to who asked.
        assert client.resume("slow").json() == "/slow"


def test_a_request_withdrawn_before_its_start_never_runs_unless_it_is_asked_again(
    server_of: Any, client_of: Any
) -> None:
    with client_of() as client:
        with pytest.raises(PeerOffline):
            client.call("GET", "/early", timeout=0.2, request_id="early")
        until(lambda: everything_published(client.status()))
        runs: list[str] = []

        def handler(request: Request) -> Reply:
            runs.append(request.id)
            return Reply.of("run")

        with server_of(handler) as server:
            assert client.call("GET", "/other", request_id="other").json() == "run"
            until(lambda: server.status().counters["running"] == 0)
            assert client.resume("early").json() == "run"
    assert runs == ["other", "early"]


class Parked:
    """An ASGI app that holds every request until its caller is gone."""

    def __init__(self) -> None:
        self.scopes: list[Any] = []
        self.gone: list[str] = []

    async def __call__(self, scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Any]) -> None:
        if scope["type"] != "http":
            raise RuntimeError("no lifespan")
        self.scopes.append(scope)
        request = await receive()
        if scope["path"] == "/parked":
            assert (await receive())["type"] == "http.disconnect"
            self.gone.append(scope["extensions"]["relay"]["request_id"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"Content-Type", b"text/plain")]})
        await send({"type": "http.response.body", "body": request["body"]})


def test_an_asgi_app_sees_an_http_request_and_learns_when_its_caller_is_gone(
    views: Views, client_of: Any, tmp_path: Path
) -> None:
    app = Parked()
    with Server.for_asgi(views["hub"], app, state_dir=tmp_path / "s", profile=QUICK), client_of() as client:
        with pytest.raises(RelayTimeout):
            client.call("GET", "/parked", timeout=0.3, request_id="p-1")
        until(lambda: app.gone == ["p-1"])
        reply = client.call("POST", "/a%20b?c=%D1%8F", b"body", headers={"X-One": "1"}, request_id="p-2")
        assert (reply.status, reply.headers, reply.body) == (200, {"content-type": "text/plain"}, b"body")
    scope = app.scopes[-1]
    assert (scope["path"], scope["query_string"], scope["client"]) == ("/a b", b"c=%D1%8F", ("relay", 0))
    assert scope["extensions"] == {"relay": {"link": "main", "request_id": "p-2"}}
    headers = dict(scope["headers"])
    assert (headers[b"x-one"], headers[b"idempotency-key"], headers[b"content-length"]) == (b"1", b"p-2", b"4")


def test_httpx2_speaks_through_the_folder(views: Views, server_of: Any, client_of: Any) -> None:
    with (
        server_of(lambda request: Reply(200, {"set-cookie": "a=1\nb=2", "x-query": request.path}, request.body)),
        client_of() as client,
        httpx2.Client(transport=FolderTransport(client), base_url="http://hub") as http,
    ):
        answer = http.post("/items", params={"q": "я"}, json={"n": 1}, headers={"Idempotency-Key": "h-1"})
        assert answer.json() == {"n": 1}
        assert dict(http.cookies) == {"a": "1", "b": "2"}
        assert answer.headers["x-query"] == "/items?q=%D1%8F"
        assert answer.request.extensions["relay"] == {"request_id": "h-1"}

        async def ask() -> int:
            async with httpx2.AsyncClient(transport=AsyncFolderTransport(client), base_url="http://hub") as many:
                answers = await asyncio.gather(*(many.get(f"/{number}") for number in range(5)))
            return sum(answer.status_code for answer in answers)

        assert asyncio.run(ask()) == 1_000


def test_httpx2_gets_its_own_errors_with_ours_as_their_cause(views: Views, client_of: Any) -> None:
    with client_of() as client, httpx2.Client(transport=FolderTransport(client), base_url="http://hub") as http:
        with pytest.raises(httpx2.ConnectTimeout) as timeout:
            http.get("/", timeout=0.2)
        assert isinstance(timeout.value.__cause__, PeerOffline)


def test_a_closed_client_says_so_to_everybody_who_waits(client_of: Any) -> None:
    client = client_of()
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            client.call("GET", "/", timeout=30)
        except RelayClosed as error:
            errors.append(error)

    caller = threading.Thread(target=ask)
    caller.start()
    until(lambda: client.status().counters["open"] == 1)
    client.close()
    caller.join(5)
    assert len(errors) == 1
    with pytest.raises(RelayClosed):
        client.call("GET", "/")


@pytest.mark.parametrize("state", ["lost", "readonly", "full", "denied", "foreign"])
def test_a_share_that_fails_is_told_and_used_again_once_it_is_back(tmp_path: Path, state: Any) -> None:
    share = MemoryShare()
    with (
        Server(share.view("hub"), echo, state_dir=tmp_path / "s", profile=QUICK) as server,
        Client(share.view("agent"), state_dir=tmp_path / "c", profile=QUICK) as client,
    ):
        client.call("GET", "/")
        share.state = state
        with pytest.raises(ShareUnavailable) as fault:
            client.call("GET", "/", timeout=0.5, request_id="r")
        assert (fault.value.state, fault.value.request_id) == (state, "r")
        assert client.status().share == state
        share.state = "ok"
        assert client.call("GET", "/again", timeout=20).status == 200
        assert client.resume("r", timeout=20).status == 200
        assert (client.status().share, server.status().share) == ("ok", "ok")


def test_a_share_that_hangs_is_stuck_and_neither_status_nor_close_waits_for_it(tmp_path: Path) -> None:
    share = MemoryShare()
    view, hangs, goes_on = share.view("agent"), threading.Event(), threading.Event()
    arrivals = view.arrivals

    def hanging() -> list[str]:
        if hangs.is_set():
            goes_on.wait(30)
        return arrivals()

    view.arrivals = hanging  # type: ignore[method-assign]  # the view is a real one in all else
    client = Client(view, state_dir=tmp_path / "c", profile=QUICK)
    hangs.set()
    until(lambda: client.status().share == "stuck")
    with pytest.raises(ShareUnavailable, match="stuck"):
        client.call("GET", "/", timeout=0.2)
    goes_on.set()
    hangs.clear()
    until(lambda: client.status().share == "ok")
    client.close()


def test_a_side_started_before_its_share_is_there_waits_for_it(tmp_path: Path) -> None:
    folder = tmp_path / "main"
    with Client(folder, state_dir=tmp_path / "c", profile=QUICK) as client:
        with pytest.raises(ShareUnavailable, match="lost"):
            client.call("GET", "/", timeout=0.1)
        assert not folder.exists(), "the folder is nobody's to create"
        create_link(folder, "main")
        with Server(folder, echo, state_dir=tmp_path / "s", profile=QUICK):
            assert client.call("GET", "/", timeout=20).status == 200


def test_another_links_beacon_in_the_folder_is_foreign_and_nothing_is_written_there(tmp_path: Path) -> None:
    folder = tmp_path / "main"
    create_link(folder, "main")
    with Client(folder, state_dir=tmp_path / "c", profile=QUICK) as client:
        with Server(folder, echo, state_dir=tmp_path / "s", profile=QUICK):
            client.call("GET", "/")
        folder.rename(tmp_path / "away")
        create_link(folder, "main")
        with pytest.raises(ShareUnavailable, match="foreign"):
            client.call("GET", "/", timeout=0.5)
        assert [path.name for path in (folder / "to-hub").iterdir()] == [".tmp"]


@pytest.mark.parametrize("stray", ["server", "client"])
def test_a_side_begun_on_another_device_opens_the_right_one_once_it_is_there(tmp_path: Path, stray: str) -> None:
    right, other, at = tmp_path / "right", tmp_path / "other", tmp_path / "at"
    for folder in (right, other):
        create_link(folder, "main")
    at.symlink_to(other)
    folders = {"server": right, "client": right, stray: at}
    with (
        Server.for_asgi(folders["server"], Parked(), state_dir=tmp_path / "s", profile=QUICK) as server,
        Client(folders["client"], state_dir=tmp_path / "c", profile=QUICK) as client,
    ):
        strayed = server if stray == "server" else client
        until(lambda: strayed.status().counters.get("published", 0) == 1)
        with pytest.raises(PeerOffline):
            client.call("GET", "/", timeout=0.1, request_id="r")
        at.unlink()
        at.symlink_to(right)
        until(lambda: strayed.status().peer_online)
        assert client.call("GET", "/", timeout=20, request_id="r").status == 200


def test_foreign_and_damaged_files_are_counted_and_left_alone(tmp_path: Path) -> None:
    share = MemoryShare()
    foreign: Folder = share.view("agent")
    for name in (".DS_Store", "0123456789ab-00000001-00.sync-conflict-20261130-120000-ABCDEFG.json"):
        foreign.publish(name, b"{}", durable=False)
    foreign.publish("0123456789ab-00000001-00.json", b"\0" * 300, durable=False)
    with (
        Server(share.view("hub"), echo, state_dir=tmp_path / "s", profile=QUICK) as server,
        Client(share.view("agent"), state_dir=tmp_path / "c", profile=QUICK) as client,
    ):
        assert client.call("GET", "/").status == 200
        until(lambda: server.status().counters["unwhole"] == 0 or server.status().counters["foreign"] == 2)
        counters = server.status().counters
        assert counters["foreign"] == 2


def test_at_its_start_a_side_deletes_its_own_old_frames_and_nothing_that_only_bears_such_names(tmp_path: Path) -> None:
    share = MemoryShare()
    with Client(share.view("agent"), state_dir=tmp_path / "c", profile=QUICK) as client:
        until(lambda: client.status().counters["published"] == 1)
    (old,) = share.files["hub"]
    share.files["hub"]["0123456789ab-00000001-00.json"] = share.files["hub"][old]
    share.files["hub"]["0123456789ab-00000002-00.json"] = b"somebody else's"
    with Client(share.view("agent"), state_dir=tmp_path / "c", profile=QUICK) as client:
        until(lambda: old not in share.files["hub"])
        assert {"0123456789ab-00000001-00.json", "0123456789ab-00000002-00.json"} < share.files["hub"].keys()
