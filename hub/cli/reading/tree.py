"""What a file says, with the line and column of each part: the common ground of the YAML, JSON and CSV readers.

Pure data; no parsing and no rule about batches in here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MAX_FILE_BYTES: Final = 4 * 1024 * 1024  # a thousand commands with long texts; a file above it is no batch
MAX_DEPTH: Final = 32  # the hub refuses deeper JSON (security.md, hostile JSON)
MAX_NODES: Final = 200_000  # counted after aliases are followed, so a few lines cannot unfold into gigabytes


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """Line and column of a character, both from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong with the file: where, what, and the way out where there is one."""

    position: Position
    what: str
    hint: str | None = None
    field: str | None = None


class Unreadable(Exception):
    """The text is no YAML, JSON or CSV from some point on, so nothing after that point can be judged."""

    def __init__(self, *findings: Finding) -> None:
        super().__init__("; ".join(finding.what for finding in findings))
        self.findings = findings


@dataclass(frozen=True, slots=True)
class Scalar:
    """`unquoted` is the text as written where the format read it as something else than a string."""

    value: str | int | float | bool | None
    position: Position
    unquoted: str | None = None


@dataclass(frozen=True, slots=True)
class Items:
    items: "Sequence[Node]"
    position: Position


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    position: Position
    value: "Node"


@dataclass(frozen=True, slots=True)
class Mapping:
    """Entries in the order written; a name may stand twice here, the reader of batches refuses that."""

    entries: Sequence[Entry]
    position: Position


Node = Scalar | Items | Mapping
