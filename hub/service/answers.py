"""Answers stored with their effect: the same Idempotency-Key gets the same bytes, nothing is done twice (P7)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic_core import to_json

from hub.store.connection import Row, Transaction

# JSON text holds no bare control character, so what stands between two of these is ours: the id of a command.
_MARK: Final = "\x01"
_MARKED: Final = re.compile(f"{_MARK}([0-9]+){_MARK}")


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: an HTTP status and JSON text, empty where there is no body."""

    status: int
    body: str


def json_text(value: Any) -> str:
    """The one form of JSON in the database and in stored answers."""
    return to_json(value).decode()  # several times faster than the standard library, and the same text


def stored(transaction: Transaction, link: str, request_key: str | None) -> Answer | None:
    """What was answered under this key, if anything was."""
    if request_key is None:
        return None
    row = transaction.one("met", link=link, request_key=request_key)
    assert row is not None  # it is about a request, not about a row
    transaction.kept["settings", link] = row["settings"] or "{}"
    transaction.kept["agent", link] = row
    return answered(transaction, link, row)


def answered(transaction: Transaction, link: str, row: Row) -> Answer | None:
    """The answer in a row that was read with it."""
    status = row["answered_status"]
    return None if status is None else Answer(status, _whole(transaction, link, row["answered_body"]))


def store(
    transaction: Transaction,
    link: str,
    request_key: str | None,
    answer: Answer,
    params: Mapping[int, str] | None = None,
) -> Answer:
    """Remember the answer where the request has a key; commits with the effect or not at all.

    `params`, by the commands' ids, are not stored a second time: they stand with their command, as they stand here.
    """
    if request_key is not None:
        transaction.run(
            "store_answer",
            link=link,
            request_key=request_key,
            status=answer.status,
            body=_shortened(answer.body, params or {}),
            at=transaction.now,
        )
    return answer


def settled_params(batch: Mapping[str, Any]) -> dict[int, str]:
    """The parameters of a new batch's commands that no claim changes any more: those without a temporary key."""
    texts = {command["id"]: json_text(command["params"]) for command in batch.get("commands", ()) if "id" in command}
    return {number: text for number, text in texts.items() if '"new:' not in text}


def _shortened(body: str, params: Mapping[int, str]) -> str:
    pieces, rest = [], body
    for number, text in params.items():
        before, found, after = rest.partition(f'"params":{text}')
        if found:
            pieces.append(f'{before}"params":{_MARK}{number}{_MARK}')
            rest = after
    return "".join((*pieces, rest))


def _whole(transaction: Transaction, link: str, body: str) -> str:
    def params(mark: re.Match[str]) -> str:
        row = transaction.one("params", link=link, id=int(mark[1]))
        assert row is not None  # commands are never deleted
        return str(row["params"])

    return _MARKED.sub(params, body)
