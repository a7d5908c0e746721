"""Refusals to a caller and our own mistakes. No HTTP in here but the status numbers of the protocol."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from protocol.errors import CODES, Fault, Problem

Language = Literal["en", "ru"]


@dataclass(frozen=True, slots=True)
class Said:
    """One text for people in both languages of the hub."""

    en: str
    ru: str

    def in_language(self, language: Language) -> str:
        return self.ru if language == "ru" else self.en


@dataclass(frozen=True, slots=True)
class Wrong:
    """One thing wrong with a request: where, what, and the way out."""

    field: str | None
    detail: Said
    hint: Said | None = None

    def fault(self, language: Language) -> Fault:
        return Fault(field=self.field, detail=self.detail.in_language(language), hint=_said(self.hint, language))


class Refusal(Exception):
    """The hub does not do what was asked; `code` is one of `protocol.errors.CODES`."""

    def __init__(
        self,
        code: str,
        detail: Said,
        *,
        hint: Said | None = None,
        field: str | None = None,
        errors: tuple[Wrong, ...] = (),
    ) -> None:
        super().__init__(detail.en)
        assert code in CODES, code
        self.code = code
        self.detail = detail
        self.hint = hint
        self.field = field
        self.errors = errors

    @property
    def status(self) -> int:
        return CODES[self.code]

    def problem(self, language: Language) -> Problem:
        return Problem(
            code=self.code,
            title=TITLES[self.code].in_language(language),
            detail=self.detail.in_language(language),
            hint=_said(self.hint, language),
            field=self.field,
            errors=tuple(wrong.fault(language) for wrong in self.errors),
        )


class IllegalMove(AssertionError):
    """A move that the lifecycle table does not know: our own mistake, caught nowhere below the top."""


class Unready(Exception):
    """The hub cannot start; the text is one line for the person who started it."""


class Missing(Unready):
    """What was named is not there."""


class InUse(Unready):
    """Another process holds what is needed."""


def _said(text: Said | None, language: Language) -> str | None:
    return None if text is None else text.in_language(language)


def said_of(found: Mapping[str, Any]) -> Said:
    """What one of pydantic's errors says; it speaks English only."""
    match found["type"]:
        case "missing":
            return Said("is missing", "не указан")
        case "extra_forbidden":
            return Said("is not known here", "такого поля нет")
        case _:
            text = str(found["msg"]).removeprefix("Value error, ")
            return Said(text, text)


def unknown(what: Said) -> Refusal:
    """Nothing bears this id or key."""
    return Refusal("not_found", Said(f"there is no {what.en}", f"{what.ru}: нет такого объекта"))


def invalid(errors: tuple[Wrong, ...]) -> Refusal:
    """One refusal for all faults of a request together; its detail is the first of them and the number of the rest."""
    first = errors[0]
    place = f"{first.field}: " if first.field else ""
    more = len(errors) - 1
    return Refusal(
        "invalid",
        Said(
            f"{place}{first.detail.en}" + (f" (and {more} more)" if more else ""),
            f"{place}{first.detail.ru}" + (f" (и ещё {more})" if more else ""),
        ),
        hint=first.hint,
        field=first.field,
        errors=errors,
    )


TITLES: Final[Mapping[str, Said]] = {
    "unauthorised": Said("Not signed in", "Нет доступа без токена"),
    "forbidden": Said("Not allowed from there", "Запрос отсюда запрещён"),
    "not_found": Said("Not found", "Не найдено"),
    "method_not_allowed": Said("Method not allowed", "Метод не поддерживается"),
    "not_claimed": Said("The command is not claimed", "Команда не выдана"),
    "session_conflict": Said("Another agent holds the link", "Канал занят другим агентом"),
    "conflict": Said("Conflict", "Конфликт"),
    "too_large": Said("Too large", "Слишком большой запрос"),
    "invalid": Said("The request is not valid", "Запрос содержит ошибки"),
    "upgrade_required": Said("The agent is too old", "Нужен более новый агент"),
    "paused": Said("The link is paused", "Канал на паузе"),
    "unavailable": Said("Not available now", "Сейчас недоступно"),
}
