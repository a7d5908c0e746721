"""What the program shows: data on stdout as JSON, a table or plain lines; everything else on stderr. No decisions."""

import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import typer

# C0 and C1 controls, and the marks that turn the direction of text: Jira's texts may hold them, a terminal obeys them.
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
STATUS_COLOURS: Final[Mapping[str, str]] = {
    "queued": "blue",
    "claimed": "yellow",
    "done": "green",
    "confirmed_by_state": "green",
    "failed": "red",
    "cancelled": "magenta",
    "skipped": "magenta",
}


def printable(text: object) -> str:
    """`text` without anything a terminal would act upon; line breaks and tabs stay."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", str(text))


def one_line(text: object, width: int) -> str:
    """`text` on one line, cut to `width` characters."""
    flat = " ".join(printable(text).split())
    return flat if len(flat) <= width else f"{flat[: width - 1]}…"


def colourful() -> bool:
    """Whether stdout takes colours: a terminal, and NO_COLOR (any value) does not forbid them."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def show_json(document: object) -> None:
    typer.echo(json.dumps(document, ensure_ascii=False, indent=2))


def show_answer(document: Any, shown: Callable[[Any], None], *, as_json: bool) -> None:
    """The hub's answer: as it is with `--json`, else as `shown` shows it."""
    (show_json if as_json else shown)(document)


def show_line(text: str) -> None:
    typer.echo(printable(text))


def show_coloured(text: str, colour: str | None) -> None:
    """A line in a colour, where stdout takes colours."""
    line = printable(text)
    typer.echo(typer.style(line, fg=colour) if colour and colourful() else line)


def show_note(text: str) -> None:
    """Progress and advice: on stderr, so that stdout stays data."""
    typer.echo(printable(text), err=True)


def status_text(status: str) -> str:
    if not colourful():
        return status
    return typer.style(status, fg=STATUS_COLOURS.get(status))


def show_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table on a terminal; elsewhere a line for each row, tab-separated, without a header, for other programs."""
    cells = [["" if cell is None else one_line(cell, 200) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in cells:
            typer.echo("\t".join(row))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in cells:
        table.add_row(*(Text(cell, style=STATUS_COLOURS.get(cell, "")) for cell in row))
    Console(no_color=not colourful()).print(table)


def show_fields(fields: Mapping[str, Any]) -> None:
    """Name and value, a line each; what is absent is left out."""
    given = {name: value for name, value in fields.items() if value not in (None, "", [], {})}
    width = max((len(name) for name in given), default=0)
    for name, value in given.items():
        text = printable(value).replace("\n", f"\n{'':{width}}  ")
        typer.echo(f"{name:{width}}  {text}")


def duration(seconds: float) -> str:
    """`45 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
