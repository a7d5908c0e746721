"""The agent's four routes, the only ones the relay can reach."""

import asyncio
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from hub.api.bodies import body_as
from hub.api.context import Context, InContext, InLanguage, Number, OnLink, RequestKey, answered, shown
from hub.api.document import takes
from hub.api.parking import Parked, watching_for_withdrawal
from hub.service.answers import Answer
from protocol.messages import AgentState, ClaimRequest, Delivery, Report

LONGEST_WAIT_SECONDS: Final = 55.0  # below the minute after which proxies and people lose patience
_NOTHING: Final[dict[int | str, dict[str, Any]]] = {204: {"description": "nothing to do"}}
router = APIRouter(prefix="/api/v1/agent", tags=["agent"])


@router.post("/claim", responses={200: {"model": Delivery}, **_NOTHING}, openapi_extra=takes(ClaimRequest))
async def claim(
    request: Request,
    context: InContext,
    link: OnLink,
    request_key: RequestKey,
    wait: Annotated[float, Query(ge=0, le=LONGEST_WAIT_SECONDS)] = 25,
) -> Response:
    """The next command, or nothing after `wait` seconds (queue.md, Claim)."""
    wish = await body_as(ClaimRequest, request)
    session = wish.session or ""
    parked = context.parking.park(link, session)
    context.service.bell.ring()  # whoever was superseded leaves at once

    def withdraw() -> None:
        parked.release()
        context.service.bell.ring()

    try:
        async with watching_for_withdrawal(request, withdraw):
            return answered(await _answer(context, link, wish, parked, request_key, wait))
    finally:
        context.parking.leave(link, session, parked)


async def _answer(
    context: Context, link: str, wish: ClaimRequest, parked: Parked, request_key: str | None, wait: float
) -> Answer:
    """Look at the queue, and again at each ring, until there is an answer or the time is up."""
    bell = context.service.bell
    now = asyncio.get_running_loop().time
    deadline = now() + wait
    first = True
    while True:
        seen = bell.count()  # before the look: what is committed after it rings again
        last = bell.closed or now() >= deadline
        answer = await context.call(
            context.service.claim, link, wish, request_key=request_key, first=first, last=last, wanted=parked.wanted
        )
        first = False
        if answer is not None:
            return answer
        await bell.heard(seen, max(0.0, deadline - now()))


@router.get("/commands/{command_id}", response_model=Delivery)
async def command(context: InContext, link: OnLink, command_id: Number) -> Response:
    """The command as it was delivered, with today's status."""
    return shown(await context.call(context.service.delivery, link, command_id))


@router.put("/commands/{command_id}/result", openapi_extra=takes(Report))
async def report(
    request: Request,
    context: InContext,
    link: OnLink,
    request_key: RequestKey,
    language: InLanguage,
    command_id: Number,
) -> Response:
    """The agent's final word on a command (queue.md, Report)."""
    said = await body_as(Report, request)
    return answered(
        await context.call(context.service.report, link, command_id, said, request_key=request_key, language=language)
    )


@router.post("/heartbeat", status_code=204, response_class=Response, openapi_extra=takes(AgentState))
async def heartbeat(request: Request, context: InContext, link: OnLink) -> Response:
    """How the agent is, while it has nothing else to say."""
    state = await body_as(AgentState, request)
    await context.call(context.service.heartbeat, link, state)
    return Response(status_code=204)
