"""Walking a path of statuses, one transition at a time. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.differences import CannotReach
from agent.writes import Transit, Write
from protocol.commands import EnsureStatus


@dataclass(frozen=True, slots=True)
class Status:
    id: str
    name: str

    def is_called(self, wanted: str) -> bool:
        """By exact name, or by id: names are in the language of the reader's profile."""
        return wanted in (self.name, self.id)


@dataclass(frozen=True, slots=True)
class Transition:
    """`required` maps a screen field that must be filled to the values Jira allows, as text."""

    id: str
    name: str
    to: Status
    required: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    screen: frozenset[str] = frozenset()


def transition_from(found: Mapping[str, Any]) -> Transition:
    to: Mapping[str, Any] = found.get("to") or {}
    fields: Mapping[str, Mapping[str, Any]] = found.get("fields") or {}
    required = {
        name: tuple(
            str(one.get("name") or one.get("value") or one.get("id")) for one in about.get("allowedValues") or ()
        )
        for name, about in fields.items()
        if about.get("required") and not about.get("hasDefaultValue")
    }
    status = Status(str(to.get("id", "")), str(to.get("name", "")))
    return Transition(str(found.get("id", "")), str(found.get("name", "")), status, required, frozenset(fields))


def next_target(want: EnsureStatus, current: Status) -> str | None:
    """The status to go to from `current`; None at the end of the path.

    Somewhere on the path: go on from its last occurrence. Off the path: start at its beginning.
    """
    path = want.path
    if current.is_called(path[-1]):
        return None
    places = [index for index, name in enumerate(path) if current.is_called(name)]
    return path[places[-1] + 1] if places else path[0]


def status_difference(
    want: EnsureStatus, key: str, current: Status, available: Sequence[Transition], defaults: Mapping[str, Any]
) -> tuple[Write, ...]:
    """The next step of the path; none at its end. `defaults` fill screen fields. Raises `CannotReach`."""
    target = next_target(want, current)
    if target is None:
        return ()
    # By where it leads, never by its own name: a transition «To Do» may lead to «Backlog».
    leading = sorted(
        (one for one in available if one.to.is_called(target)), key=lambda one: (bool(one.required), _number(one.id))
    )
    if not leading:
        there = ", ".join(f"«{one.to.name}» ({one.name})" for one in available) or "ни одного"
        raise CannotReach(f"из «{current.name}» нет перехода в «{target}»; доступные: {there}")
    chosen = leading[0]
    missing = {name: values for name, values in chosen.required.items() if name not in defaults}
    if missing:
        needs = "; ".join(f"{name} (допустимо: {', '.join(values) or '?'})" for name, values in missing.items())
        raise CannotReach(f"переход «{chosen.name}» требует поля {needs}; задайте transition_defaults")
    filled = {name: value for name, value in defaults.items() if name in chosen.screen}
    return (Transit(key, chosen.id, chosen.to.name, filled),)


def _number(text: str) -> tuple[int, str]:
    return (int(text), "") if text.isascii() and text.isdigit() else (2**31, text)
