"""The routes of plans: what a batch would change, and the batch made of it."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from hub.api.bodies import body_as
from hub.api.context import InContext, InLanguage, Number, OnLink, RequestKey, answered, shown
from hub.api.document import takes
from hub.api.people_routes import Body, Digest
from hub.batching import MAX_COMMANDS
from hub.service.plans import PlanWish
from protocol.commands import Name

router = APIRouter(prefix="/api/v1")


class PlanRequest(Body):
    """A batch as it would be posted; `verify` has the touched issues read from Jira first."""

    author: Name
    title: Name
    commands: Annotated[list[Any], Field(max_length=MAX_COMMANDS + 1)]
    verify: bool = False


class ApplyRequest(Body):
    """`digest` is that of the plan as it was seen. `commands`, where given, must still be those of the plan."""

    digest: Digest
    author: Name | None = None
    commands: Annotated[list[Any], Field(max_length=MAX_COMMANDS + 1)] | None = None
    held: bool = False


@router.post("/plans", status_code=201, openapi_extra=takes(PlanRequest))
async def make_plan(
    request: Request, context: InContext, link: OnLink, language: InLanguage, request_key: RequestKey
) -> Response:
    """Compare a batch with the mirror. Nothing is written to Jira."""
    body = await body_as(PlanRequest, request)
    wish = PlanWish(body.author, body.title, body.commands, verify=body.verify)
    plans = context.service.plans
    return answered(await context.call(plans.make, link, wish, language=language, request_key=request_key))


@router.get("/plans/{plan_id}")
async def plan(context: InContext, link: OnLink, language: InLanguage, plan_id: Number) -> Response:
    """The plan beside the mirror of this moment."""
    return shown(await context.call(context.service.plans.plan, link, plan_id, language=language))


@router.post("/plans/{plan_id}/apply", status_code=201, openapi_extra=takes(ApplyRequest))
async def apply_plan(
    request: Request, context: InContext, link: OnLink, request_key: RequestKey, plan_id: Number
) -> Response:
    """Make the batch, unless the batch or the mirror changed since the plan of that digest."""
    body = await body_as(ApplyRequest, request)
    answer = await context.call(
        context.service.plans.apply,
        link,
        plan_id,
        body.digest,
        author=body.author,
        commands=body.commands,
        held=body.held,
        request_key=request_key,
    )
    return answered(answer)


@router.get("/batches/{batch_id}/plan")
async def batch_plan(context: InContext, link: OnLink, language: InLanguage, batch_id: Number) -> Response:
    """What is left of a batch beside the mirror of this moment."""
    return shown(await context.call(context.service.plans.of_batch, link, batch_id, language=language))
