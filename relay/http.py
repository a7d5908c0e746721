"""The relay as a transport of httpx2."""

import os
from collections.abc import Callable
from typing import Any, Final

import httpx2

from relay.asynchronous import AsyncClient
from relay.calls import HOP_BY_HOP, Reply
from relay.client import Client
from relay.errors import MessageTooLarge, PeerOffline, QueueFull, RelayError, RelayTimeout

DEFAULT_TIMEOUT: Final = 30.0
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
        asked = _asked(request, request.read(), self._client.new_id)
        try:
            reply = self._client.call(asked.pop("method"), asked.pop("path"), asked.pop("body"), **asked)
        except RelayError as error:
            raise _fault(error, request) from error
        return _response(reply, request)

    def close(self) -> None:
        if self._owned:
            self._client.close()


class AsyncFolderTransport(httpx2.AsyncBaseTransport):
    """The same for `httpx2.AsyncClient`; a request whose task is cancelled is withdrawn."""

    def __init__(self, folder: str | os.PathLike[str] | Client | AsyncClient, **settings: Any) -> None:
        self._owned = not isinstance(folder, AsyncClient)
        self._client = folder if isinstance(folder, AsyncClient) else AsyncClient(folder, **settings)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        client = await self._client.start()
        asked = _asked(request, body, client.new_id)
        try:
            reply = await self._client.call(asked.pop("method"), asked.pop("path"), asked.pop("body"), **asked)
        except RelayError as error:
            raise _fault(error, request) from error
        return _response(reply, request)

    async def aclose(self) -> None:
        if self._owned:
            await self._client.close()


def _asked(request: httpx2.Request, body: bytes, new_id: Callable[[], str]) -> dict[str, Any]:
    headers = {name: value for name, value in request.headers.items() if name not in HOP_BY_HOP}
    request_id = headers.pop("idempotency-key", None) or new_id()
    request.extensions = {**request.extensions, "relay": {"request_id": request_id}}
    timeout = (request.extensions.get("timeout") or {}).get("read", DEFAULT_TIMEOUT)
    return {
        "method": request.method,
        "path": request.url.raw_path.decode("ascii"),
        "body": body or None,
        "headers": headers,
        "timeout": DEFAULT_TIMEOUT if timeout is None else timeout,
        "request_id": request_id,
    }


def _fault(error: RelayError, request: httpx2.Request) -> httpx2.TransportError:
    kind = next(theirs for ours, theirs in _FAULTS if isinstance(error, ours))
    return kind(str(error), request=request)


def _response(reply: Reply, request: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(reply.status, headers=_header_list(reply), content=reply.body, request=request)


def _header_list(reply: Reply) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for name, value in reply.headers.items():
        if name in HOP_BY_HOP:
            continue
        pairs.extend((name, line) for line in (value.split("\n") if name == "set-cookie" else [value]))
    return pairs
