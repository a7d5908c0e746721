"""CSV into the positioned tree: a header of parameter names, one command a row, an empty cell is a parameter left out.

A cell `null` clears. A list stands in one cell, its parts divided by `|`. The separator is `,` or, as
spreadsheets in Russian write it, `;`. Which parameters are lists is read from the command models, not written here.
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

from hub.cli.reading.shapes import parameter_kinds
from hub.cli.reading.tree import MAX_NODES, Entry, Finding, Items, Mapping, Node, Position, Scalar, Unreadable

_BARE: Final = {separator: re.compile(rf"[^\"{separator}\r\n]*") for separator in (",", ";", "\t")}
_QUOTED: Final = re.compile(r'"((?:[^"]|"")*)"')
_LINE_END: Final = re.compile(r"\r\n|\n|\r|\Z")
_FLAGS: Final = {"true": True, "yes": True, "false": False, "no": False}


def csv_tree(text: str) -> tuple[Node | None, tuple[Finding, ...]]:
    """The list of commands and what was refused; `None` for an empty file.

    Raises `Unreadable` on a broken quote, and where no column tells the commands' types.
    """
    rows = table_rows(text)
    header = next(rows, None)
    if header is None:
        return None, ()
    if not any(name.value == "type" for name in header):
        raise Unreadable(_typeless(header))
    findings: list[Finding] = []
    commands: list[Node] = []
    for row in rows:
        extra = [cell for cell in row[len(header) :] if cell.value]
        if extra:
            findings.append(Finding(extra[0].position, "more cells than the header has names", "put texts in quotes"))
        commands.append(_command(header, row))
    return Items(commands, header[0].position), tuple(findings)


def table_rows(text: str) -> Iterator[list[Scalar]]:
    """Every row that is not blank, its cells stripped and with their positions; the header tells the separator."""
    separator = max(_BARE, key=text.partition("\n")[0].count)
    at, line, line_start, cells, count = 0, 1, 0, list[Scalar](), 0
    while at < len(text) or cells:
        position = Position(line, at - line_start + 1)
        quoted = _QUOTED.match(text, at)
        bare = quoted or _BARE[separator].match(text, at)
        assert bare is not None  # it also matches nothing at all
        cell = quoted[1].replace('""', '"') if quoted else bare[0]
        inner = text.count("\n", at, bare.end())
        if inner:
            line, line_start = line + inner, text.rfind("\n", 0, bare.end()) + 1
        at = bare.end()
        cells.append(Scalar(cell.strip(), position))
        count += 1
        if count > MAX_NODES:
            raise Unreadable(Finding(position, f"more than {MAX_NODES} cells", "split the batch"))
        if text.startswith(separator, at):
            at += 1
            continue
        end = _LINE_END.match(text, at)
        if end is None:
            raise Unreadable(Finding(position, "a quote that does not fit", 'double a quote inside a cell: ""'))
        if any(each.value for each in cells):
            yield cells
        cells, at, line, line_start = [], end.end(), line + 1, end.end()


def _typeless(header: list[Scalar]) -> Finding:
    near = get_close_matches("type", [str(name.value) for name in header], n=1)
    if not near:
        return Finding(
            header[0].position, "no column is named type", "name the parameters in the first row, type first"
        )
    at = next(name.position for name in header if name.value == near[0])
    return Finding(at, f"unknown name {near[0]}, and no column is named type", "did you mean type?")


def _command(header: list[Scalar], row: list[Scalar]) -> Mapping:
    names = [str(name.value) for name in header]
    given = {name: str(cell.value) for name, cell in zip(names, row, strict=False)}
    kinds = parameter_kinds(given.get("type", ""))
    entries = [
        Entry(name, cell.position, _value(str(cell.value), kinds.get(name, frozenset()), cell.position))
        for name, cell in zip(names, row, strict=False)
        if cell.value
    ]
    return Mapping(entries, row[0].position)


def _value(text: str, kinds: frozenset[str], position: Position) -> Node:
    if text == "null":
        return Scalar(None, position)
    if "array" in kinds and ("|" in text or "string" not in kinds):
        parts = [part.strip() for part in text.split("|")]
        return Items([Scalar(part, position) for part in parts if part], position)
    if "boolean" in kinds:
        return Scalar(_FLAGS.get(text.lower(), text), position)
    return Scalar(text, position)
