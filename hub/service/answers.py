"""Answers stored with their effect: the same Idempotency-Key gets the same bytes, nothing is done twice (P7)."""

import json
from dataclasses import dataclass
from typing import Any

from hub.store.connection import Transaction


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: an HTTP status and JSON text, empty where there is no body."""

    status: int
    body: str


def json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def stored(transaction: Transaction, link: str, request_key: str | None) -> Answer | None:
    """What was answered under this key, if anything was."""
    if request_key is None:
        return None
    row = transaction.one("stored_answer", link=link, request_key=request_key)
    return None if row is None else Answer(row["status"], row["body"])


def store(transaction: Transaction, link: str, request_key: str | None, answer: Answer) -> Answer:
    """Remember the answer where the request has a key; commits with the effect or not at all."""
    if request_key is not None:
        transaction.run(
            "store_answer",
            link=link,
            request_key=request_key,
            status=answer.status,
            body=answer.body,
            at=transaction.now,
        )
    return answer
