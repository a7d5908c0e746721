"""People's routes. Each reads its request, calls one use case and shows what came of it."""

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from hub.api.bodies import body_as
from hub.api.context import MAX_ID, Context, InContext, InLanguage, Number, OnLink, RequestKey, answered, shown
from hub.api.document import takes
from hub.api.serving import Served
from hub.batching import MAX_COMMANDS
from protocol.commands import CommandType, Name
from protocol.keys import ANY_KEY_PATTERN, AnyKey
from protocol.messages import Status

router = APIRouter(prefix="/api/v1")
_KEEP_ALIVE_SECONDS: Final = 15.0
_MAX_GAPS: Final = 20
_NO_NUL: Final = r"^[^\x00]*$"  # a text with it is stored by no PostgreSQL
Limit = Annotated[int, Query(ge=1, le=1_000)]
Before = Annotated[int | None, Query(alias="cursor", ge=1, le=MAX_ID, description="the cursor of the page before")]
After = Annotated[
    str | None, Query(alias="cursor", max_length=100, pattern=_NO_NUL, description="the cursor of the page before")
]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
SomeText = Annotated[str | None, Query(max_length=200, pattern=_NO_NUL)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class BatchRequest(Body):
    """`commands` are checked one by one by `hub.batching`, so that every fault is named with its place."""

    author: Name
    title: Name
    commands: Annotated[list[Any], Field(max_length=MAX_COMMANDS + 1)]
    held: bool = False
    assistant: bool = False


class ByWhom(Body):
    author: Name = "api"


class CancelRequest(ByWhom):
    force: bool = False


class ApproveRequest(ByWhom):
    digest: Digest | None = None


class RefreshRequest(ByWhom):
    keys: Annotated[tuple[AnyKey, ...], Field(min_length=1)] | None = None
    jql: str | None = None


class SettingsRequest(Body):
    """What is left out stays. `paused`: true, false, or the moment until which."""

    pacing: Annotated[dict[str, Any], Field(max_length=_MAX_GAPS)] | None = None
    min_agent_version: Annotated[int, Field(ge=0, le=10_000)] | None = None
    auto_refresh_minutes: Annotated[int, Field(ge=0, le=10_080)] | None = None
    project: Annotated[str, Field(pattern=r"^([A-Z][A-Z0-9_]{1,60})?$")] | None = None
    link_types: list[Name] | None = None
    assistant_batches: Literal["held", "trusted"] | None = None
    paused: bool | str | None = None


@router.post("/batches", status_code=201, openapi_extra=takes(BatchRequest))
async def create_batch(request: Request, context: InContext, link: OnLink, request_key: RequestKey) -> Response:
    body = await body_as(BatchRequest, request)
    answer = await context.call(
        context.service.create_batch,
        link,
        body.author,
        body.title,
        body.commands,
        held=body.held,
        assistant=body.assistant,
        request_key=request_key,
    )
    return answered(answer)


@router.get("/batches")
async def batches(
    context: InContext, link: OnLink, *, held: bool | None = None, limit: Limit = 50, before: Before = None
) -> Response:
    """The newest first; `held=true` are those that wait for a person."""
    return shown(await context.call(context.service.batch_list, link, limit=limit, before=before, held=held))


@router.get("/batches/{batch_id}")
async def batch(context: InContext, link: OnLink, batch_id: Number) -> Response:
    return shown(await context.call(context.service.batch, link, batch_id))


@router.post("/batches/{batch_id}/cancel", openapi_extra=takes(ByWhom, optional=True))
async def cancel_batch(request: Request, context: InContext, link: OnLink, batch_id: Number) -> Response:
    body = await body_as(ByWhom, request, optional=True)
    return shown(await context.call(context.service.cancel_batch, link, batch_id, body.author))


@router.post("/batches/{batch_id}/approve", openapi_extra=takes(ApproveRequest, optional=True))
async def approve_batch(request: Request, context: InContext, link: OnLink, batch_id: Number) -> Response:
    """A person lets a held batch go out; with `digest` only while the mirror shows what he saw of it."""
    body = await body_as(ApproveRequest, request, optional=True)
    approve = context.service.approve_batch
    return shown(await context.call(approve, link, batch_id, who=body.author, digest=body.digest))


@router.post("/batches/{batch_id}/retry", status_code=201, openapi_extra=takes(ByWhom, optional=True))
async def retry_batch(request: Request, context: InContext, link: OnLink, batch_id: Number) -> Response:
    body = await body_as(ByWhom, request, optional=True)
    return shown(await context.call(context.service.retry_batch, link, batch_id, body.author), 201)


@router.get("/commands")
async def commands(
    context: InContext,
    link: OnLink,
    status: Status | None = None,
    type: CommandType | None = None,  # noqa: A002  # the query parameter's name
    key: Annotated[str | None, Query(pattern=ANY_KEY_PATTERN)] = None,
    batch: Annotated[int | None, Query(ge=1, le=MAX_ID)] = None,
    text: SomeText = None,
    limit: Limit = 50,
    before: Before = None,
) -> Response:
    filters = {"status": status, "type": type, "key": key, "batch_id": batch, "text": text}
    found = await context.call(context.service.command_list, link, limit=limit, before=before, filters=filters)
    return shown(found)


@router.get("/commands/{command_id}")
async def command(context: InContext, link: OnLink, command_id: Number) -> Response:
    return shown(await context.call(context.service.command, link, command_id))


@router.post("/commands/{command_id}/cancel", openapi_extra=takes(CancelRequest, optional=True))
async def cancel_command(
    request: Request, context: InContext, link: OnLink, language: InLanguage, command_id: Number
) -> Response:
    """Cancel a queued command; with `force` also one the agent may be executing, and then there is a `warning`."""
    body = await body_as(CancelRequest, request, optional=True)
    cancel = context.service.cancel_command
    return shown(await context.call(cancel, link, command_id, body.author, force=body.force, language=language))


@router.post("/commands/{command_id}/retry", status_code=201, openapi_extra=takes(ByWhom, optional=True))
async def retry_command(request: Request, context: InContext, link: OnLink, command_id: Number) -> Response:
    body = await body_as(ByWhom, request, optional=True)
    return shown(await context.call(context.service.retry_command, link, command_id, body.author), 201)


@router.post("/refresh", status_code=201, openapi_extra=takes(RefreshRequest))
async def refresh(request: Request, context: InContext, link: OnLink, request_key: RequestKey) -> Response:
    body = await body_as(RefreshRequest, request)
    wish = body.model_dump(exclude={"author"}, exclude_none=True, mode="json")
    answer = await context.call(context.service.refresh, link, body.author, wish, request_key=request_key)
    return answered(answer)


@router.get("/settings")
async def settings(context: InContext, link: OnLink) -> Response:
    return shown(await context.call(context.service.settings, link))


@router.put("/settings", openapi_extra=takes(SettingsRequest))
async def put_settings(request: Request, context: InContext, link: OnLink) -> Response:
    body = await body_as(SettingsRequest, request)
    wanted = body.model_dump(exclude_unset=True)
    return shown(await context.call(context.service.change_settings, link, wanted))


@router.get("/status")
async def status(request: Request, context: InContext, link: OnLink) -> Response:
    """The link at a glance, with the relay to its agent; `links` are all of this hub."""
    served: Served | None = request.app.state.served
    found = await context.call(context.service.status, link)
    relay = None if served is None else served.relay_of(link)
    seen_over = relay or {}
    found["agent"] |= {
        "relay_latency_seconds": seen_over.get("latency_seconds"),
        "share_profile": seen_over.get("share_profile"),
    }
    return shown({**found, "relay": relay, "links": [link] if served is None else list(served.relays)})


@router.post("/adopt", openapi_extra=takes(ByWhom, optional=True))
async def adopt(request: Request, context: InContext, link: OnLink) -> Response:
    """Another agent may take the link over: the next one that claims."""
    await body_as(ByWhom, request, optional=True)
    return shown(await context.call(context.service.adopt, link))


@router.get("/events")
async def events(
    context: InContext, link: OnLink, after: Annotated[int | None, Query(ge=0, le=MAX_ID)] = None
) -> StreamingResponse:
    """Moves of commands as server-sent events, from now on or from the event `after`."""
    start = after if after is not None else await context.call(context.service.newest_event)
    headers = {"cache-control": "no-store"}
    return StreamingResponse(_stream(context, link, start), media_type="text/event-stream", headers=headers)


async def _stream(context: Context, link: str, after: int) -> AsyncIterator[str]:
    """Ends with the caller, or with the hub; a comment now and then shows both that the line is alive."""
    bell = context.service.bell
    yield ": open\n\n"
    while not bell.closed:
        seen = bell.count()
        found = await context.call(context.service.events, link, after)
        for event in found:
            after = event["id"]
            yield f"id: {after}\nevent: move\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"
        if not found and not await bell.heard(seen, _KEEP_ALIVE_SECONDS):
            yield ": alive\n\n"
