"""JSON into the positioned tree: the standard library keeps no positions and takes NaN and doubled names."""

import json
import math
import re
from typing import Final, NoReturn

from hub.cli.reading.tree import (
    MAX_DEPTH,
    MAX_NODES,
    Entry,
    Finding,
    Items,
    Mapping,
    Node,
    Position,
    Scalar,
    Unreadable,
)

_TOKEN: Final = re.compile(
    r"""[ \t\r\n]*(?:
      (?P<text>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")
    | (?P<number>-?(?:0|[1-9][0-9]{0,300})(?P<fraction>(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?))
    | (?P<word>true|false|null)
    | (?P<mark>[][{}:,])
    | (?P<end>\Z))""",
    re.VERBOSE,
)
_WORDS: Final = {"true": True, "false": False, "null": None}


def json_tree(text: str) -> Node:
    """The document. Raises `Unreadable` at the first character that is not JSON."""
    reader = _Reader(text)
    root = reader.value(depth=0)
    reader.expect_end()
    return root


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [-1, *(match.start() for match in re.finditer("\n", text))]
        self._line = 0
        self._at = 0
        self._nodes = 0
        self._start = 0
        self._kind = ""
        self._token = ""
        self._next()

    def _next(self) -> None:
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            self._start = len(self._text) - len(self._text[self._at :].lstrip(" \t\r\n"))
            self._fail("not JSON from here on")
        self._kind = match.lastgroup or ""
        if match["number"] is not None:
            self._kind = "fraction" if match["fraction"] else "number"
        self._token = match[0].lstrip(" \t\r\n")
        self._start = match.end() - len(self._token)
        self._at = match.end()

    def _position(self) -> Position:
        while self._line + 1 < len(self._lines) and self._lines[self._line + 1] < self._start:
            self._line += 1
        return Position(self._line + 1, self._start - self._lines[self._line])

    def _fail(self, what: str, hint: str | None = None) -> NoReturn:
        raise Unreadable(Finding(self._position(), what, hint))

    def _take(self, wanted: str) -> None:
        if self._kind != "mark" or self._token != wanted:
            self._fail(f"expected {wanted}", f"found {self._token}" if self._token else "the file ends too early")
        self._next()

    def _met(self, mark: str) -> bool:
        return self._kind == "mark" and self._token == mark

    def expect_end(self) -> None:
        if self._kind != "end":
            self._fail("the document ended before this", "one file holds one batch")

    def value(self, depth: int) -> Node:
        self._nodes += 1
        if depth > MAX_DEPTH:
            self._fail(f"nested more than {MAX_DEPTH} deep", "write it flat")
        if self._nodes > MAX_NODES:
            self._fail(f"more than {MAX_NODES} values", "split the batch")
        position = self._position()
        if self._met("{"):
            return Mapping(self._entries(depth), position)
        if self._met("["):
            return Items(self._items(depth), position)
        return self._scalar(position)

    def _scalar(self, position: Position) -> Scalar:
        token, kind = self._token, self._kind
        if kind in ("mark", "end"):
            self._fail("expected a value", f"found {token}" if token else "the file ends too early")
        self._next()
        if kind == "text":
            return Scalar(json.loads(token), position)
        if kind == "word":
            return Scalar(_WORDS[token], position, unquoted=None if token == "null" else token)
        number = float(token) if kind == "fraction" else int(token)
        if not math.isfinite(number):
            raise Unreadable(Finding(position, f"{token} is beyond every number", "put it in quotes"))
        return Scalar(number, position, unquoted=token)

    def _items(self, depth: int) -> list[Node]:
        self._take("[")
        items: list[Node] = []
        while not self._met("]"):
            if items:
                self._take(",")
            items.append(self.value(depth + 1))
        self._take("]")
        return items

    def _entries(self, depth: int) -> list[Entry]:
        self._take("{")
        entries: list[Entry] = []
        while not self._met("}"):
            if entries:
                self._take(",")
            if self._kind != "text":
                self._fail("expected a name in double quotes", f"found {self._token}")
            name, position = json.loads(self._token), self._position()
            self._next()
            self._take(":")
            entries.append(Entry(name, position, self.value(depth + 1)))
        self._take("}")
        return entries
