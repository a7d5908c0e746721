"""`AsyncClient` and `AsyncServer`: the same client and server for programs on asyncio. Nothing here blocks the loop."""

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Self, cast

from relay.calls import Reply, Request
from relay.client import Client, Pending, Waiter
from relay.exchange import RelayStatus
from relay.frames import Message
from relay.ports import Folder
from relay.running import AsgiApp, Event, Handler, Scope
from relay.server import Server


class _LoopWaiter(Waiter):
    """A wait that also wakes a task."""

    __slots__ = ("_loop", "woken")

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self.woken = asyncio.Event()

    def finish(self, reply: Message | None, error: BaseException | None = None) -> bool:
        first = super().finish(reply, error)
        if first and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.woken.set)
        return first


class AsyncClient:
    """`async with AsyncClient(folder) as client: await client.call(...)`; settings, errors and rules are `Client`'s.

    A call whose task is cancelled is withdrawn, as one whose deadline has passed.
    """

    def __init__(self, folder: str | os.PathLike[str] | Folder | Client, **settings: Any) -> None:
        self._folder, self._settings = folder, settings
        self._client: Client | None = folder if isinstance(folder, Client) else None
        self._starting = asyncio.Lock()

    async def start(self) -> Client:
        """Begin, unless it was begun already; calls do so by themselves."""
        async with self._starting:
            if self._client is None:
                assert not isinstance(self._folder, Client)
                self._client = await asyncio.to_thread(Client, self._folder, **self._settings)
        return self._client

    def new_id(self) -> str:
        """As `Client.new_id`; only of a client that was begun."""
        return self._begun().new_id()

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        request_id: str | None = None,
    ) -> Reply:
        """As `Client.call`."""
        client = await self.start()
        waiter = _LoopWaiter()
        pending = client.pending_call(waiter, method, path, body, headers=headers, request_id=request_id)
        return await self._wait(client, pending, waiter, timeout)

    async def resume(self, request_id: str, *, timeout: float = 30.0) -> Reply:
        """As `Client.resume`."""
        client = await self.start()
        waiter = _LoopWaiter()
        return await self._wait(client, client.pending_resume(waiter, request_id), waiter, timeout)

    async def _wait(self, client: Client, pending: Pending, waiter: _LoopWaiter, timeout: float) -> Reply:
        client.submit(pending)
        try:
            await asyncio.wait_for(waiter.woken.wait(), timeout)
        except TimeoutError:
            return client.outcome(pending, timeout, waited=False)
        except asyncio.CancelledError:
            client.give_up(pending)
            raise
        return client.outcome(pending, timeout, waited=True)

    def status(self) -> RelayStatus:
        """As `Client.status`; only of a client that was begun."""
        return self._begun().status()

    async def close(self) -> None:
        """End; a `Client` that was given stays its owner's to close."""
        if self._client is not None and self._client is not self._folder:
            await asyncio.to_thread(self._client.close)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _begun(self) -> Client:
        if self._client is None:
            raise RuntimeError("this client was not begun: use it with `async with`, or await its start()")
        return self._client


class AsyncServer:
    """A `Server` whose coroutine handler, or ASGI app, runs on the loop of the program that starts it."""

    def __init__(self, folder: str | os.PathLike[str] | Folder, handler: Handler, **settings: Any) -> None:
        self._make: Callable[[], Server] = lambda: Server(folder, _at_home(handler), **settings)
        self._server: Server | None = None

    @classmethod
    def for_asgi(cls, folder: str | os.PathLike[str] | Folder, app: AsgiApp, **settings: Any) -> Self:
        """As `Server.for_asgi`."""
        server = cls.__new__(cls)
        server._make = lambda: Server.for_asgi(folder, _app_at_home(app), **settings)
        server._server = None
        return server

    @classmethod
    def for_url(cls, folder: str | os.PathLike[str] | Folder, url: str, **settings: Any) -> Self:
        """As `Server.for_url`."""
        server = cls.__new__(cls)
        server._make = lambda: Server.for_url(folder, url, **settings)
        server._server = None
        return server

    async def start(self) -> Self:
        """As `Server.start`."""
        self._server = self._make()
        await asyncio.to_thread(self._server.start)
        return self

    async def stop(self) -> None:
        """As `Server.stop`."""
        if self._server is not None:
            await asyncio.to_thread(self._server.stop)

    async def serve_forever(self) -> None:
        """Serve until the task is cancelled. Raises what `Server.serve_forever` does."""
        await self.start()
        assert self._server is not None
        try:
            await asyncio.to_thread(self._server.wait)
        finally:
            await self.stop()

    def status(self) -> RelayStatus:
        """As `Server.status`; only of a server that was started."""
        if self._server is None:
            raise RuntimeError("this server was not started")
        return self._server.status()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()


def _at_home(handler: Handler) -> Handler:
    """A coroutine handler as the relay's own loop calls it, run on the loop of whoever starts the server."""
    if not inspect.iscoroutinefunction(handler):
        return handler
    coroutine = cast(Callable[[Request], Any], handler)
    home = asyncio.get_running_loop()

    async def from_the_relay(request: Request) -> Reply:
        return cast(Reply, await _across(home, coroutine(request)))

    return from_the_relay


def _app_at_home(app: AsgiApp) -> AsgiApp:
    home = asyncio.get_running_loop()

    async def from_the_relay(
        scope: Scope, receive: Callable[[], Awaitable[Event]], send: Callable[[Event], Awaitable[None]]
    ) -> None:
        relay = asyncio.get_running_loop()

        async def receive_there() -> Event:
            return cast(Event, await _across(relay, receive()))

        async def send_there(event: Event) -> None:
            await _across(relay, send(event))

        await _across(home, app(scope, receive_there, send_there))

    return from_the_relay


async def _across(loop: asyncio.AbstractEventLoop, awaitable: Awaitable[Any]) -> Any:
    """The result of something that has to run on another loop; cancelled there when it is cancelled here."""

    async def there() -> Any:
        return await awaitable

    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(there(), loop))
