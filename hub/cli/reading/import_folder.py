"""A folder to be imported: its rows by list, and where each row and cell stands. Nothing is judged but the form."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from hub.cli.exits import INVALID, USAGE, Stop
from hub.cli.reading.csv_tree import table_rows
from hub.cli.reading.tree import Finding, Position, Unreadable

MAX_FILE_BYTES: Final = 64 * 1024 * 1024  # a list of a hundred thousand issues with their descriptions
_LISTS: Final = ("issues", "links", "notes")
_PLACE: Final = re.compile(r"(?P<list>\w+)\[(?P<index>\d+)\](?:\.(?P<column>\w+))?")
_START: Final = Position(1, 1)


class ImportFolder:
    """Everything the folder holds: rows by list, and where each row and cell stands."""

    def __init__(self, folder: Path) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in _LISTS}
        self.findings: list[tuple[str, Finding]] = []
        self._places: dict[str, tuple[str, Position]] = {}
        if not folder.is_dir():
            raise Stop(f"{folder} is no folder", code=USAGE)
        files = [(name, folder / f"{name}.csv") for name in _LISTS]
        there = [(name, file) for name, file in files if file.is_file()]
        notes = sorted((folder / "notes").glob("*.md"))
        if not there and not notes:
            raise Stop(f"{folder} holds none of issues.csv, links.csv, notes.csv, notes/*.md", code=USAGE)
        for name, file in there:
            self._read(name, file)
        for file in notes:
            self._place("notes", file, _START, {"key": file.stem, "text": _text_of(file)}, {})

    def located(self, fault: Any) -> tuple[str, Finding]:
        """What the hub refused, at the cell or the row it stands in."""
        field = fault.field or ""
        parts = _PLACE.fullmatch(field)
        row = field.partition(".")[0]
        file, position = self._places.get(field) or self._places.get(row) or ("", _START)
        what = f"{parts['column']}: {fault.detail}" if parts and parts["column"] else fault.detail
        return file, Finding(position, what, fault.hint, field)

    def _read(self, name: str, file: Path) -> None:
        try:
            rows = table_rows(_text_of(file))
            header = next(rows, None)
            names = [str(cell.value).strip().lower() for cell in header or ()]
            for cells in rows:
                given = {column: cell for column, cell in zip(names, cells, strict=False) if cell.value}
                values = {column: _value(column, str(cell.value)) for column, cell in given.items()}
                self._place(name, file, cells[0].position, values, {key: cell.position for key, cell in given.items()})
                for cell in cells[len(names) :]:
                    if cell.value:
                        what = "more cells than the header has names"
                        self.findings.append((str(file), Finding(cell.position, what, "put texts in quotes")))
        except Unreadable as error:
            self.findings += [(str(file), finding) for finding in error.findings]

    def _place(
        self, name: str, file: Path, position: Position, values: dict[str, Any], cells: Mapping[str, Position]
    ) -> None:
        row = f"{name}[{len(self.rows[name])}]"
        self.rows[name].append(values)
        self._places[row] = (str(file), position)
        self._places.update({f"{row}.{column}": (str(file), place) for column, place in cells.items()})


def _value(column: str, text: str) -> Any:
    return _parts(text) if column == "labels" else text


def _parts(text: str) -> list[str]:
    """Labels have no blanks, so whatever divides them does: a bar, a comma, a blank."""
    return [part for part in re.split(r"[|,;\s]+", text) if part]


def _text_of(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise Stop(f"{file} is larger than {MAX_FILE_BYTES // 2**20} MiB", code=INVALID)
        return data.decode("utf-8-sig")
    except OSError as error:
        raise Stop(f"{file}: {error.strerror}", code=USAGE) from error
    except UnicodeDecodeError as error:
        raise Stop(f"{file}: not UTF-8", hint="save the file as UTF-8", code=INVALID) from error
