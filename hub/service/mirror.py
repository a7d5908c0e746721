"""The use cases of the mirror and the notes, a transaction each."""

import json
from collections.abc import Mapping
from typing import Any, Final

from hub.errors import Language, Said, Wrong, invalid, unknown
from hub.searching import Words, nearest_shown, search_words
from hub.service.views import issue_view, page
from hub.service.work import Work
from hub.store.connection import Row, Transaction

FILTERS: Final = ("status", "type", "priority", "assignee", "epic", "sprint", "label", "state")


class Mirror:
    """Issues as Jira last showed them, and people's notes beside them. Refusals are raised."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def issue(self, link: str, key: str) -> dict[str, Any]:
        with self._work.reading() as transaction:
            row = transaction.one("issue", link=link, key=key)
            if row is None:
                raise unknown(Said(f"issue {key} in the mirror", f"задача {key} в зеркале"))
            return issue_view(transaction, row, with_links=True)

    def issues(
        self,
        link: str,
        *,
        limit: int,
        after: str | None = None,
        text: str | None = None,
        filters: Mapping[str, str | None] | None = None,
        language: Language = "en",
    ) -> dict[str, Any]:
        """A page by key, or with `text` in the order the mirror learned of them; `filters` are among `FILTERS`.

        Where nothing was found, `hint` names what the mirror shows that is most like a name it does not.
        """
        words = search_words(text or "")
        wanted = {"link": link, "limit": limit + 1, **dict.fromkeys(FILTERS), **(filters or {})}
        with self._work.reading() as transaction:
            rows = (
                transaction.all("issues", **wanted, after=after or "")
                if words is None
                else _found(transaction, words, {**wanted, "after": _id_of(after)})
            )
            items = [issue_view(transaction, row, with_links=False) for row in rows[:limit]]
            hint = None if items or after else _misspelt(transaction, link, wanted)
        more = len(rows) > limit
        found = {"items": items, "cursor": str(rows[limit - 1]["key" if words is None else "id"]) if more else None}
        return {**found, "hint": hint.in_language(language)} if hint else found

    def note(self, link: str, key: str) -> dict[str, Any]:
        with self._work.reading() as transaction:
            row = transaction.one("note", link=link, key=key)
            if row is None:
                raise unknown(Said(f"note on {key}", f"заметка на {key}"))
            return dict(row)

    def notes(self, link: str, *, limit: int, after: str | None = None) -> dict[str, Any]:
        with self._work.reading() as transaction:
            rows = transaction.all("notes", link=link, after=after or "", limit=limit + 1)
        return page([dict(row) for row in rows[:limit]], "key", more=len(rows) > limit)

    def put_note(self, link: str, key: str, text: str) -> dict[str, Any]:
        def act(transaction: Transaction) -> dict[str, Any]:
            transaction.run("put_note", link=link, key=key, text=text, at=transaction.now)
            return {"key": key, "text": text, "updated_at": transaction.now}

        return self._work.changed(act)

    def delete_note(self, link: str, key: str) -> None:
        self._work.changed(lambda transaction: transaction.run("drop_note", link=link, key=key))


def _found(transaction: Transaction, words: Words, wanted: Mapping[str, Any]) -> list[Row]:
    if words.match is None:
        first, *further = words.globs
        globs = json.dumps(further, ensure_ascii=False)
        return transaction.all("issues_with_letters", **wanted, glob=first, globs=globs)
    globs = json.dumps(words.globs, ensure_ascii=False)
    wholes = json.dumps(words.wholes, ensure_ascii=False)
    return transaction.all(
        "issues_with_text", **wanted, globs=globs, match=words.match, grams=words.grams, wholes=wholes
    )


def _id_of(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= 18):
        raise invalid((Wrong("cursor", Said("is none of this search", "не от этого поиска")),))
    return int(cursor)


def _misspelt(transaction: Transaction, link: str, wanted: Mapping[str, Any]) -> Said | None:
    """The nearest right name of a status or a priority that no issue has."""
    for name, russian in (("status", "статуса"), ("priority", "приоритета")):
        given = wanted[name]
        if given is not None:
            statement = "statuses_shown" if name == "status" else "priorities_shown"
            shown = [row[name] for row in transaction.all(statement, link=link)]
            if given not in shown and (near := nearest_shown(given, shown)):
                text = f"в зеркале нет {russian} «{given}»; {near.ru}"
                return Said(f"no issue of the mirror has the {name} «{given}»; {near.en}", text)
    return None
