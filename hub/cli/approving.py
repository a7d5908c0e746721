"""`batch approve`: a held batch let out to the agent, after a look at what it would change."""

import sys
from typing import Annotated, Any

import typer

from hub.cli.batches import BatchId, batch_app
from hub.cli.exits import FAILURE, Stop
from hub.cli.output import show_answer, show_note
from hub.cli.planning import show_plan
from hub.cli.session import AsJson, login_name, session


@batch_app.command("approve")
def batch_approve(
    context: typer.Context,
    batch: BatchId,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Let a held batch go out to the agent, after its diff; on a terminal it asks first."""
    with session(context).connect() as hub:
        seen = hub.get(f"/batches/{batch}/plan")
        if not as_json:
            _show(seen)
        if sys.stdin.isatty() and not yes and not as_json and not typer.confirm("Let it go out?", err=True):
            raise Stop(
                f"batch {batch} still waits", hint=f"cancel it with: jira-hub batch cancel {batch}", code=FAILURE
            )
        # What was on the screen is what goes out: a mirror that changed meanwhile is a conflict.
        answer = hub.send("POST", f"/batches/{batch}/approve", {"author": login_name(), "digest": seen["digest"]})
    show_answer(answer, lambda _: show_note(f"Batch {batch} goes out"), as_json=as_json)


def _show(seen: Any) -> None:
    show_note(f"Batch {seen['batch_id']} «{seen['title']}» by {seen['author']}")
    show_plan(seen)
