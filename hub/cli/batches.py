"""`apply`, `watch`, `batch …`, `command …`: batches and commands made, looked at, cancelled and retried."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hub.cli.exits import INVALID, NOT_FOUND, USAGE, Stop
from hub.cli.output import duration, one_line, show_fields, show_json, show_line, show_note, show_table, status_text
from hub.cli.session import AsJson, login_name, session

if TYPE_CHECKING:
    from hub.cli.client import HubClient

batch_app = typer.Typer(help="Batches: list, show, cancel, retry.", no_args_is_help=True, rich_markup_mode=None)
command_app = typer.Typer(help="Commands: show, cancel, retry.", no_args_is_help=True, rich_markup_mode=None)

BatchId = Annotated[int, typer.Argument(metavar="BATCH", help="Number of the batch.", min=1)]
CommandId = Annotated[int, typer.Argument(metavar="COMMAND", help="Number of the command.", min=1)]
Author = Annotated[str | None, typer.Option("--author", help="Who wishes it; your login name by default.")]
Limit = Annotated[int, typer.Option("--limit", help="How many at most.", min=1, max=1000)]


def apply(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="YAML, JSON or CSV; - reads YAML from stdin.")],
    *,
    title: Annotated[
        str | None, typer.Option("--title", help="Title of the batch; else the file's, or its name.")
    ] = None,
    author: Author = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Stay until the batch is at rest; 1 when something failed.")
    ] = False,
    timeout: Annotated[float | None, typer.Option("--timeout", help="With --wait: seconds to stay at most.")] = None,
    as_json: AsJson = False,
) -> None:
    """Create the batch a file describes, whole or not at all."""
    from hub.cli.client import Refused
    from hub.cli.reading.batch_file import everything_wrong, read_batch_file
    from protocol.errors import Problem

    data, form = _read(file)
    batch_file = read_batch_file(data, form)
    if batch_file.findings:
        raise _faulty(file, everything_wrong(batch_file))
    body = {
        "author": author or batch_file.author or login_name(),
        "title": title or batch_file.title or ("batch" if str(file) == "-" else file.stem),
        "commands": batch_file.commands,
    }
    with session(context).connect() as hub:
        try:
            batch = hub.send("POST", "/batches", body)
        except Refused as refusal:
            faults = Problem.model_validate(refusal.problem).errors
            if refusal.status != 422 or not faults:
                raise
            raise _faulty(file, batch_file.located(faults)) from refusal
        if wait:
            from hub.cli.watching import watch_batch

            _announce(batch)
            watch_batch(hub, batch["id"], as_json=as_json, timeout=timeout)
            return
    if as_json:
        show_json(batch)
        return
    _announce(batch)
    _show_commands(batch["commands"])


def watch(
    context: typer.Context,
    batch: Annotated[int | None, typer.Argument(metavar="[BATCH]", help="The newest when left out.", min=1)] = None,
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


def _read(file: Path) -> tuple[bytes, Any]:
    from hub.cli.reading.batch_file import FORMS, form_of
    from hub.cli.reading.tree import MAX_FILE_BYTES

    if str(file) == "-":
        return sys.stdin.buffer.read(MAX_FILE_BYTES + 1), "yaml"
    form = form_of(file.name)
    if form is None:
        raise Stop(f"{file}: of which form is it?", hint=f"name it {', '.join(FORMS)}", code=USAGE)
    try:
        with file.open("rb") as stream:
            return stream.read(MAX_FILE_BYTES + 1), form
    except OSError as error:
        raise Stop(f"{file}: {error.strerror}", code=USAGE) from error


def _faulty(file: Path, findings: Any) -> Stop:
    """Every fault on a line of its own, in the form editors follow: `file:line:column: what — hint`."""
    name = "<stdin>" if str(file) == "-" else str(file)
    lines = [
        f"{name}:{finding.position.line}:{finding.position.column}: {finding.what}"
        + (f" — {finding.hint}" if finding.hint else "")
        for finding in findings
    ]
    errors = [
        {
            "file": name,
            "line": finding.position.line,
            "column": finding.position.column,
            "field": finding.field,
            "detail": finding.what,
            "hint": finding.hint,
        }
        for finding in findings
    ]
    detail = f"{len(errors)} fault{'s' if len(errors) > 1 else ''}, nothing was created"
    return Stop(*lines, detail, code=INVALID, document={"code": "invalid", "detail": detail, "errors": errors})


def _announce(batch: Any) -> None:
    number, title, count = batch["id"], one_line(batch["title"], 80), len(batch["commands"])
    time_needed = duration(batch["estimate_seconds"])
    show_note(
        f"Batch {number} «{title}» by {batch['author']}: {count} commands, at least {time_needed}. "
        f"Follow it with: jira-hub watch {number}"
    )


def subject(command: Any) -> str:
    """What a command is about, in a few words: the issue's key, both ends of a link, the summary of a new issue."""
    params = command["params"]
    match command["type"]:
        case "ensure_issue":
            return f"{params.get('temp_key', '')} {params.get('summary', '')}"
        case "ensure_link":
            return f"{params.get('source')} {params.get('link_type')} {params.get('target')}"
        case "refresh":
            return params.get("jql") or ", ".join(params.get("keys") or ())
        case "ensure_status":
            target = params.get("target")
            return f"{params.get('key')} {target if isinstance(target, str) else ' → '.join(target or ())}"
        case "ensure_sprint":
            sprint = params.get("sprint")
            return f"{params.get('key')} {sprint if isinstance(sprint, str) else (sprint or {}).get('id', '')}"
        case _:
            names = [name for name in params if name not in ("key", "marker", "body")]
            return f"{params.get('key', '')} {', '.join(names) or params.get('marker', '')}"


def outcome(command: Any) -> str:
    """What came of a command: Jira's or the hub's word on a failure, else the key it made."""
    return command.get("error") or (command.get("result") or {}).get("key") or ""


def _show_commands(commands: Any) -> None:
    show_table(
        ("command", "type", "what", "status", "outcome"),
        [(each["id"], each["type"], one_line(subject(each), 70), each["status"], outcome(each)) for each in commands],
    )


@batch_app.command("list")
def batch_list(context: typer.Context, *, limit: Limit = 20, as_json: AsJson = False) -> None:
    """The newest batches."""
    with session(context).connect() as hub:
        answer = hub.get("/batches", limit=limit)
    if as_json:
        show_json(answer)
        return
    show_table(
        ("batch", "created", "author", "title", "commands", "state"),
        [
            (each["id"], each["created_at"], each["author"], each["title"], _total(each), _state(each))
            for each in answer["items"]
        ],
    )


def _total(batch: Any) -> int:
    return sum((batch.get("counts") or {}).values())


def _state(batch: Any) -> str:
    """`done 3, failed 1`: the counts that are not zero."""
    return ", ".join(f"{status} {count}" for status, count in (batch.get("counts") or {}).items() if count)


@batch_app.command("show")
def batch_show(context: typer.Context, batch: BatchId, *, as_json: AsJson = False) -> None:
    """A batch and its commands."""
    with session(context).connect() as hub:
        answer = hub.get(f"/batches/{batch}")
    if as_json:
        show_json(answer)
        return
    show_note(f"Batch {answer['id']} «{answer['title']}» by {answer['author']}, created {answer['created_at']}")
    _show_commands(answer["commands"])


@batch_app.command("cancel")
def batch_cancel(context: typer.Context, batch: BatchId, *, as_json: AsJson = False) -> None:
    """Cancel what is still queued; a command already with the agent stays."""
    with session(context).connect() as hub:
        answer = hub.send("POST", f"/batches/{batch}/cancel")
    _show_batch_action(answer, as_json=as_json)


@batch_app.command("retry")
def batch_retry(context: typer.Context, batch: BatchId, *, author: Author = None, as_json: AsJson = False) -> None:
    """Wish the failed commands again, as a new batch."""
    with session(context).connect() as hub:
        answer = hub.send("POST", f"/batches/{batch}/retry", {"author": author or login_name()})
    _show_batch_action(answer, as_json=as_json)


def _show_batch_action(answer: Any, *, as_json: bool) -> None:
    if as_json:
        show_json(answer)
        return
    show_note(f"Batch {answer['id']} «{answer['title']}» by {answer['author']}")
    _show_commands(answer["commands"])


@command_app.command("show")
def command_show(context: typer.Context, command: CommandId, *, as_json: AsJson = False) -> None:
    """A command with everything known about it."""
    with session(context).connect() as hub:
        answer = hub.get(f"/commands/{command}")
    _show_command(answer, as_json=as_json)


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
        answer = hub.send("POST", f"/commands/{command}/cancel", {"force": force})
    _show_command(answer, as_json=as_json)


@command_app.command("retry")
def command_retry(
    context: typer.Context, command: CommandId, *, author: Author = None, as_json: AsJson = False
) -> None:
    """Wish a failed command again, as a new one in a new batch."""
    with session(context).connect() as hub:
        answer = hub.send("POST", f"/commands/{command}/retry", {"author": author or login_name()})
    _show_batch_action(answer, as_json=as_json)


def _show_command(answer: Any, *, as_json: bool) -> None:
    if as_json:
        show_json(answer)
        return
    show_line(f"{answer['id']}  {answer['type']}  {status_text(answer['status'])}")
    rest = {name: value for name, value in answer.items() if name not in ("id", "type", "status", "params", "result")}
    show_fields({**answer["params"], **(answer.get("result") or {}), **rest})
