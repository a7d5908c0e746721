"""What a validator found wrong, in words for people and in both languages, with the way out. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from hub.errors import Said, said_of
from protocol.keys import ANY_KEY_PATTERN, ISSUE_KEY_PATTERN, TEMPORARY_KEY_PATTERN

Worded = tuple[Said, Said | None]


def worded(found: Mapping[str, Any]) -> Worded:
    """Detail and hint of one of pydantic's errors."""
    context: Mapping[str, Any] = found.get("ctx") or {}
    given = found.get("input")
    match found["type"]:
        case "string_pattern_mismatch":
            pattern = _PATTERNS.get(str(context.get("pattern")))
            return pattern(str(given)) if pattern else (said_of(found), None)
        case "literal_error":
            return _choice(given, str(context.get("expected", "")))
        case "string_too_short" | "too_short":
            least = context.get("min_length", 1)
            if least == 1:
                return Said("is empty", "пусто"), None
            return Said(f"is shorter than {least}", f"короче {least}"), None
        case "string_too_long" | "too_long":
            most = context.get("max_length")
            return Said(f"is longer than {most}", f"длиннее {most}"), None
        case kind if kind in _KINDS:
            return _KINDS[kind], None
        case _:
            return said_of(found), None


def one_fault_each(errors: Sequence[Mapping[str, Any]]) -> list[tuple[tuple[str | int, ...], Mapping[str, Any]]]:
    """The errors with their places; a value that may be of several forms is told of once, by the form it comes nearest.

    Pydantic tries every form of a union and names each in the place: `target: []` is no text, and it is too short a
    list. The first is noise to somebody who wrote a list.
    """
    errors = [found for found in errors if not _only_without_its_items(found, errors)]
    by_parameter: dict[str | int | None, list[Mapping[str, Any]]] = {}
    for found in errors:
        by_parameter.setdefault(next(iter(found["loc"]), None), []).append(found)
    told = []
    for found_here in by_parameter.values():
        if any(_form_of(found) for found in found_here):
            told += _nearest_form(found_here)
        else:
            told += [(tuple(found["loc"]), found) for found in found_here]
    return told


def _only_without_its_items(found: Mapping[str, Any], errors: Sequence[Mapping[str, Any]]) -> bool:
    """A list is too short for pydantic when each of its items is wrong; those faults say all there is to say."""
    place = found["loc"]
    return found["type"] == "too_short" and any(
        len(other["loc"]) > len(place) and other["loc"][: len(place)] == place for other in errors
    )


def place_of(parameter: Sequence[str | int]) -> str:
    """`labels[1]`, `sprint.id`: a place within a command, as people and batch files write it."""
    text = ""
    for part in parameter:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _form_of(found: Mapping[str, Any]) -> str | None:
    """The branch of a union in the place: pydantic calls it by a type, which is no name of anything in a command."""
    loc = found["loc"]
    form = loc[1] if len(loc) > 1 else None
    return form if isinstance(form, str) and (not form.islower() or "[" in form or "(" in form) else None


def _nearest_form(found_here: list[Mapping[str, Any]]) -> list[tuple[tuple[str | int, ...], Mapping[str, Any]]]:
    fitting = [found for found in found_here if not (len(found["loc"]) == 2 and found["type"] in _WRONG_FORM)]
    if not fitting:
        first = found_here[0]
        several = {**first, "type": "wrong_form"}
        return [((first["loc"][0],), several)]
    form = _form_of(fitting[0])
    same = [found for found in fitting if _form_of(found) == form]
    return [((found["loc"][0], *found["loc"][2:]), found) for found in same]


def _choice(given: object, expected: str) -> Worded:
    names = re.findall(r"'([^']*)'", expected)
    close = get_close_matches(str(given).lower(), names, n=1, cutoff=0.5)
    detail = Said(f"{given!r} is none of {', '.join(names)}", f"{given!r} не из {', '.join(names)}")
    hint = Said(f"did you mean {close[0]}?", f"возможно, имелось в виду {close[0]}?") if close else None
    return detail, hint


def _no_key(given: str) -> Worded:
    form = Said("write it as AURORA-1533", "пишите как AURORA-1533")
    return _key_fault(given, form)


def _no_key_at_all(given: str) -> Worded:
    form = Said(
        "write it as AURORA-1533, or as new:1 for an issue this batch creates",
        "пишите как AURORA-1533 или new:1 для задачи, которую создаёт этот пакет",
    )
    return _key_fault(given, form)


def _key_fault(given: str, form: Said) -> Worded:
    detail = Said(f"{given!r} is no issue key", f"{given!r} не ключ задачи")
    better = given.strip().upper()
    if better != given and re.fullmatch(ISSUE_KEY_PATTERN, better):
        return detail, Said(f"did you mean {better}?", f"возможно, имелось в виду {better}?")
    return detail, form


def _no_temporary_key(given: str) -> Worded:
    detail = Said(f"{given!r} is no temporary key", f"{given!r} не временный ключ")
    return detail, Said("write new: and a number, such as new:1", "пишите new: и число, например new:1")


def _no_day(given: str) -> Worded:
    detail = Said(f"{given!r} is no date", f"{given!r} не дата")
    parts = re.fullmatch(r"(\d{1,2})[./](\d{1,2})[./](\d{4})", given.strip())
    if parts:
        day = f"{parts[3]}-{int(parts[2]):02}-{int(parts[1]):02}"
        return detail, Said(f"write year, month, day: {day}", f"пишите год, месяц, день: {day}")
    return detail, Said("write year, month, day: 2026-10-23", "пишите год, месяц, день: 2026-10-23")


def _no_marker(given: str) -> Worded:
    detail = Said(f"{given!r} is no marker", f"{given!r} не маркер")
    return detail, Said(
        "3 to 64 Latin letters, digits and : # . _ -, no blanks",
        "от 3 до 64 латинских букв, цифр и : # . _ -, без пробелов",
    )


_PATTERNS: Final[Mapping[str, Callable[[str], Worded]]] = {
    ANY_KEY_PATTERN: _no_key_at_all,
    ISSUE_KEY_PATTERN: _no_key,
    TEMPORARY_KEY_PATTERN: _no_temporary_key,
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$": _no_day,
    r"^[A-Za-z0-9:#._-]{3,64}$": _no_marker,
}
_WRONG_FORM: Final = frozenset({"string_type", "tuple_type", "list_type", "model_type", "dict_type"})
_KINDS: Final[Mapping[str, Said]] = {
    "string_type": Said("must be a text", "нужен текст"),
    "int_type": Said("must be a whole number", "нужно целое число"),
    "int_parsing": Said("must be a whole number", "нужно целое число"),
    "bool_type": Said("must be true or false", "нужно true или false"),
    "bool_parsing": Said("must be true or false", "нужно true или false"),
    "tuple_type": Said("must be a list", "нужен список"),
    "list_type": Said("must be a list", "нужен список"),
    "dict_type": Said("must be a mapping", "нужен объект"),
    "model_type": Said("must be a mapping", "нужен объект"),
    "wrong_form": Said("is of no form this may have", "такого вида быть не может"),
}
