"""Runs handlers away from the driver: plain functions in a bounded pool, coroutines and ASGI apps on one event loop.

A handler is foreign code: whatever it raises becomes a 500 for its caller and a line in the log, never our failure.
"""

import asyncio
import inspect
import logging
import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final, Protocol
from urllib.parse import unquote

from relay.calls import Reply, fitting, relay_reply, reply_message, request_from
from relay.calls import Request as RelayRequest
from relay.errors import HandlerUnavailable
from relay.frames import Message, ReplyHead, RequestHead

_LOG: Final = logging.getLogger(__name__)
WITHDRAWN: Final = "withdrawn"
HANDLER_FAILED: Final = "handler_failed"
LIFESPAN_SECONDS: Final = 30.0

Handler = Callable[[RelayRequest], Reply] | Callable[[RelayRequest], Awaitable[Reply]]
Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
AsgiApp = Callable[[Scope, Callable[[], Awaitable[Event]], Callable[[Event], Awaitable[None]]], Awaitable[None]]
Done = Callable[[Message], None]


class Runner(Protocol):
    """Runs requests; each ends in one call of the `done` it was made with, except after `close`."""

    def open(self, link: str) -> None:
        """Get ready for the link of this name."""
        ...

    def start(self, requests: list[Message]) -> None:
        """Run the handlers of these requests."""
        ...

    def interrupt(self, request_id: str) -> None:
        """Nobody waits for this request any more; its handler may stop early."""
        ...

    def close(self) -> None:
        """Stop what runs; its answers are not wanted."""
        ...


def failure(request_id: str) -> Message:
    """The answer for a handler that raised."""
    return relay_reply(request_id, 500, HANDLER_FAILED, "the handler of this request failed; its log says why")


def withdrawn(request_id: str) -> Message:
    """What stands for the answer of a handler that stopped because nobody waited. It is neither kept nor sent."""
    return relay_reply(request_id, 499, WITHDRAWN, "nobody waited for this request any more")


class PoolRunner:
    """Plain functions in a few threads."""

    def __init__(self, handler: Callable[[RelayRequest], Reply], done: Done, limit_bytes: int, threads: int) -> None:
        self._handler, self._done, self._limit_bytes = handler, done, limit_bytes
        self._link = ""
        self._queue: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._most = threads
        self._idle = threading.Semaphore(0)
        self._threads: list[threading.Thread] = []

    def open(self, link: str) -> None:
        self._link = link

    def start(self, requests: list[Message]) -> None:
        for request in requests:
            self._queue.put(request)
            if not self._idle.acquire(blocking=False) and len(self._threads) < self._most:
                thread = threading.Thread(target=self._work, name=f"relay-handler-{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()

    def interrupt(self, request_id: str) -> None:
        """A plain function cannot be told; its answer is kept for whoever asks again."""

    def close(self) -> None:
        for _ in self._threads:
            self._queue.put(None)

    def _work(self) -> None:
        while (request := self._queue.get()) is not None:
            self._done(self._answer(request))
            self._idle.release()

    def _answer(self, request: Message) -> Message:
        try:
            reply = self._handler(request_from(request, self._link))
        except Exception:  # noqa: BLE001 - foreign code: its failure is an answer
            _LOG.exception("the handler of request %s failed", request.id)
            return failure(request.id)
        return reply_message(request.id, reply, self._limit_bytes)


class LoopRunner(ABC):
    """Coroutines on one event loop in one thread."""

    def __init__(self, done: Done, limit_bytes: int) -> None:
        self._done, self._limit_bytes = done, limit_bytes
        self._link = ""
        self._loop: asyncio.AbstractEventLoop  # from `open` on: a share that never comes leaves none behind
        self._thread = threading.Thread(target=self._run, name="relay-handlers", daemon=True)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._closing = False
        self._ready = threading.Event()
        self._failure: str | None = "it did not come up in time"

    def open(self, link: str) -> None:
        self._link = link
        if self._thread.is_alive():  # opened before, on a link that was left
            return
        self._loop = asyncio.new_event_loop()
        self._thread.start()
        self._ready.wait(LIFESPAN_SECONDS)
        if self._failure is not None:
            raise HandlerUnavailable(f"the app did not start: {self._failure}")

    def start(self, requests: list[Message]) -> None:
        self._loop.call_soon_threadsafe(self._start, requests)

    def interrupt(self, request_id: str) -> None:
        self._loop.call_soon_threadsafe(self._interrupt, request_id)

    def close(self) -> None:
        self._closing = True
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop)
            self._thread.join(2.0)

    # --- on the loop

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._failure = self._loop.run_until_complete(self._started())
        self._ready.set()
        if self._failure is None:
            self._loop.run_forever()
            self._loop.run_until_complete(self._ended())
        self._loop.close()

    async def _started(self) -> str | None:
        """Get the handler ready; what hinders it."""
        return None

    async def _ended(self) -> None:
        """The handlers were cancelled; give them a moment to be through with it."""
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=1.0)

    def _stop(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        self._loop.stop()

    def _start(self, requests: Iterable[Message]) -> None:
        for request in requests:
            self._tasks[request.id] = self._loop.create_task(self._work(request))

    def _interrupt(self, request_id: str) -> None:
        if (task := self._tasks.get(request_id)) is not None:
            task.cancel()

    async def _work(self, request: Message) -> None:
        try:
            answer = await self._answer(request)
        except asyncio.CancelledError:
            if self._closing:
                raise
            answer = withdrawn(request.id)
        except Exception:  # noqa: BLE001 - foreign code: its failure is an answer
            _LOG.exception("the handler of request %s failed", request.id)
            answer = failure(request.id)
        finally:
            self._tasks.pop(request.id, None)
        if not self._closing:
            self._done(answer)

    @abstractmethod
    async def _answer(self, request: Message) -> Message:
        """The handler's answer."""


class CoroutineRunner(LoopRunner):
    """A coroutine function as the handler."""

    def __init__(self, handler: Callable[[RelayRequest], Awaitable[Reply]], done: Done, limit_bytes: int) -> None:
        super().__init__(done, limit_bytes)
        self._handler = handler

    async def _answer(self, request: Message) -> Message:
        return reply_message(request.id, await self._handler(request_from(request, self._link)), self._limit_bytes)


class AsgiRunner(LoopRunner):
    """An ASGI app as the handler. Its `receive` gives `http.disconnect` once the request is withdrawn."""

    def __init__(self, app: AsgiApp, done: Done, limit_bytes: int) -> None:
        super().__init__(done, limit_bytes)
        self._app = app
        self._gone: dict[str, asyncio.Event] = {}
        self._lifespan = _Lifespan(app)

    async def _started(self) -> str | None:
        return await self._lifespan.start()

    async def _ended(self) -> None:
        await super()._ended()
        await self._lifespan.end()

    def _interrupt(self, request_id: str) -> None:
        if (gone := self._gone.get(request_id)) is not None:
            gone.set()

    async def _answer(self, request: Message) -> Message:
        gone = self._gone[request.id] = asyncio.Event()
        response = _Response()
        events = iter([{"type": "http.request", "body": request.body, "more_body": False}])

        async def receive() -> Event:
            if (event := next(events, None)) is not None:
                return event
            await gone.wait()
            return {"type": "http.disconnect"}

        try:
            await self._app(self._scope(request), receive, response.send)
            if gone.is_set() and not response.complete:
                return withdrawn(request.id)  # as a web framework does with a client that hung up
        finally:
            gone.set()
            del self._gone[request.id]
        return response.message(request.id, self._limit_bytes)

    def _scope(self, request: Message) -> Scope:
        assert isinstance(request.head, RequestHead)
        path, _, query = request.head.path.partition("?")
        headers = [(name.lower(), value) for name, value in request.head.headers if name.lower() != "idempotency-key"]
        headers.append(("idempotency-key", request.id))
        if not any(name == "host" for name, _ in headers):
            headers.append(("host", self._link))
        if request.body and not any(name == "content-length" for name, _ in headers):
            headers.append(("content-length", str(len(request.body))))
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": request.head.method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode("latin-1", "replace"),
            "query_string": query.encode("latin-1", "replace"),
            "root_path": "",
            "headers": [(name.encode("latin-1"), value.encode("utf-8")) for name, value in headers],
            "client": ("relay", 0),
            "server": ("relay", 0),
            "state": self._lifespan.state.copy(),
            "extensions": {"relay": {"link": self._link, "request_id": request.id}},
        }


class _Response:
    """Collects what an ASGI app sends."""

    def __init__(self) -> None:
        self._status: int | None = None
        self._headers: list[list[str]] = []
        self._body: list[bytes] = []
        self.complete = False

    async def send(self, event: Event) -> None:
        match event["type"]:
            case "http.response.start":
                self._status = event["status"]
                self._headers = [[name.decode("latin-1"), _text(value)] for name, value in event.get("headers", ())]
            case "http.response.body":
                self._body.append(bytes(event.get("body", b"")))
                self.complete = not event.get("more_body", False)

    def message(self, request_id: str, limit_bytes: int) -> Message:
        if self._status is None or not self.complete:
            _LOG.error("the app ended request %s without a complete response", request_id)
            return failure(request_id)
        head = ReplyHead(self._status, self._headers)
        return fitting(Message("reply", request_id, head, b"".join(self._body)), limit_bytes)


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


class _Lifespan:
    """The ASGI lifespan protocol, for apps that know it."""

    def __init__(self, app: AsgiApp) -> None:
        self.state: dict[str, Any] = {}
        self._app = app
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._started = asyncio.Event()
        self._failure: str | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> str | None:
        """Start the app up; what hinders it, if it says so."""
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": self.state}
        self._task = asyncio.get_running_loop().create_task(self._run(scope))
        await self._events.put({"type": "lifespan.startup"})
        await self._started.wait()
        return self._failure

    async def end(self) -> None:
        """Let the app shut down."""
        if self._task is not None and not self._task.done():
            await self._events.put({"type": "lifespan.shutdown"})
            await asyncio.wait({self._task}, timeout=1.0)
            self._task.cancel()  # one that does not end
            await asyncio.wait({self._task}, timeout=1.0)

    async def _run(self, scope: Scope) -> None:
        try:
            await self._app(scope, self._events.get, self._send)
        except Exception:  # noqa: BLE001 - by the ASGI specification: an app that raises here has no lifespan
            _LOG.debug("the app has no lifespan", exc_info=True)
        finally:
            self._started.set()

    async def _send(self, event: Event) -> None:
        match event["type"]:
            case "lifespan.startup.complete":
                self._started.set()
            case "lifespan.startup.failed":
                self._failure = str(event.get("message", "")) or "no reason given"
                self._started.set()


def runner_for(handler: Handler, done: Done, limit_bytes: int, threads: int) -> Runner:
    """The runner of a plain handler, sync or async."""
    if inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(type(handler).__call__):
        return CoroutineRunner(handler, done, limit_bytes)  # type: ignore[arg-type]  # told apart just above
    return PoolRunner(handler, done, limit_bytes, threads)  # type: ignore[arg-type]  # told apart just above
