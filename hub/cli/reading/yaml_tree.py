"""YAML into the positioned tree, through PyYAML's composer: nothing is constructed, so no tag can run code.

Two departures from YAML 1.1 serve people who write batches: dates stay the text they are, and so does `12:30`.
"""

import math
import re
from typing import Final

import yaml

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

# libyaml where the wheel has it: ten times faster on a long batch, same marks. It bounds nesting by itself.
_LOADER: Final = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_CORE: Final = "tag:yaml.org,2002:"
_TRUE: Final = frozenset({"yes", "true", "on"})
_DECIMAL: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FRACTION: Final = re.compile(r"[-+]?[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?")


def yaml_tree(text: str) -> tuple[Node | None, tuple[Finding, ...]]:
    """The document and what was refused in it; `None` for an empty one. Raises `Unreadable` on a syntax error."""
    try:
        root = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        raise Unreadable(_syntax_finding(error)) from error
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        place = Position(before.count("\n") + 1, len(before) - before.rfind("\n"))
        raise Unreadable(Finding(place, "a character that YAML does not allow", "remove it")) from error
    except RecursionError as error:  # the pure parser composes by recursion
        raise Unreadable(_too_deep(Position(1, 1))) from error
    if root is None:
        return None, ()
    walk = _Walk()
    return walk.node(root, depth=0), tuple(walk.findings)


def _syntax_finding(error: yaml.MarkedYAMLError) -> Finding:
    mark = error.problem_mark or error.context_mark
    what = ", ".join(part for part in (error.problem, error.context) if part) or "not YAML"
    hint = None
    if "tab character" in what:
        hint = "indent with blanks"
    if "cannot start any token" in what or "mapping values are not allowed" in what:
        hint = "put a text with ': ' or a leading @ or ` in quotes, and indent with blanks"
    if "expected a single document" in what:
        hint = "one file holds one batch: remove what follows ---"
    return Finding(_position(mark) if mark else Position(1, 1), what, hint)


def _position(mark: yaml.error.Mark) -> Position:
    return Position(mark.line + 1, mark.column + 1)


def _too_deep(position: Position) -> Finding:
    return Finding(position, f"nested more than {MAX_DEPTH} deep", "write it flat")


class _Walk:
    """One pass over the composed nodes; an alias is followed each time it is met, and counted each time."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self._nodes = 0

    def node(self, source: yaml.Node, depth: int) -> Node:
        self._nodes += 1
        position = _position(source.start_mark)
        if depth > MAX_DEPTH:
            raise Unreadable(_too_deep(position))
        if self._nodes > MAX_NODES:
            raise Unreadable(Finding(position, f"more than {MAX_NODES} values, aliases followed", "split the batch"))
        if isinstance(source, yaml.MappingNode) and source.tag == f"{_CORE}map":
            return Mapping(self._entries(source, depth), position)
        if isinstance(source, yaml.SequenceNode) and source.tag == f"{_CORE}seq":
            return Items([self.node(item, depth + 1) for item in source.value], position)
        if isinstance(source, yaml.ScalarNode):
            return self._scalar(source, position)
        self._refuse_tag(source, position)
        return Scalar(None, position)

    def _entries(self, source: yaml.MappingNode, depth: int) -> list[Entry]:
        own: list[Entry] = []
        merged: list[Entry] = []
        for name, value in source.value:
            position = _position(name.start_mark)
            if not isinstance(name, yaml.ScalarNode):
                self.findings.append(Finding(position, "a name must be a plain text", "write name: value"))
            elif name.tag == f"{_CORE}merge":
                merged += self._merged(value, depth)
            else:
                own.append(Entry(name.value, position, self.node(value, depth + 1)))
        names = {entry.name for entry in own}
        inherited = {entry.name: entry for entry in reversed(merged) if entry.name not in names}
        return [*own, *inherited.values()]

    def _merged(self, source: yaml.Node, depth: int) -> list[Entry]:
        parts = source.value if isinstance(source, yaml.SequenceNode) else [source]
        found: list[Entry] = []
        for part in parts:
            node = self.node(part, depth + 1)
            if isinstance(node, Mapping):
                found += node.entries
            else:
                self.findings.append(Finding(_position(part.start_mark), "<< takes a mapping", "name one with *anchor"))
        return found

    def _scalar(self, source: yaml.ScalarNode, position: Position) -> Scalar:
        text: str = source.value
        match source.tag.removeprefix(_CORE):
            case "str" | "timestamp" | "value" | "merge":
                return Scalar(text, position)
            case "null":
                return Scalar(None, position)
            case "bool":
                return Scalar(text.lower() in _TRUE, position, unquoted=text)
            case "int" if _DECIMAL.fullmatch(text):
                return Scalar(int(text), position, unquoted=text)
            case "float" if _FRACTION.fullmatch(text) and math.isfinite(float(text)):
                return Scalar(float(text), position, unquoted=text)
            case "int" | "float":  # 12:30, 0x1F, 1_000, .inf: only YAML 1.1 sees numbers there
                return Scalar(text, position)
            case _:
                self._refuse_tag(source, position)
                return Scalar(None, position)

    def _refuse_tag(self, source: yaml.Node, position: Position) -> None:
        tag = source.tag.replace(_CORE, "!!")
        self.findings.append(Finding(position, f"the tag {tag} is not allowed", "remove it"))
