"""Requests and answers as the handlers see them, and Jira's way to refuse. No sockets, no ASGI here."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import parse_qsl

from examples.jira.catalogue import User

JSON_TYPE: Final = "application/json;charset=UTF-8"
HTML_TYPE: Final = "text/html;charset=UTF-8"


@dataclass(frozen=True, slots=True)
class Call:
    """One request. Header names are lower case; `user` is None for anonymous; `params` come from the route."""

    method: str
    path: str
    raw_query: str
    headers: Mapping[str, str]
    body: bytes
    user: User | None = None
    params: Mapping[str, str] = field(default_factory=dict)

    def query(self, name: str, default: str = "") -> str:
        found = [value for key, value in parse_qsl(self.raw_query, keep_blank_values=True) if key == name]
        return ",".join(found) if found else default

    def number(self, name: str, default: int) -> int:
        text = self.query(name)
        if not text:
            return default
        try:
            return int(text)
        except ValueError:
            raise Refusal(404, [f"'{text}' is not a number"]) from None  # as JAX-RS does with a bad query parameter

    def json(self) -> Any:
        """The body; a refusal in Jackson's words when it is none."""
        if self.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refusal(415, ["Unsupported Media Type"])
        try:
            return json.loads(self.body)
        except ValueError:
            raise Refusal(400, ["Unexpected character or end of input: expected a valid JSON value"]) from None

    def json_object(self) -> dict[str, Any]:
        value = self.json()
        if not isinstance(value, dict):
            raise Refusal(400, ["Can not deserialize instance of a bean out of this token"])
        return value

    def bound(self, user: User | None, params: Mapping[str, str]) -> "Call":
        return replace(self, user=user, params=params)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()

    def with_headers(self, extra: Iterable[tuple[str, str]]) -> "Answer":
        return replace(self, headers=(*self.headers, *extra))


class Refusal(Exception):
    """Jira's no: nothing was executed."""

    def __init__(
        self, status: int, messages: Iterable[str] = (), errors: Mapping[str, str] | None = None, *, agile: bool = False
    ) -> None:
        super().__init__(status)
        self.status = status
        self.messages = list(messages)
        self.errors = dict(errors or {})
        self.agile = agile

    def answer(self) -> Answer:
        # Agile errors may lack `errors` altogether.
        body: dict[str, Any] = {"errorMessages": self.messages}
        if not self.agile:
            body["errors"] = self.errors
        return answer_json(self.status, body)


def answer_json(status: int, value: Any, headers: Iterable[tuple[str, str]] = ()) -> Answer:
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return Answer(status, body, (("content-type", JSON_TYPE), *headers))


def answer_html(status: int, title: str, text: str = "", headers: Iterable[tuple[str, str]] = ()) -> Answer:
    page = f"<html><head><title>{title}</title></head><body><h1>{title}</h1><p>{text}</p></body></html>"
    return Answer(status, page.encode(), (("content-type", HTML_TYPE), *headers))


def nothing(status: int = 204) -> Answer:
    return Answer(status)
