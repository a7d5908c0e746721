"""The mirror in the open transaction: taking a reading in, and confirming claimed commands by what it shows."""

import json
from collections.abc import Iterable
from typing import Any

from hub.confirming import confirmed_by_state
from hub.service.moving import ended, move_note
from hub.store.connection import Row, Transaction
from protocol.commands import EnsureFields, EnsureLink, EnsureSprint, EnsureStatus, command_from
from protocol.issues import IssueLink, IssueState, Reading

_CONFIRMABLE = ("ensure_fields", "ensure_status", "ensure_link", "ensure_sprint")


def take_reading(transaction: Transaction, link: str, readings: Iterable[Reading], began_at: str) -> dict[str, Any]:
    """Put what was read into the mirror, `began_at` being the earliest moment it can have been read; a summary."""
    parts = tuple(readings)
    issues = [issue for part in parts for issue in part.issues]
    missing = [key for part in parts for key in part.missing]
    moves = {old: new for part in parts for old, new in part.moved.items()}
    times = {"link": link, "at": transaction.now, "began_at": began_at}
    transaction.many("put_issues", [{**times, **_columns(issue)} for issue in issues])
    keys = [{"link": link, "key": key} for key in (*(issue.key for issue in issues), *missing)]
    transaction.many("drop_links_out", keys)
    transaction.many("drop_links_in", keys)
    transaction.many(
        "put_links",
        [
            {**item.model_dump(), "link": link, "managed": int(item.managed), "symmetric": int(item.symmetric)}
            for issue in issues
            for item in issue.links
        ],
    )
    transaction.many("mark_missing", [{**times, "key": key} for key in missing])
    transaction.many("mark_moved", [{**times, "key": old, "moved_to": new} for old, new in moves.items()])
    for old, new in moves.items():
        move_note(transaction, link, old, new)  # a note speaks of the issue, whatever it is called
    return {
        "issues": len(issues),
        "missing": missing,
        "moved": moves,
        "truncated": any(part.truncated for part in parts),
    }


def confirm_claimed(transaction: Transaction, link: str) -> None:
    """Every claimed command whose wish the mirror shows is confirmed by state."""
    for row in transaction.all("claimed_commands", link=link):
        confirm_if_shown(transaction, link, row)


def confirm_if_shown(transaction: Transaction, link: str, row: Row) -> bool:
    """Confirm one claimed command, if issues that were read after its claim show its wish (P13)."""
    if row["type"] not in _CONFIRMABLE:
        return False
    command = command_from(row["type"], json.loads(row["params"]))
    assert isinstance(command, EnsureFields | EnsureStatus | EnsureLink | EnsureSprint)
    key = command.source if isinstance(command, EnsureLink) else command.key
    seen = _issue_read_after(transaction, link, key, row["claimed_at"] or "")
    if seen is None or not confirmed_by_state(command, {key: seen}):
        return False
    why = f"the mirror shows it on {key}"
    ended(transaction, link, row["id"], "claimed", "confirm", why=why)
    return True


def _issue_read_after(transaction: Transaction, link: str, key: str, claimed_at: str) -> IssueState | None:
    row = transaction.one("issue", link=link, key=key)
    if row is None or row["missing_at"] or row["moved_to"] or not (row["reading_began_at"] or "") > claimed_at:
        return None
    links = tuple(IssueLink.model_validate(dict(item)) for item in transaction.all("links_of", link=link, key=key))
    return issue_state(row, links)


def issue_state(row: Row, links: tuple[IssueLink, ...]) -> IssueState:
    """An issue of the mirror as it was read."""
    columns = {name: row[name] for name in IssueState.model_fields if name not in ("links", "labels")}
    filled = {"summary": row["summary"] or "", "labels": json.loads(row["labels"] or "[]"), "links": links}
    return IssueState.model_validate({**columns, **filled})


def _columns(issue: IssueState) -> dict[str, Any]:
    return {
        **issue.model_dump(exclude={"links", "labels"}),
        "labels": json.dumps(issue.labels, ensure_ascii=False),
    }
