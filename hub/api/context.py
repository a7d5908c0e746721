"""What the routes of one app share: the service, its workers, the parked claims; and the questions every route asks."""

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Final, ParamSpec, TypeVar

from fastapi import Depends, Header, Path, Query
from starlette.requests import Request
from starlette.responses import Response

from hub.api.parking import ParkingPlace
from hub.api.problems import language_of
from hub.api.serving import Served, not_served, unnamed
from hub.errors import Language
from hub.service import Service
from hub.service.answers import Answer
from hub.service.settings import MAIN

WORKERS: Final = 8  # one writer at a time anyway; the rest are readers, each with a connection of its own
_MAX_REQUEST_KEY: Final = 200
NAME_OF_LINK: Final = r"^[a-z0-9][a-z0-9-]{0,31}$"
MAX_ID: Final = 2**53  # integers that every JSON reader keeps; the database would take up to 2**63
Number = Annotated[int, Path(ge=1, le=MAX_ID)]
LinkName = Annotated[
    str | None,
    Query(pattern=NAME_OF_LINK, description="name of the pair of hub and agent; may be left out where one is"),
]
Key = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=_MAX_REQUEST_KEY,
        description="the same key gets the same answer, and nothing is done twice",
    ),
]
P = ParamSpec("P")
T = TypeVar("T")


def _workers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=WORKERS, thread_name_prefix="hub-store")


@dataclass
class Context:
    """One for all apps of a hub process: a claim over the relay supersedes one over HTTP."""

    service: Service
    parking: ParkingPlace = field(default_factory=ParkingPlace)
    workers: ThreadPoolExecutor = field(default_factory=_workers)

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a use case in a worker; the loop goes on meanwhile."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.workers, partial(function, *args, **kwargs))

    def close(self) -> None:
        """Release everybody who waits, and end the workers."""
        self.service.bell.close()
        self.workers.shutdown(wait=True)


# Coroutines, although they wait for nothing: a plain function would cost a hop to a thread at each request.
async def _context(request: Request) -> Context:
    found = request.app.state.context
    assert isinstance(found, Context)
    return found


async def _link(request: Request, context: Annotated[Context, Depends(_context)], link: LinkName = None) -> str:
    """The relay's apps serve one link each; a person names the link, where there is a choice."""
    request.state.link = await _meant(request, context, link)  # for the log
    return str(request.state.link)


async def _meant(request: Request, context: Context, link: str | None) -> str:
    fixed: str | None = request.app.state.link
    if fixed is not None:
        return fixed
    served: Served | None = request.app.state.served
    if served is None:
        return link or MAIN
    found = link or served.default
    if found is None:
        raise unnamed(served.relays)
    if found in served.relays:
        return found
    elsewhere = await context.call(context.service.served_links) if served.with_others else ()
    if found not in elsewhere:
        raise not_served(found, {*served.relays, *elsewhere})
    return found


async def _request_key(request: Request, idempotency_key: Key = None) -> str | None:
    """The key together with what it was sent to: one used for something else as well gets no answer of that."""
    return None if idempotency_key is None else f"{idempotency_key} {request.url.path}"


async def _language(request: Request) -> Language:
    return language_of(request.headers.get("accept-language", ""))


InContext = Annotated[Context, Depends(_context)]
OnLink = Annotated[str, Depends(_link)]
RequestKey = Annotated[str | None, Depends(_request_key)]
InLanguage = Annotated[Language, Depends(_language)]


def answered(answer: Answer) -> Response:
    """An answer of the service, byte for byte."""
    media_type = "application/json" if answer.body else None
    return Response(answer.body, status_code=answer.status, media_type=media_type)


def shown(value: Any, status: int = 200) -> Response:
    """A JSON value as it is: the views are plain values already, so nothing has to be looked at again."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Response(body, status_code=status, media_type="application/json")
