"""People's routes for copies of the database. Restoring one is not here: no hub may run meanwhile."""

from pathlib import Path
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from hub.api.context import Context, InContext, shown
from hub.api.people_routes import After, Limit
from hub.errors import Refusal, Said
from hub.service.service import Backups

router = APIRouter(prefix="/api/v1/backups", tags=["backups"])


@router.get("")
async def backups(context: InContext, limit: Limit = 50, after: After = None) -> Response:
    """The copies, the newest first; the cursor is the name of the last one of a page."""
    copies = await context.call(_backups(context).copies)
    names = [path for path in copies if after is None or path.name < after]
    items = await context.call(lambda: [_view(path) for path in names[:limit] if path.exists()])
    return shown({"items": items, "cursor": names[limit - 1].name if len(names) > limit else None})


@router.post("", status_code=201)
async def make(context: InContext) -> Response:
    """A checked copy of what is committed now."""
    return shown(_view(await context.call(_backups(context).make, "by-hand")), 201)


def _backups(context: Context) -> Backups:
    found = context.service.backups
    if found is None:
        raise Refusal(
            "unavailable",
            Said("this hub's database has no file to copy", "у базы этого хаба нет файла для копии"),
            hint=Said("copy it with the tools of its server: pg_dump", "копируйте средствами её сервера: pg_dump"),
        )
    return found


def _view(path: Path) -> dict[str, Any]:
    time, _, label = path.stem.partition("Z-")
    return {"name": path.name, "path": str(path), "made_at": f"{time}Z", "label": label, "bytes": path.stat().st_size}
