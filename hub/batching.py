"""Validation of a batch: every fault found together, the nearest valid names beside it. Nothing is stored in here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from pydantic import ValidationError

from hub.errors import Said, Wrong
from hub.wording import one_fault_each, place_of, worded
from protocol.commands import (
    COMMAND_TYPES,
    MAX_KEYS,
    MODELS,
    AnyCommand,
    Refresh,
    keys_touched,
)
from protocol.keys import is_temporary
from protocol.text import normalised_summary

MAX_COMMANDS: Final = 5_000  # a week of work at the default gaps; more is a mistake in somebody's script
MAX_FAULTS: Final = 200  # nobody reads further, and the answer has to stay small


@dataclass(frozen=True, slots=True)
class Accepted:
    """A batch that may be stored: its commands in order, the trailing refresh included."""

    commands: tuple[AnyCommand, ...]


@dataclass(frozen=True, slots=True)
class Rejected:
    faults: tuple[Wrong, ...]


def checked_batch(raw: Sequence[object], link_types: Sequence[str] = ()) -> Accepted | Rejected:
    """The commands of a batch, or everything wrong with them. `link_types` empty: any logical name will do."""
    if not raw:
        return Rejected((Wrong("commands", Said("the batch is empty", "пакет пуст")),))
    if len(raw) > MAX_COMMANDS:
        text = Said(f"more than {MAX_COMMANDS} commands", f"больше {MAX_COMMANDS} команд")
        return Rejected((Wrong("commands", text),))
    faults: list[tuple[int, Wrong]] = []
    commands: dict[int, AnyCommand] = {}
    for index, item in enumerate(raw):
        answer = _checked_command(index, item)
        if isinstance(answer, tuple):
            faults.extend((index, wrong) for wrong in answer)
        else:
            commands[index] = answer
    defined = _definitions(raw)
    faults.extend(_key_faults(raw, defined))
    faults.extend(_twice_defined(defined))
    faults.extend(_summary_faults(raw))
    faults.extend(_marker_faults(commands))
    faults.extend(_link_type_faults(commands, link_types))
    if faults:
        faults.sort(key=lambda pair: pair[0])
        return Rejected(tuple(wrong for _, wrong in faults[:MAX_FAULTS]))
    ordered = tuple(commands.values())
    return Accepted((*ordered, *trailing_refresh(ordered)))


def trailing_refresh(commands: Sequence[AnyCommand]) -> tuple[Refresh, ...]:
    """The reading that ends a batch: all its keys, temporary ones too; none after a batch of readings alone."""
    if all(command.type == "refresh" for command in commands):
        return ()
    keys = tuple(dict.fromkeys(key for command in commands for key in keys_touched(command)))
    return tuple(Refresh(keys=keys[start : start + MAX_KEYS]) for start in range(0, len(keys), MAX_KEYS))


def nearest(name: str, valid: Sequence[str]) -> Said | None:
    """A hint that names the valid names most like `name`, or all of them where they are few."""
    close = get_close_matches(name.lower(), valid, n=2, cutoff=0.5)
    if close:
        return Said(f"did you mean {' or '.join(close)}?", f"возможно, имелось в виду {' или '.join(close)}?")
    return Said(f"valid: {', '.join(valid)}", f"допустимы: {', '.join(valid)}") if 0 < len(valid) <= 20 else None


def _checked_command(index: int, item: object) -> AnyCommand | tuple[Wrong, ...]:
    place = f"commands[{index}]"
    if not isinstance(item, Mapping):
        return (Wrong(place, Said("is no object", "не объект")),)
    name = item.get("type")
    known = next((command_type for command_type in COMMAND_TYPES if command_type == name), None)
    if known is None:
        shown = name if isinstance(name, str) else ""
        detail = (
            Said(f"{shown!r} is no command type", f"нет типа команды {shown!r}")
            if shown
            else Said("the command names no type", "не указан тип команды")
        )
        return (Wrong(f"{place}.type", detail, nearest(shown, COMMAND_TYPES)),)
    model = MODELS[known]
    try:
        return model.model_validate(dict(item))
    except ValidationError as error:
        valid = [field for field in model.model_fields if field != "type"]
        return tuple(
            _wrong(place, where, found, valid) for where, found in one_fault_each(error.errors(include_url=False))
        )


def _wrong(place: str, where: Sequence[str | int], found: Mapping[str, Any], valid: Sequence[str]) -> Wrong:
    """One of pydantic's errors in our shape, at `where` within the command."""
    field = ".".join((place, place_of(where))) if where else place
    if found["type"] == "extra_forbidden" and len(where) == 1:
        detail = Said("is no parameter of this command", "у этой команды нет такого параметра")
        return Wrong(field, detail, nearest(str(where[0]), valid))
    return Wrong(field, *worded(found))


def _definitions(raw: Sequence[object]) -> dict[str, list[int]]:
    """Where each temporary key is defined, also by commands that are wrong otherwise: one mistake, one fault."""
    defined: dict[str, list[int]] = {}
    for index, item in enumerate(raw):
        if isinstance(item, Mapping) and item.get("type") == "ensure_issue" and isinstance(item.get("temp_key"), str):
            defined.setdefault(item["temp_key"], []).append(index)
    return defined


def _twice_defined(defined: Mapping[str, list[int]]) -> list[tuple[int, Wrong]]:
    return [
        (
            index,
            Wrong(
                f"commands[{index}].temp_key",
                Said(f"{key} is defined twice in the batch", f"{key} определён в пакете дважды"),
            ),
        )
        for key, indexes in defined.items()
        for index in indexes[1:]
    ]


def _key_faults(raw: Sequence[object], defined: Mapping[str, list[int]]) -> list[tuple[int, Wrong]]:
    """Temporary keys used before, or without, their definition; told of commands that are wrong otherwise too."""
    faults = []
    for index, item in enumerate(raw):
        for parameter, key in _temporary_keys(item):
            place = f"commands[{index}].{parameter}"
            if key not in defined:
                detail = Said(
                    f"{key} has no ensure_issue in this batch that defines it",
                    f"{key}: в пакете нет ensure_issue с этим ключом",
                )
                faults.append((index, Wrong(place, detail, nearest(key, list(defined)))))
            elif defined[key][0] >= index:
                detail = Said(f"{key} is used before it is defined", f"{key} используется раньше, чем определён")
                hint = Said("put its ensure_issue first", "поставьте его ensure_issue раньше")
                faults.append((index, Wrong(place, detail, hint)))
    return faults


def _temporary_keys(item: object) -> list[tuple[str, str]]:
    """The parameters of a raw command that hold temporary keys it uses, with those keys."""
    if not isinstance(item, Mapping):
        return []
    keys = item.get("keys") if item.get("type") == "refresh" else None
    found = [("keys", key) for key in keys] if isinstance(keys, list | tuple) else []
    # The target of a status is a name, and what an ensure_issue calls its temp_key is no use of it.
    names = ("key", "source", "target", "epic_key") if item.get("type") == "ensure_link" else ("key", "epic_key")
    found += [(name, item[name]) for name in names if name in item]
    return [
        (name, key)
        for name, key in dict.fromkeys(pair for pair in found if isinstance(pair[1], str))
        if is_temporary(key)
    ]


def _summary_faults(raw: Sequence[object]) -> list[tuple[int, Wrong]]:
    """Two issues with one summary: the agent could not tell them apart. Case is not folded (design decision 7)."""
    seen: dict[str, list[int]] = {}
    for index, item in enumerate(raw):
        if isinstance(item, Mapping) and item.get("type") == "ensure_issue" and isinstance(item.get("summary"), str):
            seen.setdefault(normalised_summary(item["summary"]), []).append(index)
    return [
        (
            index,
            Wrong(
                f"commands[{index}].summary",
                Said(f"two issues of the batch are called «{summary}»", f"в пакете две задачи с темой «{summary}»"),
            ),
        )
        for summary, indexes in seen.items()
        if summary
        for index in indexes[1:]
    ]


def _marker_faults(commands: Mapping[int, AnyCommand]) -> list[tuple[int, Wrong]]:
    faults = []
    seen: set[tuple[str, str]] = set()
    for index, command in commands.items():
        if command.type == "ensure_comment":
            pair = (command.key, command.marker)
            if pair in seen:
                detail = Said(
                    f"marker {command.marker} stands twice on {command.key} in the batch",
                    f"маркер {command.marker} встречается на {command.key} дважды",
                )
                faults.append((index, Wrong(f"commands[{index}].marker", detail)))
            seen.add(pair)
    return faults


def _link_type_faults(commands: Mapping[int, AnyCommand], link_types: Sequence[str]) -> list[tuple[int, Wrong]]:
    return [
        (
            index,
            Wrong(
                f"commands[{index}].link_type",
                Said(f"{command.link_type!r} is no link type", f"нет типа связи {command.link_type!r}"),
                nearest(command.link_type, link_types),
            ),
        )
        for index, command in commands.items()
        if link_types and command.type == "ensure_link" and command.link_type not in link_types
    ]


def definition_of(command: AnyCommand) -> str | None:
    """The temporary key a command defines, if it does."""
    return command.temp_key if command.type == "ensure_issue" else None
