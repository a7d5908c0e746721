"""`apply`: the batch of a file, made as it was planned, or without a plan."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hub.cli.batches import Author, announce, show_commands
from hub.cli.exits import USAGE, Stop
from hub.cli.output import show_answer
from hub.cli.planning import forget, remembered
from hub.cli.sending import Title, read_batch, refusals_located
from hub.cli.session import AsJson, session

if TYPE_CHECKING:
    from hub.cli.client import HubClient


def apply(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="YAML, JSON or CSV; - reads YAML from stdin.")],
    *,
    title: Title = None,
    author: Author = None,
    plan: Annotated[int | None, typer.Option("--plan", help="Number of the plan to hold to; with --digest.")] = None,
    digest: Annotated[str | None, typer.Option("--digest", help="Digest of that plan as you saw it.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Apply even though the mirror changed since the plan of this file.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Stay until the batch is at rest; 1 when something failed.")
    ] = False,
    timeout: Annotated[float | None, typer.Option("--timeout", help="With --wait: seconds to stay at most.")] = None,
    as_json: AsJson = False,
) -> None:
    """Create the batch a file describes, whole or not at all; once planned, only if nothing changed since."""
    if (plan is None) != (digest is None) or (force and plan is not None):
        raise Stop("--plan and --digest go together, and without --force", code=USAGE)
    batch_file, body = read_batch(file, title=title, author=author)
    with session(context).connect() as hub:
        home = session(context).folder()
        held_to = {"id": plan, "digest": digest} if plan else None if force else remembered(home, hub.address, body)
        with refusals_located(file, batch_file):
            batch = _created(hub, body, held_to)
        forget(home, hub.address, body)
        if wait:
            from hub.cli.watching import watch_batch

            announce(batch)
            watch_batch(hub, batch["id"], as_json=as_json, timeout=timeout)
            return
    show_answer(batch, _show_created, as_json=as_json)


def _created(hub: "HubClient", body: Mapping[str, Any], held_to: Mapping[str, Any] | None) -> Any:
    """The batch; where it was planned, only as it was planned."""
    from hub.cli.client import Refused

    if held_to is None:
        return hub.create("/batches", body)
    wish = {"digest": held_to["digest"], "author": body["author"], "commands": body["commands"]}
    try:
        return hub.create(f"/plans/{held_to['id']}/apply", wish)
    except Refused as refusal:
        if refusal.status in (404, 409):
            hint = "look at it again with: jira-hub plan FILE; or go on without it: jira-hub apply FILE --force"
            raise Stop(*refusal.lines[:1], hint=hint, code=refusal.code, document=refusal.document) from refusal
        raise


def _show_created(batch: Any) -> None:
    announce(batch)
    show_commands(batch["commands"])
