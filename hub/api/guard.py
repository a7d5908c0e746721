"""Who may speak to the API: the right Host, no foreign page, the bearer token. A plain ASGI wrapper around the app."""

import hmac
from collections.abc import Collection

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from hub.api.problems import refused
from hub.errors import Refusal, Said

# A watchdog may ask whether the hub lives; it learns nothing else.
OPEN_PATHS = frozenset({"/api/v1/health", "/health"})


class Guard:
    """Refuses before any route is looked at.

    `hosts` are the exact `Host` values (with port) this hub is called by: a page that rebinds its name to 127.0.0.1
    still sends its own. `Origin` and `Sec-Fetch-Site` are refused when foreign, for every method.
    """

    def __init__(self, app: ASGIApp, *, token: str, hosts: Collection[str]) -> None:
        self._app = app
        self._token = token.encode("utf-8")
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        refusal = self._refusal(request)
        target = self._app if refusal is None else refused(refusal, request)
        await target(scope, receive, send)

    def _refusal(self, request: Request) -> Refusal | None:
        host = request.headers.get("host", "").lower()
        if host not in self._hosts:
            known = ", ".join(sorted(self._hosts))
            return _forbidden(f"Host {host!r} is not {known}", f"Host {host!r}, а нужен {known}")
        origin = request.headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{name}" for name in self._hosts}:
            return _forbidden(f"a page of {origin} may not call the hub", f"странице {origin} нельзя обращаться к хабу")
        if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return _forbidden("a foreign page may not call the hub", "чужой странице нельзя обращаться к хабу")
        if request.url.path in OPEN_PATHS or self._knows(request.headers.get("authorization", "")):
            return None
        return Refusal(
            "unauthorised",
            Said("the bearer token is missing or wrong", "токен не указан или неверен"),
            hint=Said("send Authorization: Bearer <the hub's token file>", "нужен Authorization: Bearer <файл token>"),
        )

    def _knows(self, authorization: str) -> bool:
        scheme, _, given = authorization.partition(" ")
        right = hmac.compare_digest(given.strip().encode("utf-8"), self._token)
        return scheme.lower() == "bearer" and right


def _forbidden(english: str, russian: str) -> Refusal:
    return Refusal("forbidden", Said(english, russian))
