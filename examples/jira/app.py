"""Two faces of one fake Jira: an ASGI app for real servers and test clients, and a transport without either."""

from typing import Any, Final

import anyio.to_thread
import httpx2
from starlette.types import Message, Receive, Scope, Send

from examples.jira.http import Answer, Call
from examples.jira.server import FakeJira
from examples.jira.settings import JiraSettings
from relay.clock import SystemClock
from relay.ports import Clock

_MAX_BODY: Final = 8 * 1024 * 1024


class JiraApp:
    """ASGI 3. A drop leaves as `ConnectionDropped`, before any byte of an answer."""

    def __init__(self, jira: FakeJira) -> None:
        self.jira = jira

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        assert scope["type"] == "http", scope["type"]
        arrived = self.jira.stamp()
        body = await _body(receive)
        call = Call(
            scope["method"],
            scope["path"],
            scope["query_string"].decode("latin-1"),
            {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]},
            body,
        )
        # In a thread: a delayed answer holds up nobody else, and a client that hangs up does not stop the work.
        answer = await anyio.to_thread.run_sync(self.jira.serve, call, arrived)
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in _headers(answer)]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})


def create_app(settings: JiraSettings | None = None, clock: Clock | None = None) -> JiraApp:
    """An ASGI app with a fake Jira inside (`.jira`): in memory and on the system's clock unless told otherwise."""
    return JiraApp(FakeJira(settings or JiraSettings(), clock or SystemClock()))


class JiraTransport(httpx2.BaseTransport):
    """`httpx2.Client(transport=JiraTransport(jira))`: no threads, no event loop, no sockets."""

    def __init__(self, jira: FakeJira) -> None:
        self.jira = jira

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        _, _, query = request.url.raw_path.partition(b"?")
        headers = {name.lower(): value for name, value in request.headers.items()}
        call = Call(request.method, request.url.path, query.decode("ascii"), headers, request.read())
        began, patience = self.jira.clock.monotonic(), request.extensions.get("timeout", {}).get("read")
        answer = self.jira.serve(call)
        if patience is not None and self.jira.clock.monotonic() - began > patience:
            raise httpx2.ReadTimeout("timed out", request=request)  # as over a socket: Jira has done its work
        return httpx2.Response(answer.status, headers=_headers(answer), content=answer.body, request=request)


def _headers(answer: Answer) -> list[tuple[str, str]]:
    length = [] if answer.status == 204 else [("content-length", str(len(answer.body)))]
    return [*answer.headers, *length]


async def _body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    size = 0
    while size <= _MAX_BODY:
        message: Message = await receive()
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if not message.get("more_body", False):
            break
    return b"".join(parts)


async def _lifespan(receive: Receive, send: Send) -> None:
    answers: dict[Any, str] = {"lifespan.startup": "startup", "lifespan.shutdown": "shutdown"}
    for _ in answers:
        message = await receive()
        await send({"type": f"lifespan.{answers[message['type']]}.complete"})
