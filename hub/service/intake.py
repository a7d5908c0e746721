"""Imports, a transaction each: all of it is checked before any is written, and a second run changes nothing."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hub.errors import invalid
from hub.importing import Import, ImportedIssue, ImportedNote, checked_import, links_standing
from hub.service.answers import Answer
from hub.service.work import Work
from hub.store.connection import Transaction


@dataclass(frozen=True, slots=True)
class Rows:
    """The lists as they came; `replace_notes` writes over notes that say something else."""

    issues: Sequence[object] = ()
    links: Sequence[object] = ()
    notes: Sequence[object] = ()
    replace_notes: bool = False


class Intake:
    """Lists of issues, links and notes from outside. Refusals are raised."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def take(self, link: str, rows: Rows, *, request_key: str | None = None) -> Answer:
        """200 with the report, or the refusal of everything that is wrong."""
        return self._work.answered(link, request_key, 200, lambda transaction: _take(transaction, link, rows))


def _take(transaction: Transaction, link: str, rows: Rows) -> dict[str, Any]:
    answer = checked_import(rows.issues, rows.links, rows.notes)
    if not isinstance(answer, Import):
        raise invalid(answer)
    written = _write_issues(transaction, link, answer.issues)
    kept = _write_notes(transaction, link, answer.notes, replace=rows.replace_notes)
    keys = sorted({key for item in answer.links for key in (item.source, item.target)})
    shown = transaction.all("links_by_key", link=link, keys=json.dumps(keys))
    standing = links_standing(answer.links, {(item["source"], item["target"], item["link_type"]) for item in shown})
    return {
        "counts": {
            "issues": len(answer.issues),
            "issues_written": written,
            "issues_known": len(answer.issues) - written,
            "notes": len(answer.notes),
            "notes_kept": len(kept),
            "links": len(answer.links),
            "links_present": standing.present,
            "missing_links": len(standing.missing),
            "reversed_links": len(standing.reversed),
        },
        "missing_links": [item.model_dump() for item in standing.missing],
        "reversed_links": [item.model_dump() for item in standing.reversed],
        "notes_kept": kept,
    }


def _write_issues(transaction: Transaction, link: str, issues: Sequence[ImportedIssue]) -> int:
    """Put those into the mirror that Jira has not shown yet; the number of them."""
    keys = json.dumps([issue.key for issue in issues])
    read = {row["key"] for row in transaction.all("issues_by_key", link=link, keys=keys) if row["refreshed_at"]}
    fresh = [issue for issue in issues if issue.key not in read]
    transaction.many(
        "import_issues",
        [
            {**issue.model_dump(), "labels": json.dumps(issue.labels, ensure_ascii=False), "link": link}
            for issue in fresh
        ],
    )
    return len(fresh)


def _write_notes(transaction: Transaction, link: str, notes: Sequence[ImportedNote], *, replace: bool) -> list[str]:
    """Write the notes; the keys whose note says something else and is kept as it is."""
    kept = []
    for note in notes:
        there = transaction.one("note", link=link, key=note.key)
        if there is None or (replace and there["text"] != note.text):
            transaction.run("put_note", link=link, key=note.key, text=note.text, at=transaction.now)
        elif there["text"] != note.text:
            kept.append(note.key)
    return kept
