"""A batch file on its way to the hub, and what is wrong with it back to the lines it stands on."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hub.cli.exits import INVALID, USAGE, Stop
from hub.cli.session import login_name

if TYPE_CHECKING:
    from hub.cli.reading.batch_file import BatchFile
    from hub.cli.reading.tree import Finding

Title = Annotated[str | None, typer.Option("--title", help="Title of the batch; else the file's, or its name.")]


def read_batch(file: Path, *, title: str | None, author: str | None) -> tuple["BatchFile", dict[str, Any]]:
    """The file, and the body of the request it makes. Raises `Stop` with every fault of its form."""
    from hub.cli.reading.batch_file import everything_wrong, read_batch_file

    data, form = _read(file)
    batch_file = read_batch_file(data, form)
    if batch_file.findings:
        raise _faulty(file, everything_wrong(batch_file))
    body = {
        "author": author or batch_file.author or login_name(),
        "title": title or batch_file.title or ("batch" if str(file) == "-" else file.stem),
        "commands": batch_file.commands,
    }
    return batch_file, body


@contextmanager
def refusals_located(file: Path, batch_file: "BatchFile") -> Iterator[None]:
    """What the hub refuses within, told by the lines of the file."""
    from hub.cli.client import Refused
    from protocol.errors import Problem

    try:
        yield
    except Refused as refusal:
        faults = Problem.model_validate(refusal.problem).errors if refusal.status == 422 else ()
        if not faults:
            raise
        raise _faulty(file, batch_file.located(faults)) from refusal


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


def _faulty(file: Path, findings: Iterable["Finding"]) -> Stop:
    name = "<stdin>" if str(file) == "-" else str(file)
    return faulty([(name, finding) for finding in findings], nothing="created")


def faulty(findings: Sequence[tuple[str, "Finding"]], *, nothing: str) -> Stop:
    """Every fault of a file on a line of its own, in the form editors follow: `file:line:column: what — hint`."""
    errors = [
        {
            "file": name,
            "line": finding.position.line,
            "column": finding.position.column,
            "field": finding.field,
            "detail": finding.what,
            "hint": finding.hint,
        }
        for name, finding in findings
    ]
    lines = [
        f"{error['file']}:{error['line']}:{error['column']}: {error['detail']}"
        + (f" — {error['hint']}" if error["hint"] else "")
        for error in errors
    ]
    detail = f"{len(errors)} fault{'s' if len(errors) > 1 else ''}, nothing was {nothing}"
    return Stop(*lines, detail, code=INVALID, document={"code": "invalid", "detail": detail, "errors": errors})
