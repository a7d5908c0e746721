"""A batch file as the hub takes it, and the way back from what the hub refuses to the line it stands on.

Only the form of the file is judged here: names at the top, one mapping per command. Commands are the hub's to judge.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import PurePath
from typing import Any, Final, Literal

from hub.batching import Rejected, checked_batch
from hub.cli.reading import tree
from hub.cli.reading.csv_tree import csv_tree
from hub.cli.reading.json_tree import json_tree
from hub.cli.reading.shapes import parameter_kinds
from hub.cli.reading.tree import Finding, Position, Unreadable
from hub.cli.reading.yaml_tree import yaml_tree
from protocol.errors import Fault

Form = Literal["yaml", "json", "csv"]
FORMS: Final[Mapping[str, Form]] = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".csv": "csv"}
_TOP: Final = ("title", "author", "commands")
_START: Final = Position(1, 1)
_PARAMETER: Final = re.compile(r"commands\[(?P<index>\d+)\]\.(?P<name>\w+)(?:\[(?P<item>\d+)\])?")
_KINDS: Final = {bool: "yes or no", int: "a number", float: "a number"}


@dataclass(frozen=True, slots=True)
class BatchFile:
    """`positions` and `unquoted` are by field as the hub names it: `commands[3].summary`."""

    title: str | None
    author: str | None
    commands: tuple[Mapping[str, Any], ...]
    positions: Mapping[str, Position]
    unquoted: Mapping[str, str]
    findings: tuple[Finding, ...] = ()

    def located(self, faults: Iterable[Fault]) -> tuple[Finding, ...]:
        """What the hub refused, each at its place in the file, in the order of the lines, nothing twice."""
        found = dict.fromkeys(finding for fault in faults for finding in self._findings_of(fault))
        return tuple(sorted(found, key=lambda finding: finding.position))

    def _findings_of(self, fault: Fault) -> Iterator[Finding]:
        """The fault at its field, or at the nearest thing around it where the field itself is not written."""
        near = next((name for name in _outwards(fault.field or "") if name in self.positions), "")
        position = self.positions.get(near, _START)
        around = [name for name in self.unquoted if name == near or name.startswith(f"{near}[")]
        bare = [
            name for name in around if _PARAMETER.fullmatch(name)
        ]  # a list within a list is no text for want of quotes
        if near and bare and self._takes_text(near) and (near in bare or fault.detail == "must be a text"):
            for name in bare:
                text = self.unquoted[name]
                what = f"{text} is read as {_KINDS[type(self._value(name))]}, a text is needed"
                yield Finding(self.positions[name], what, f'put it in quotes: "{text}"', name)
        else:
            name = (fault.field or "").rpartition(".")[2]
            what = fault.detail if not name or name.startswith("commands[") else f"{name}: {fault.detail}"
            yield Finding(position, what, fault.hint, fault.field)

    def _value(self, field: str) -> Any:
        """What stands at a parameter of a command, or at an item of it."""
        parts = _PARAMETER.fullmatch(field)
        assert parts is not None  # the caller has seen to it
        value = self.commands[int(parts["index"])][parts["name"]]
        return value if parts["item"] is None else value[int(parts["item"])]

    def _takes_text(self, field: str) -> bool:
        parts = _PARAMETER.fullmatch(field)
        if parts is None:
            return False
        command_type = self.commands[int(parts["index"])].get("type")
        kinds = parameter_kinds(command_type) if isinstance(command_type, str) else {}
        return bool(kinds.get(parts["name"], frozenset()) & {"string", "array"})


def form_of(name: str) -> Form | None:
    """The form that the ending of a file's name promises."""
    return FORMS.get(PurePath(name).suffix.lower())


def read_batch_file(data: bytes, form: Form) -> BatchFile:
    """The batch in `data`; all that is wrong with its form is in `findings`, and then nothing may be sent."""
    try:
        if len(data) > tree.MAX_FILE_BYTES:
            raise Unreadable(Finding(_START, f"larger than {tree.MAX_FILE_BYTES // 2**20} MiB", "split the batch"))
        root, refused = _PARSERS[form](_decoded(data))
    except Unreadable as error:
        return BatchFile(None, None, (), {}, {}, error.findings)
    reader = _Reader(list(refused))
    return reader.batch(root)


def everything_wrong(batch_file: BatchFile) -> tuple[Finding, ...]:
    """What is wrong with the form of a file, and what the hub's own rule would say of the commands in it besides.

    A file of bad form is not sent, yet its faults come all together; link types only the hub itself knows.
    """
    answer = checked_batch(batch_file.commands) if batch_file.commands else None
    faults = [wrong.fault("en") for wrong in answer.faults] if isinstance(answer, Rejected) else []
    lines = {finding.position.line for finding in batch_file.findings}
    fields = {finding.field for finding in batch_file.findings}
    # What follows from a bad form, such as a command that is none and so has no type, is not said again.
    further = [
        finding
        for finding in batch_file.located(faults)
        if finding.position.line not in lines and fields.isdisjoint(_outwards(finding.field or ""))
    ]
    return tuple(sorted((*batch_file.findings, *further), key=lambda finding: finding.position))


def _decoded(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        place = Position(before.count(b"\n") + 1, len(before) - before.rfind(b"\n"))
        raise Unreadable(Finding(place, "not UTF-8", "save the file as UTF-8")) from error
    if "\0" in text:
        place = Position(text[: text.index("\0")].count("\n") + 1, 1)
        raise Unreadable(Finding(place, "holds a NUL character", "save the file as plain UTF-8 text"))
    return text


def _json(text: str) -> tuple[tree.Node | None, tuple[Finding, ...]]:
    return (json_tree(text), ()) if text.strip() else (None, ())


_PARSERS: Final[Mapping[Form, Callable[[str], tuple[tree.Node | None, tuple[Finding, ...]]]]] = {
    "yaml": yaml_tree,
    "json": _json,
    "csv": csv_tree,
}


def _outwards(field: str) -> Iterable[str]:
    """`commands[3].labels[1]`, `commands[3].labels`, `commands[3]`, `commands`: from the field to what holds it."""
    while field:
        yield field
        field = field[: max(field.rfind("."), field.rfind("["), 0)]


class _Reader:
    """One pass over the tree: plain values out, positions and findings noted on the way."""

    def __init__(self, findings: list[Finding]) -> None:
        self._findings = findings
        self._positions: dict[str, Position] = {}
        self._unquoted: dict[str, str] = {}

    def batch(self, root: tree.Node | None) -> BatchFile:
        top: dict[str, tree.Node] = {}
        match root:
            case tree.Mapping():
                top = self._top(root)
            case tree.Items():
                top = {"commands": root}
                self._positions["commands"] = root.position
            case None:
                self._refuse(_START, "the file is empty", "write commands: and a list of commands")
            case tree.Scalar(position=position):
                self._refuse(position, "a batch is a mapping or a list of commands", "write commands: and a list")
        commands = self._commands(top.get("commands"))
        envelope = {name: self._text(top[name], name) for name in ("title", "author") if name in top}
        nothing = isinstance(root, tree.Mapping) and not root.entries
        if root is not None and (top or nothing) and "commands" not in top:
            self._refuse(root.position, "the file has no commands", "write commands: and a list of commands")
        findings = tuple(sorted(self._findings, key=lambda finding: finding.position))
        return BatchFile(
            envelope.get("title"), envelope.get("author"), commands, self._positions, self._unquoted, findings
        )

    def _refuse(self, position: Position, what: str, hint: str | None = None, field: str | None = None) -> None:
        self._findings.append(Finding(position, what, hint, field))

    def _top(self, root: tree.Mapping) -> dict[str, tree.Node]:
        found: dict[str, tree.Node] = {}
        for entry in self._single(root, ""):
            if entry.name in _TOP:
                found[entry.name] = entry.value
                self._positions[entry.name] = entry.position
            else:
                near = get_close_matches(entry.name, _TOP, n=1)
                hint = f"did you mean {near[0]}?" if near else f"a batch has {', '.join(_TOP)}"
                self._refuse(entry.position, f"unknown name {entry.name}", hint, entry.name)
        return found

    def _text(self, node: tree.Node, field: str) -> str | None:
        """Title or author: said here and not by the hub, which would refuse it before it looks at any command."""
        match node:
            case tree.Scalar(value=str() | None as value):
                return value
            case tree.Scalar(position=position, unquoted=unquoted):
                self._refuse(position, f"{field} must be a text", f'put it in quotes: "{unquoted}"', field)
            case tree.Items(position=position) | tree.Mapping(position=position):
                self._refuse(position, f"{field} must be a text", field=field)
        return None

    def _commands(self, node: tree.Node | None) -> tuple[Mapping[str, Any], ...]:
        match node:
            case tree.Items(items=items) if items:
                commands = [self._command(item, f"commands[{index}]") for index, item in enumerate(items)]
                return tuple(commands)
            case tree.Items(position=position):
                self._refuse(position, "the list of commands is empty", "write at least one command", "commands")
            case tree.Mapping(position=position) | tree.Scalar(position=position):
                self._refuse(position, "commands must be a list", "begin each command with -", "commands")
            case None:
                pass
        return ()

    def _command(self, node: tree.Node, field: str) -> Mapping[str, Any]:
        """A flat command; `- ensure_fields: {…}` is short for one with `type: ensure_fields`."""
        self._positions[field] = node.position
        if not isinstance(node, tree.Mapping):
            self._refuse(node.position, "a command is a mapping", "write type: and its parameters", field)
            return {}
        names = [entry.name for entry in node.entries]
        if len(names) == 1 and names != ["type"] and isinstance(node.entries[0].value, tree.Mapping):
            head, body = node.entries[0], node.entries[0].value
            if any(entry.name == "type" for entry in body.entries):
                hint = f"take out {head.name}: or type:"
                self._refuse(head.position, "the type of the command stands twice", hint, field)
            self._positions[f"{field}.type"] = head.position
            return {"type": head.name, **self._object(body, field)}
        return self._object(node, field)

    def _object(self, node: tree.Mapping, field: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for entry in self._single(node, field):
            inner = f"{field}.{entry.name}"
            self._positions[inner] = entry.position
            found[entry.name] = self._plain(entry.value, inner)
        return found

    def _single(self, node: tree.Mapping, field: str) -> list[tree.Entry]:
        """The entries, each name once; a second one is refused with the lines of both."""
        first: dict[str, tree.Entry] = {}
        for entry in node.entries:
            if entry.name in first:
                line = first[entry.name].position.line
                hint = "keep one of both"
                self._refuse(
                    entry.position,
                    f"{entry.name} stands here and in line {line}",
                    hint,
                    f"{field}.{entry.name}".strip("."),
                )
            else:
                first[entry.name] = entry
        return list(first.values())

    def _plain(self, node: tree.Node, field: str) -> Any:
        match node:
            case tree.Mapping():
                return self._object(node, field)
            case tree.Items(items=items):
                return [self._item(item, f"{field}[{index}]") for index, item in enumerate(items)]
            case tree.Scalar(value=value, unquoted=unquoted):
                if unquoted is not None:
                    self._unquoted[field] = unquoted
                return value

    def _item(self, node: tree.Node, field: str) -> Any:
        self._positions[field] = node.position
        return self._plain(node, field)
