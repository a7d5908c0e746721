"""The same exchange for programs on asyncio: calls, cancellation, handlers and apps on the program's own loop."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from relay import (
    AsyncClient,
    AsyncServer,
    Client,
    PeerOffline,
    Profile,
    RelayClosed,
    RelayTimeout,
    Reply,
    Request,
    Server,
    UnknownRequest,
    create_link,
)
from tests.contracts.test_relay_exchange import until

QUICK = Profile(resend_seconds=0.2, retry_seconds=0.05)


@pytest.fixture
def link(tmp_path: Path) -> Path:
    create_link(tmp_path / "main", "main")
    return tmp_path / "main"


def echo(request: Request) -> Reply:
    return Reply(200, {"x-path": request.path}, request.body)


def settings(root: Path, side: str) -> dict[str, Any]:
    return {"state_dir": root / f"state-{side}", "profile": QUICK}


def test_many_calls_at_once_come_back_each_with_its_own_reply(link: Path, tmp_path: Path) -> None:
    async def main() -> list[Reply]:
        async with AsyncClient(link, **settings(tmp_path, "agent")) as client:
            assert client.status().side == "agent"
            calls = (client.call("POST", f"/{number}", {"n": number}) for number in range(200))
            return await asyncio.gather(*calls)

    with Server(link, echo, **settings(tmp_path, "hub")):
        replies = asyncio.run(main())
    assert [reply.json() for reply in replies] == [{"n": number} for number in range(200)]


def test_its_errors_are_those_of_the_client(link: Path, tmp_path: Path) -> None:
    async def main() -> None:
        client = AsyncClient(link, **settings(tmp_path, "agent"))
        with pytest.raises(RuntimeError, match="not begun"):
            client.status()
        with pytest.raises(PeerOffline) as offline:
            await client.call("GET", "/", timeout=0.2, request_id="r-1")
        assert offline.value.request_id == "r-1"
        with pytest.raises(UnknownRequest):
            await client.resume("never", timeout=1)
        with pytest.raises(ValueError, match="surrogate"):
            await client.call("GET", "/", headers={"a": "\ud800"})
        waiting = asyncio.create_task(client.call("GET", "/"))
        await asyncio.sleep(0.05)
        await client.close()
        with pytest.raises(RelayClosed):
            await waiting

    asyncio.run(main())


def test_a_cancelled_call_is_withdrawn_and_can_be_resumed(link: Path, tmp_path: Path) -> None:
    may_end = threading.Event()

    def handler(request: Request) -> Reply:
        may_end.wait(30)
        return Reply.of("done")

    async def main(server: Server) -> Reply:
        async with AsyncClient(link, **settings(tmp_path, "agent")) as client:
            task = asyncio.create_task(client.call("GET", "/", request_id="slow"))
            while server.status().counters["running"] == 0:
                await asyncio.sleep(0.005)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while server.status().counters["withdrawn"] == 0:
                await asyncio.sleep(0.005)
            may_end.set()
            return await client.resume("slow")

    with Server(link, handler, **settings(tmp_path, "hub")) as server:
        assert asyncio.run(main(server)).json() == "done"
        assert server.status().counters["executed"] == 1


def test_a_client_that_is_shared_stays_open(link: Path, tmp_path: Path) -> None:
    async def main(client: Client) -> int:
        async with AsyncClient(client) as shared:
            return (await shared.call("GET", "/")).status

    with Server(link, echo, **settings(tmp_path, "hub")), Client(link, **settings(tmp_path, "agent")) as client:
        assert asyncio.run(main(client)) == 200
        assert client.call("GET", "/").status == 200


def test_a_coroutine_handler_runs_on_the_loop_of_its_program(link: Path, tmp_path: Path) -> None:
    async def main() -> tuple[Reply, bool]:
        home = asyncio.get_running_loop()
        seen: list[bool] = []

        async def handler(request: Request) -> Reply:
            seen.append(asyncio.get_running_loop() is home)
            await asyncio.sleep(0)
            return Reply.of(request.path)

        async with (
            AsyncServer(link, handler, **settings(tmp_path, "hub")) as server,
            AsyncClient(link, **settings(tmp_path, "agent")) as client,
        ):
            reply = await client.call("GET", "/here")
            assert server.status().counters["executed"] == 1
        return reply, seen == [True]

    reply, at_home = asyncio.run(main())
    assert (reply.json(), at_home) == ("/here", True)


def test_a_withdrawn_request_cancels_the_handler_at_home(link: Path, tmp_path: Path) -> None:
    async def main() -> bool:
        cancelled = asyncio.Event()

        async def handler(request: Request) -> Reply:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.set()
                raise
            return Reply()

        async with (
            AsyncServer(link, handler, **settings(tmp_path, "hub")),
            AsyncClient(link, **settings(tmp_path, "agent")) as client,
        ):
            with pytest.raises(RelayTimeout):
                await client.call("GET", "/", timeout=0.5)
            await asyncio.wait_for(cancelled.wait(), 10)
        return True

    assert asyncio.run(main())


def test_an_asgi_app_runs_at_home_with_its_lifespan(link: Path, tmp_path: Path) -> None:
    events: list[str] = []

    async def main() -> Reply:
        home = asyncio.get_running_loop()

        async def app(
            scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
        ) -> None:
            assert asyncio.get_running_loop() is home
            if scope["type"] == "lifespan":
                while (event := await receive())["type"] != "lifespan.shutdown":
                    events.append(event["type"])
                    await send({"type": "lifespan.startup.complete"})
                events.append(event["type"])
                await send({"type": "lifespan.shutdown.complete"})
                return
            request = await receive()
            await send({"type": "http.response.start", "status": 201, "headers": []})
            await send({"type": "http.response.body", "body": request["body"][::-1]})

        async with (
            AsyncServer.for_asgi(link, app, **settings(tmp_path, "hub")),
            AsyncClient(link, **settings(tmp_path, "agent")) as client,
        ):
            return await client.call("POST", "/", b"abc")

    reply = asyncio.run(main())
    assert (reply.status, reply.body) == (201, b"cba")
    assert events == ["lifespan.startup", "lifespan.shutdown"]


def test_serving_ends_when_its_task_is_cancelled(link: Path, tmp_path: Path) -> None:
    server = AsyncServer(link, echo, **settings(tmp_path, "hub"))

    async def main() -> int:
        serving = asyncio.create_task(server.serve_forever())
        async with AsyncClient(link, **settings(tmp_path, "agent")) as client:
            status = (await client.call("GET", "/")).status
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving
        return status

    assert asyncio.run(main()) == 200
    with Server(link, echo, **settings(tmp_path, "hub")) as again:
        until(lambda: again.status().share == "ok")
