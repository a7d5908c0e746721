"""`watch`, `batch …`, `command …`: batches and commands looked at, cancelled and retried, through the API."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from hub.cli.exits import NOT_FOUND, USAGE, Stop
from hub.cli.output import duration, one_line, show_answer, show_fields, show_line, show_note, show_table, status_text
from hub.cli.session import AsJson, login_name, session
from hub.cli.summing_up import outcome, subject

if TYPE_CHECKING:
    from hub.cli.client import HubClient

batch_app = typer.Typer(
    help="Batches: list, show, approve, cancel, retry.", no_args_is_help=True, rich_markup_mode=None
)
command_app = typer.Typer(help="Commands: list, show, cancel, retry.", no_args_is_help=True, rich_markup_mode=None)

BatchId = Annotated[int, typer.Argument(metavar="BATCH", help="Number of the batch.", min=1, max=2**53)]
CommandId = Annotated[int, typer.Argument(metavar="COMMAND", help="Number of the command.", min=1, max=2**53)]
Author = Annotated[str | None, typer.Option("--author", help="Who wishes it; your login name by default.")]
Limit = Annotated[int, typer.Option("--limit", help="How many at most.", min=1, max=1000)]
Cursor = Annotated[str | None, typer.Option("--cursor", help="The cursor that the page before ended with.")]
_TOLD_OTHERWISE = ("params", "result", "events", "late_results", "warning", "held")


def watch(
    context: typer.Context,
    batch: Annotated[
        int | None, typer.Argument(metavar="[BATCH]", help="The newest when left out.", min=1, max=2**53)
    ] = None,
    *,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", help="Seconds to stay at most; ends with 5 if the agent is offline then."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Follow a batch until it is at rest; ends with 1 when something in it failed."""
    from hub.cli.watching import watch_batch

    with session(context).connect() as hub:
        watch_batch(hub, batch or _newest(hub), as_json=as_json, timeout=timeout)


def _newest(hub: "HubClient") -> int:
    newest = hub.get("/batches", limit=1)["items"]
    if not newest:
        raise Stop("there is no batch yet", hint="make one with: jira-hub apply FILE", code=NOT_FOUND)
    return int(newest[0]["id"])


def announce(batch: Any) -> None:
    number, title, count = batch["id"], one_line(batch["title"], 80), len(batch["commands"])
    time_needed = duration(batch["estimate_seconds"])
    show_note(
        f"Batch {number} «{title}» by {batch['author']}: {count} command{'s' * (count != 1)}, at least {time_needed}. "
        f"Follow it with: jira-hub watch {number}"
    )


def show_commands(commands: Any) -> None:
    show_table(
        ("command", "type", "what", "status", "outcome"),
        [(each["id"], each["type"], one_line(subject(each), 70), each["status"], outcome(each)) for each in commands],
    )


@batch_app.command("list")
def batch_list(
    context: typer.Context,
    *,
    held: Annotated[bool, typer.Option("--held", help="Only those that wait for approval.")] = False,
    limit: Limit = 20,
    cursor: Cursor = None,
    as_json: AsJson = False,
) -> None:
    """The newest batches."""
    with session(context).connect() as hub:
        answer = hub.get("/batches", held="true" if held else None, limit=limit, cursor=cursor)
    show_answer(answer, _show_batches, as_json=as_json)


def _show_batches(answer: Any) -> None:
    show_table(
        ("batch", "created", "author", "title", "commands", "state"),
        [
            (each["id"], each["created_at"], each["author"], each["title"], _total(each), _state(each))
            for each in answer["items"]
        ],
    )
    show_further(answer)


def show_further(answer: Any) -> None:
    """Where a list goes on, if it does."""
    if answer["cursor"] is not None:
        show_note(f"There is more: --cursor {answer['cursor']}")


def _total(batch: Any) -> int:
    return sum((batch.get("counts") or {}).values())


def _state(batch: Any) -> str:
    """`done 3, failed 1`: the counts that are not zero, and whether the batch waits for approval."""
    counts = _counts(batch)
    waits = batch.get("held") and not batch.get("cancelled_at")
    return f"held, {counts}" if waits else counts


def _counts(batch: Any) -> str:
    return ", ".join(f"{status} {count}" for status, count in (batch.get("counts") or {}).items() if count)


@batch_app.command("show")
def batch_show(context: typer.Context, batch: BatchId, *, as_json: AsJson = False) -> None:
    """A batch and its commands."""
    with session(context).connect() as hub:
        answer = hub.get(f"/batches/{batch}")
    show_answer(answer, _show_batch, as_json=as_json)


@batch_app.command("cancel")
def batch_cancel(context: typer.Context, batch: BatchId, *, as_json: AsJson = False) -> None:
    """Cancel what is still queued; a command already with the agent stays."""
    with session(context).connect() as hub:
        answer = hub.send("POST", f"/batches/{batch}/cancel", {"author": login_name()})
    show_answer(answer, _show_batch, as_json=as_json)


@batch_app.command("retry")
def batch_retry(context: typer.Context, batch: BatchId, *, author: Author = None, as_json: AsJson = False) -> None:
    """Wish the failed commands again, as a new batch."""
    with session(context).connect() as hub:
        answer = hub.send("POST", f"/batches/{batch}/retry", {"author": author or login_name()})
    show_answer(answer, _show_batch, as_json=as_json)


def _show_batch(batch: Any) -> None:
    show_note(f"Batch {batch['id']} «{batch['title']}» by {batch['author']}, created {batch['created_at']}")
    show_commands(batch["commands"])


@command_app.command("list")
def command_list(
    context: typer.Context,
    *,
    status: Annotated[str | None, typer.Option("--status", help="Such as failed.")] = None,
    command_type: Annotated[str | None, typer.Option("--type", help="Such as ensure_fields.")] = None,
    key: Annotated[str | None, typer.Option("--key", help="Issue key or temporary key it speaks of.")] = None,
    batch: Annotated[int | None, typer.Option("--batch", help="Number of the batch.", min=1, max=2**53)] = None,
    text: Annotated[str | None, typer.Option("--text", help="Words of its parameters or its error.")] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    as_json: AsJson = False,
) -> None:
    """The newest commands, of one status, type, key or batch."""
    wanted = {"status": status, "type": command_type, "key": key, "batch": batch, "text": text}
    with session(context).connect() as hub:
        answer = hub.get("/commands", **wanted, limit=limit, cursor=cursor)
    show_answer(answer, _show_page, as_json=as_json)


def _show_page(answer: Any) -> None:
    show_commands(answer["items"])
    show_further(answer)


@command_app.command("show")
def command_show(context: typer.Context, command: CommandId, *, as_json: AsJson = False) -> None:
    """A command with everything known about it."""
    with session(context).connect() as hub:
        answer = hub.get(f"/commands/{command}")
    show_answer(answer, _show_command, as_json=as_json)


@command_app.command("cancel")
def command_cancel(
    context: typer.Context,
    command: CommandId,
    *,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Also when the agent has it: it may be executing it; its result is still recorded."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Cancel a command, and with it those that need the issue it was to make."""
    with session(context).connect() as hub:
        answer = hub.send("POST", f"/commands/{command}/cancel", {"author": login_name(), "force": force})
    show_answer(answer, _show_command, as_json=as_json)


@command_app.command("retry")
def command_retry(
    context: typer.Context, command: CommandId, *, author: Author = None, as_json: AsJson = False
) -> None:
    """Wish a failed command again, as a new one in a new batch."""
    with session(context).connect() as hub:
        answer = hub.send("POST", f"/commands/{command}/retry", {"author": author or login_name()})
    show_answer(answer, _show_batch, as_json=as_json)


def retry(
    context: typer.Context,
    command: Annotated[
        int | None, typer.Argument(metavar="[COMMAND]", help="Number of the command.", min=1, max=2**53)
    ] = None,
    *,
    batch: Annotated[
        int | None, typer.Option("--batch", help="All that failed in this batch.", min=1, max=2**53)
    ] = None,
    author: Author = None,
    as_json: AsJson = False,
) -> None:
    """Wish what failed again: one command, or with --batch all of a batch, in a new batch."""
    if command is not None and batch is None:
        command_retry(context, command, author=author, as_json=as_json)
    elif batch is not None and command is None:
        batch_retry(context, batch, author=author, as_json=as_json)
    else:
        raise Stop("name either a command or a --batch", hint="jira-hub retry 42", code=USAGE)


def _show_command(command: Any) -> None:
    if command.get("warning"):
        show_note(command["warning"])
    show_line(f"{command['id']}  {command['type']}  {status_text(command['status'])}")
    told = {*_TOLD_OTHERWISE, "id", "type", "status"}
    rest = {name: value for name, value in command.items() if name not in told}
    show_fields({**command["params"], **(command["result"] or {}), **rest})
    show_table(
        ("at", "status", "why"), [(event["at"], event["to_status"], event["why"]) for event in command["events"]]
    )
