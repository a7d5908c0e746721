"""Parked claims and watchers: woken by work, superseded, withdrawn, let go at the end; over two event loops too."""

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from hub.api import create_agent_app
from hub.service.bell import Bell
from tests.faces.small_hub import TOKEN, SmallHub, fields

PATIENCE = 30.0  # seconds until a test gives up; nothing waits that long when all is well


@pytest.fixture
def hub() -> Iterator[SmallHub]:
    made = SmallHub()
    yield made
    made.close()


class Caller:
    """One ASGI request by hand, so that its `http.disconnect` can be sent while it is served."""

    def __init__(
        self, app: Any, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> None:
        self.app = app
        raw = b"" if body is None else json.dumps(body).encode()
        self.incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.incoming.put_nowait({"type": "http.request", "body": raw, "more_body": False})
        self.sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        path, _, query = path.partition("?")
        given = {"host": "testserver", "content-type": "application/json", **(headers or {})}
        self.scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
            "client": ("relay", 0),
            "server": ("testserver", 80),
        }

    def start(self) -> asyncio.Task[None]:
        return asyncio.create_task(self.app(self.scope, self.incoming.get, self.sent.put))

    def hang_up(self) -> None:
        self.incoming.put_nowait({"type": "http.disconnect"})

    async def answer(self) -> tuple[int, Any]:
        start = await asyncio.wait_for(self.sent.get(), PATIENCE)
        body = await asyncio.wait_for(self.sent.get(), PATIENCE)
        return start["status"], json.loads(body["body"]) if body["body"] else None


def claim_of(hub: SmallHub, *, wait: float, session: str = "s1", key: str | None = None) -> Caller:
    headers = {} if key is None else {"idempotency-key": key}
    body = {"session": session, "host": "vm"}
    return Caller(create_agent_app(hub.context), "POST", f"/api/v1/agent/claim?wait={wait}", body, headers)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.005)


def parked(hub: SmallHub) -> bool:
    """The claim has looked once and waits: its look has left a trace in the agent's status."""
    return bool(hub.service.bell._waiting)


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, PATIENCE * 2))


def test_a_parked_claim_wakes_when_work_appears(hub: SmallHub) -> None:
    async def story() -> None:
        caller = claim_of(hub, wait=50)
        task = caller.start()
        await until(lambda: parked(hub))
        await asyncio.to_thread(hub.service.create_batch, "main", "anna", "t", [fields()])
        status, body = await caller.answer()
        assert (status, body["delivery"]) == (200, 1)
        await task

    run(story())


def test_a_parked_claim_answers_empty_when_its_time_is_up(hub: SmallHub) -> None:
    async def story() -> None:
        caller = claim_of(hub, wait=0.05, key="k1")
        task = caller.start()
        assert await caller.answer() == (204, None)
        await task

    run(story())
    hub.batch(fields())
    assert hub.claim(key="k1") is None  # its empty answer was kept


def test_a_newer_claim_of_the_agent_supersedes_the_parked_one_without_effect(hub: SmallHub) -> None:
    async def story() -> None:
        older, newer = claim_of(hub, wait=50, key="k1"), claim_of(hub, wait=50, key="k2")
        tasks = [older.start()]
        await until(lambda: parked(hub))
        tasks.append(newer.start())
        assert await older.answer() == (204, None)
        await until(lambda: parked(hub))
        await asyncio.to_thread(hub.service.create_batch, "main", "anna", "t", [fields()])
        status, body = await newer.answer()
        assert (status, body["delivery"]) == (200, 1)
        await asyncio.gather(*tasks)

    run(story())
    assert hub.claim(key="k1")["delivery"] == 2  # the older one left nothing behind, not even an answer


def test_an_agent_that_is_refused_does_not_push_the_parked_one_out(hub: SmallHub) -> None:
    async def story() -> None:
        rightful, stranger = (
            claim_of(hub, wait=50),
            Caller(
                create_agent_app(hub.context), "POST", "/api/v1/agent/claim?wait=50", {"session": "s9", "host": "clone"}
            ),
        )
        tasks = [rightful.start()]
        await until(lambda: parked(hub))
        tasks.append(stranger.start())
        status, body = await stranger.answer()
        assert (status, body["code"]) == (409, "session_conflict")
        await asyncio.to_thread(hub.service.create_batch, "main", "anna", "t", [fields()])
        assert (await rightful.answer())[0] == 200
        await asyncio.gather(*tasks)

    run(story())


def test_a_withdrawn_claim_ends_at_once_and_takes_nothing(hub: SmallHub) -> None:
    async def story() -> None:
        caller = claim_of(hub, wait=50, key="k1")
        task = caller.start()
        await until(lambda: parked(hub))
        caller.hang_up()
        await asyncio.wait_for(task, PATIENCE)

    run(story())
    batch = hub.batch(fields())
    assert hub.statuses(batch["id"]) == ["queued", "queued"]
    assert hub.claim(key="k1")["delivery"] == 1


def test_work_from_another_event_loop_wakes_the_claim(hub: SmallHub) -> None:
    """The relay's apps run on a loop of their own, people's on uvicorn's."""
    answers: list[Any] = []

    async def agent() -> None:
        caller = claim_of(hub, wait=50)
        task = caller.start()
        answers.append(await caller.answer())
        await task

    thread = threading.Thread(target=lambda: run(agent()))
    thread.start()
    run(until(lambda: parked(hub)))
    hub.batch(fields())  # on the loop of the test client
    thread.join(PATIENCE)
    assert answers[0][0] == 200


def test_the_end_of_the_hub_lets_everybody_go(hub: SmallHub) -> None:
    async def story() -> None:
        caller = claim_of(hub, wait=50)
        task = caller.start()
        await until(lambda: parked(hub))
        hub.service.bell.close()
        assert await caller.answer() == (204, None)
        await task

    run(story())


def test_a_watcher_sees_moves_as_they_happen(hub: SmallHub) -> None:
    async def story() -> None:
        watcher = Caller(hub.app, "GET", "/api/v1/events", headers={"authorization": f"Bearer {TOKEN}"})
        task = watcher.start()
        start = await asyncio.wait_for(watcher.sent.get(), PATIENCE)
        headers = dict(start["headers"])
        assert headers[b"content-type"].startswith(b"text/event-stream")
        await asyncio.wait_for(watcher.sent.get(), PATIENCE)
        await asyncio.to_thread(hub.service.create_batch, "main", "anna", "t", [fields()])
        chunk = (await asyncio.wait_for(watcher.sent.get(), PATIENCE))["body"].decode()
        assert chunk.startswith("id: 1\nevent: move\ndata: ")
        assert json.loads(chunk.split("data: ")[1])["to_status"] == "queued"
        watcher.hang_up()
        await asyncio.wait_for(task, PATIENCE)

    run(story())


def test_a_ring_between_the_look_and_the_wait_is_heard() -> None:
    async def story() -> None:
        bell = Bell()
        seen = bell.count()
        bell.ring()
        assert await bell.heard(seen, PATIENCE)
        assert not await bell.heard(bell.count(), 0.01)

    run(story())


def test_a_waiter_on_a_loop_that_is_closed_does_not_hold_up_the_ring() -> None:
    bell = Bell()

    async def wait() -> None:
        await bell.heard(bell.count(), PATIENCE)

    loop = asyncio.new_event_loop()
    task = loop.create_task(wait())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    bell.ring()
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # it was left behind on purpose
    task.get_coro().close()  # type: ignore[union-attr]  # a coroutine, since it was made from one
