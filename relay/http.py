"""The relay as an httpx2 transport, and any HTTP server as a relay handler."""

import asyncio
import os
from collections.abc import Callable
from typing import Any, Final

import httpx2

from relay.calls import Reply, Request
from relay.client import Client
from relay.errors import MessageTooLarge, PeerOffline, QueueFull, RelayError, RelayTimeout

DEFAULT_TIMEOUT: Final = 30.0
# Of one hop only; the relay is another, and a body is never compressed or chunked on its way.
_HOP_BY_HOP: Final = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "proxy-connection", "content-length"}
)
_FAULTS: Final[tuple[tuple[type[RelayError], type[httpx2.TransportError]], ...]] = (
    (PeerOffline, httpx2.ConnectTimeout),
    (RelayTimeout, httpx2.ReadTimeout),
    (QueueFull, httpx2.PoolTimeout),
    (MessageTooLarge, httpx2.WriteError),
    (RelayError, httpx2.ConnectError),
)


class FolderTransport(httpx2.BaseTransport):
    """Sends httpx2's requests over the link in `folder`; the host of the URL does not matter.

    An `Idempotency-Key` header is the request id. `request.extensions["relay"]` holds `request_id` afterwards, and the
    relay's own error is the `__cause__` of httpx2's.
    """

    def __init__(self, folder: str | os.PathLike[str] | Client, **settings: Any) -> None:
        self._owned = not isinstance(folder, Client)
        self._client = folder if isinstance(folder, Client) else Client(folder, **settings)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return self._send(request, request.read())

    def close(self) -> None:
        if self._owned:
            self._client.close()

    def _send(self, request: httpx2.Request, body: bytes) -> httpx2.Response:
        headers = {name: value for name, value in request.headers.items() if name not in _HOP_BY_HOP}
        request_id = headers.pop("idempotency-key", None) or self._client.new_id()
        request.extensions = {**request.extensions, "relay": {"request_id": request_id}}
        limits = request.extensions.get("timeout") or {}
        timeout = limits.get("read", DEFAULT_TIMEOUT)
        path = request.url.raw_path.decode("ascii")
        try:
            reply = self._client.call(
                request.method,
                path,
                body or None,
                headers=headers,
                timeout=DEFAULT_TIMEOUT if timeout is None else timeout,
                request_id=request_id,
            )
        except RelayError as error:
            kind = next(theirs for ours, theirs in _FAULTS if isinstance(error, ours))
            raise kind(str(error), request=request) from error
        return httpx2.Response(reply.status, headers=_header_list(reply), content=reply.body, request=request)


class AsyncFolderTransport(httpx2.AsyncBaseTransport):
    """The same for `httpx2.AsyncClient`; waits in threads."""

    def __init__(self, folder: str | os.PathLike[str] | Client, **settings: Any) -> None:
        self._transport = FolderTransport(folder, **settings)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        return await asyncio.to_thread(self._transport._send, request, body)

    async def aclose(self) -> None:
        await asyncio.to_thread(self._transport.close)


def upstream_handler(url: str) -> Callable[[Request], Reply]:
    """A handler that asks the HTTP server at `url`."""
    upstream = httpx2.Client(base_url=url, timeout=httpx2.Timeout(300.0, connect=10.0), trust_env=False)

    def handler(request: Request) -> Reply:
        headers = {name: value for name, value in request.headers.items() if name not in _HOP_BY_HOP | {"host"}}
        try:
            answer = upstream.request(request.method, request.path, content=request.body, headers=headers)
        except httpx2.TransportError as error:
            return Reply.of({"code": "unavailable", "title": "no answer", "detail": f"{url}: {error}"}, 502)
        # The body is decoded already, so it is not encoded any more.
        kept = {n: v for n, v in answer.headers.items() if n not in _HOP_BY_HOP | {"content-encoding"}}
        return Reply(answer.status_code, kept, answer.content)

    return handler


def _header_list(reply: Reply) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for name, value in reply.headers.items():
        if name in _HOP_BY_HOP:
            continue
        pairs.extend((name, line) for line in (value.split("\n") if name == "set-cookie" else [value]))
    return pairs
