"""A line in the log for every request that may have changed something, with the ids it can be found again by."""

import asyncio
import logging
import re
from collections.abc import MutableMapping
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_log = logging.getLogger("hub.requests")
_PATH: Final = re.compile(r"/(commands|batches)/([0-9]{1,16})")
_NAMES: Final = {"commands": "command", "batches": "batch"}
_ID: Final = re.compile(rb'\{"id":([0-9]{1,16})')  # what our answers begin with
_BATCH: Final = re.compile(rb'"batch_id":([0-9]{1,16})')
_LOOK_AT_BYTES: Final = 4_096
_COMMANDS: Final = re.compile(r"/agent/|/commands")  # whose answers are commands; others are batches
_MAX_REQUEST: Final = 100


class Logged:
    """Readings and claims that found nothing are told at the level of debugging only."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _log.isEnabledFor(logging.INFO):
            await self._app(scope, receive, send)
            return
        seen = _Seen(scope)

        async def noting(message: Message) -> None:
            seen.note(message)
            await send(message)

        await self._app(scope, receive, noting)
        seen.tell()


class _Seen:
    def __init__(self, scope: Scope) -> None:
        self._method, self._path = str(scope["method"]), str(scope["path"])
        self._state: MutableMapping[str, Any] = scope.setdefault("state", {})  # routes note the link there
        self._request = next((value for name, value in scope["headers"] if name == b"idempotency-key"), b"")
        self._now = asyncio.get_running_loop().time
        self._began = self._now()
        self._status = 0
        self._body = b""

    def note(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
        elif not self._body:
            self._body = message.get("body", b"")[:_LOOK_AT_BYTES]

    def tell(self) -> None:
        idle = self._method == "GET" or self._status == 204
        level = logging.WARNING if self._status >= 500 else logging.DEBUG if idle else logging.INFO
        if _log.isEnabledFor(level):
            _log.log(level, "%s %s", self._method, self._path, extra=self._ids())

    def _ids(self) -> dict[str, Any]:
        found = {_NAMES[plural]: int(number) for plural, number in _PATH.findall(self._path)}
        if self._status in (200, 201):
            answer = "command" if _COMMANDS.search(self._path) and not self._path.endswith("/retry") else "batch"
            of_a_plan = "/plans" in self._path and not self._path.endswith("/apply")
            if (number := _ID.match(self._body)) and not of_a_plan:
                found[answer] = int(number[1])
            if number := _BATCH.search(self._body):
                found["batch"] = int(number[1])
        request = self._request[:_MAX_REQUEST].decode("ascii", "replace")
        told = {"link": self._state.get("link"), "request": request or None, "status": self._status}
        return {**found, **told, "seconds": round(self._now() - self._began, 3)}
