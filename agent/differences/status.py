"""Walking a path of statuses, one transition at a time. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from agent.differences import CannotReach
from agent.writes import Transit, Write
from protocol.commands import EnsureStatus

NO_NAMES: Final[Mapping[str, str]] = MappingProxyType({})
NO_FIELDS: Final[Mapping[str, Collection[str]]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Status:
    id: str
    name: str

    def is_called(self, wanted: str, known: Mapping[str, str]) -> bool:
        """By id where `known` (ids by name) has one, else by exact name: names are in the reader's language."""
        return known[wanted] == self.id if wanted in known else wanted in (self.name, self.id)


@dataclass(frozen=True, slots=True)
class Transition:
    """`required` maps a screen field that must be filled to the values Jira allows, as text; `listed` are the fields
    of the screen that take one of a list."""

    id: str
    name: str
    to: Status
    required: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    screen: frozenset[str] = frozenset()
    listed: frozenset[str] = frozenset({"resolution"})


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
    listed = frozenset({"resolution"} | {name for name, about in fields.items() if about.get("allowedValues")})
    return Transition(str(found.get("id", "")), str(found.get("name", "")), status, required, frozenset(fields), listed)


def next_target(want: EnsureStatus, current: Status, known: Mapping[str, str]) -> str | None:
    """The status to go to from `current`; None at the end of the path.

    Somewhere on the path: go on from its last occurrence. Off the path: start at its beginning.
    """
    path = want.path
    if current.is_called(path[-1], known):
        return None
    places = [index for index, name in enumerate(path) if current.is_called(name, known)]
    return path[places[-1] + 1] if places else path[0]


def status_difference(
    want: EnsureStatus,
    key: str,
    current: Status,
    available: Sequence[Transition],
    defaults: Mapping[str, Any],
    *,
    known: Mapping[str, str] = NO_NAMES,
    demanded: Mapping[str, Collection[str]] = NO_FIELDS,
) -> tuple[Write, ...]:
    """The next step of the path; none at its end. Raises `CannotReach`.

    `defaults` fill fields of the screen, and those a validator `demanded` (by transition) though no screen lists them.
    """
    target = next_target(want, current, known)
    if target is None:
        return ()
    # By where it leads, never by its own name: a transition «To Do» may lead to «Backlog».
    leading = sorted(
        (one for one in available if one.to.is_called(target, known)),
        key=lambda one: (one.id != want.transition_id, bool(one.required), _number(one.id)),
    )
    if not leading:
        there = ", ".join(f"«{one.to.name}» ({one.name})" for one in available) or "ни одного"
        like = [one.to.name for one in available if one.to.name.casefold() == target.casefold()]
        hint = f"; «{like[0]}» отличается регистром букв" if like else ""
        raise CannotReach(f"из «{current.name}» нет перехода в «{target}»; доступные: {there}{hint}")
    chosen = leading[0]
    missing = {name: values for name, values in chosen.required.items() if name not in defaults}
    if missing:
        needs = "; ".join(f"{name} (допустимо: {', '.join(values) or '?'})" for name, values in missing.items())
        raise CannotReach(f"переход «{chosen.name}» требует поля {needs}; задайте transition_defaults")
    asked = {*chosen.screen, *demanded.get(chosen.id, ())}
    filled = {
        # «Готово» is short for {"name": "Готово"} where the field takes one of a list.
        name: {"name": value} if isinstance(value, str) and name in chosen.listed else value
        for name, value in defaults.items()
        if name in asked
    }
    return (Transit(key, chosen.id, chosen.to.name, filled),)


def _number(text: str) -> tuple[int, str]:
    return (int(text), "") if text.isascii() and text.isdigit() else (2**31, text)
