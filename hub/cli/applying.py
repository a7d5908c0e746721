"""`apply`: a batch file to the hub, and what is wrong with it back to the lines it stands on."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hub.cli.batches import Author, announce, show_commands
from hub.cli.exits import INVALID, USAGE, Stop
from hub.cli.output import show_answer
from hub.cli.session import AsJson, login_name, session


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
            batch = hub.create("/batches", body)
        except Refused as refusal:
            faults = Problem.model_validate(refusal.problem).errors if refusal.status == 422 else ()
            if not faults:
                raise
            raise _faulty(file, batch_file.located(faults)) from refusal
        if wait:
            from hub.cli.watching import watch_batch

            announce(batch)
            watch_batch(hub, batch["id"], as_json=as_json, timeout=timeout)
            return
    show_answer(batch, _show_created, as_json=as_json)


def _show_created(batch: Any) -> None:
    announce(batch)
    show_commands(batch["commands"])


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
