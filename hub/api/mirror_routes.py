"""The routes of the mirror and of people's notes."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from hub.api.bodies import body_as
from hub.api.context import InContext, InLanguage, OnLink, RequestKey, answered, shown
from hub.api.document import takes
from hub.api.people_routes import After, Body, Limit, SomeText
from hub.importing import MAX_ROWS
from hub.service.intake import Rows
from protocol.commands import Text
from protocol.keys import ANY_KEY_PATTERN

router = APIRouter(prefix="/api/v1")
KeyInPath = Annotated[str, Path(pattern=ANY_KEY_PATTERN)]
MirrorState = Literal["present", "missing", "moved", "imported", "archived"]


class NoteRequest(Body):
    text: Annotated[Text, Field(min_length=1)]


class ImportRequest(Body):
    """Rows as a list from outside has them; checked one by one by `hub.importing`, every fault with its place."""

    issues: Annotated[tuple[Any, ...], Field(max_length=MAX_ROWS)] = ()
    links: Annotated[tuple[Any, ...], Field(max_length=MAX_ROWS)] = ()
    notes: Annotated[tuple[Any, ...], Field(max_length=MAX_ROWS)] = ()
    replace_notes: bool = False


@router.get("/issues")
async def issues(
    context: InContext,
    link: OnLink,
    language: InLanguage,
    text: SomeText = None,
    status: SomeText = None,
    type: SomeText = None,  # noqa: A002  # the query parameter's name
    priority: SomeText = None,
    assignee: SomeText = None,
    epic: SomeText = None,
    sprint: SomeText = None,
    label: SomeText = None,
    state: MirrorState | None = None,
    limit: Limit = 50,
    after: After = None,
) -> Response:
    """Search the mirror. `text`: words, or parts of words and keys; all must be found, case does not matter."""
    filters = {
        "status": status,
        "type": type,
        "priority": priority,
        "assignee": assignee,
        "epic": epic,
        "sprint": sprint,
        "label": label,
        "state": state,
    }
    mirror = context.service.mirror
    found = await context.call(
        mirror.issues, link, limit=limit, after=after, text=text, filters=filters, language=language
    )
    return shown(found)


@router.get("/issues/{key}")
async def issue(context: InContext, link: OnLink, key: KeyInPath) -> Response:
    return shown(await context.call(context.service.mirror.issue, link, key))


@router.get("/notes")
async def notes(context: InContext, link: OnLink, limit: Limit = 50, after: After = None) -> Response:
    return shown(await context.call(context.service.mirror.notes, link, limit=limit, after=after))


@router.get("/notes/{key}")
async def note(context: InContext, link: OnLink, key: KeyInPath) -> Response:
    return shown(await context.call(context.service.mirror.note, link, key))


@router.put("/notes/{key}", openapi_extra=takes(NoteRequest))
async def put_note(request: Request, context: InContext, link: OnLink, key: KeyInPath) -> Response:
    body = await body_as(NoteRequest, request)
    return shown(await context.call(context.service.mirror.put_note, link, key, body.text))


@router.delete("/notes/{key}", status_code=204)
async def delete_note(context: InContext, link: OnLink, key: KeyInPath) -> Response:
    await context.call(context.service.mirror.delete_note, link, key)
    return Response(status_code=204)


@router.post("/import", openapi_extra=takes(ImportRequest))
async def take_import(request: Request, context: InContext, link: OnLink, request_key: RequestKey) -> Response:
    """Take issues and notes in and look for links; everything is checked before anything is written."""
    body = await body_as(ImportRequest, request)
    rows = Rows(body.issues, body.links, body.notes, replace_notes=body.replace_notes)
    return answered(await context.call(context.service.intake.take, link, rows, request_key=request_key))
