"""Sprints: reading the field in both of its shapes, choosing one of the board's, and the move. Pure."""

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agent.differences import CannotReach
from agent.writes import MoveToSprint, Write
from protocol.commands import BACKLOG, EnsureSprint, SprintId

# Names hold commas and brackets, so only a comma before one of these ends a value.
_KEYS: Final = (
    "id|rapidViewId|state|name|goal|startDate|endDate|completeDate|activatedDate|sequence|autoStartStop|synced"
)
_OPEN: Final = ("active", "future")


@dataclass(frozen=True, slots=True)
class Sprint:
    """`state` is lower case: active, future or closed."""

    id: int
    name: str
    state: str

    @property
    def is_open(self) -> bool:
        return self.state in _OPEN


def sprint_from_text(text: str) -> Sprint | None:
    """A sprint of the old shape: `com…Sprint@1a2b[id=7,state=ACTIVE,name=Спринт, [2],goal=<null>]`."""
    _, bracket, content = text.partition("[")
    if not bracket:
        return None
    parts = re.split(rf",(?=(?:{_KEYS})=)", content.removesuffix("]"))
    pairs = dict(part.split("=", 1) for part in parts if "=" in part)
    values = {name: value for name, value in pairs.items() if value != "<null>"}
    if not re.fullmatch(r"\d{1,15}", values.get("id", "")):
        return None
    return Sprint(int(values["id"]), values.get("name", ""), values.get("state", "").lower())


def sprint_from_object(found: dict[str, Any]) -> Sprint | None:
    """A sprint of the newer shape, and of the Agile API."""
    number = found.get("id")
    if isinstance(number, bool) or not isinstance(number, int):
        return None
    return Sprint(number, str(found.get("name", "")), str(found.get("state", "")).lower())


def sprints_of(field: Any) -> tuple[Sprint, ...]:
    """The active and future sprints of an issue's sprint field; the closed ones are history."""
    entries: Iterable[Any] = field if isinstance(field, list) else () if field is None else (field,)
    read = (
        sprint_from_text(entry) if isinstance(entry, str) else sprint_from_object(entry)
        for entry in entries
        if isinstance(entry, str | dict)
    )
    return tuple({sprint.id: sprint for sprint in read if sprint is not None and sprint.is_open}.values())


def is_there(want: EnsureSprint, current: Sequence[Sprint]) -> bool:
    """Whether the issue is already where it should be, and nowhere else."""
    if want.sprint == BACKLOG:
        return not current
    if isinstance(want.sprint, SprintId):
        return [sprint.id for sprint in current] == [want.sprint.id]
    return [sprint.name.strip() for sprint in current] == [want.sprint.strip()]


def chosen(want: EnsureSprint, board: Sequence[Sprint]) -> int | None:
    """The id of the wanted sprint among those of the board; None is the backlog. Raises `CannotReach`."""
    if want.sprint == BACKLOG:
        return None
    candidates = {sprint.id: sprint for sprint in board if sprint.is_open}
    if isinstance(want.sprint, SprintId):
        if want.sprint.id in candidates:
            return want.sprint.id
        raise CannotReach(f"нет активного или будущего спринта с id {want.sprint.id}; есть: {_listed(candidates)}")
    name = want.sprint.strip()
    same = {number: sprint for number, sprint in candidates.items() if sprint.name.strip() == name}
    if len(same) > 1:
        raise CannotReach(f"спринтов «{name}» несколько: {_listed(same)}; укажите id")
    if not same:
        near = difflib.get_close_matches(name, [sprint.name for sprint in candidates.values()], n=3, cutoff=0.0)
        names = ", ".join(f"«{found}»" for found in near) or "на доске нет активных и будущих спринтов"
        raise CannotReach(f"нет спринта «{name}»; ближайшие: {names}")
    return next(iter(same))


def sprint_difference(
    want: EnsureSprint, key: str, current: Sequence[Sprint], board: Sequence[Sprint]
) -> tuple[Write, ...]:
    """The move that brings issue `key` into the wanted sprint; none if it is there."""
    if is_there(want, current):
        return ()
    return (MoveToSprint(key, chosen(want, board)),)


def _listed(sprints: dict[int, Sprint]) -> str:
    return ", ".join(f"«{one.name}» (id {one.id}, {one.state})" for one in sprints.values()) or "ни одного"
