"""The routes that a watchdog and a scrape ask; they stand at the root too, where such programs look for them."""

from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from hub.api.context import InContext, shown
from hub.api.serving import Served
from hub.metrics import CONTENT_TYPE, Family, Sample, exposition, relay_families

router = APIRouter(prefix="/api/v1")
at_the_root = APIRouter(include_in_schema=False)
_UP: Final = Family("jira_hub_up", "gauge", "The hub answers.", [Sample(1)])


@at_the_root.get("/health")
@router.get("/health")
async def health(context: InContext) -> Response:
    """Whether the database answers; needs no token and tells nothing else."""
    await context.call(context.service.newest_event)
    return shown({"status": "ok"})


@at_the_root.get("/metrics")
@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request, context: InContext) -> Response:
    """Every figure of every link in Prometheus' text format."""
    served: Served | None = request.app.state.served
    families = await context.call(context.service.measured)
    relays = {} if served is None else {link: status() for link, status in served.relays.items()}
    return Response(exposition((_UP, *families, *relay_families(relays))), media_type=CONTENT_TYPE)
