"""Moves of commands in the open transaction, by the lifecycle table and with an event; skipping lost dependants."""

import json
from collections.abc import Iterable, Mapping

from hub.lifecycle import Cause, after
from hub.picking import Definer, Skip, readiness
from hub.store.connection import Transaction
from protocol.messages import Status


def moved(transaction: Transaction, link: str, command_id: int, source: Status, cause: Cause, why: str) -> Status:
    """Where the move leads; its event is written. The caller writes the command itself."""
    target = after(source, cause)
    transaction.run(
        "add_event",
        link=link,
        command_id=command_id,
        from_status=source,
        to_status=target,
        why=why,
        at=transaction.now,
    )
    return target


def ended(
    transaction: Transaction,
    link: str,
    command_id: int,
    source: Status,
    cause: Cause,
    *,
    why: str,
    error: str | None = None,
) -> Status:
    """End a command that no report ends."""
    target = moved(transaction, link, command_id, source, cause, why)
    transaction.run("end_without_report", id=command_id, status=target, error=error, at=transaction.now)
    return target


def definers_of(transaction: Transaction, batch_id: int, needs: Iterable[str]) -> Mapping[str, Definer]:
    """What each needed temporary key stands for in its batch."""
    found: dict[str, Definer] = {}
    for temporary_key in needs:
        row = transaction.one("definer", batch_id=batch_id, defines=temporary_key)
        if row is not None:
            key = json.loads(row["result"]).get("key") if row["status"] == "done" and row["result"] else None
            found[temporary_key] = Definer(row["id"], row["status"], key)
    return found


def skip_dependants(transaction: Transaction, link: str, batch_id: int) -> int:
    """Skip every queued command of the batch whose temporary key was lost; in order, as a skipped definer tells on."""
    skipped = 0
    for row in transaction.all("queued_of_batch", batch_id=batch_id):
        if row["needs"]:
            needs = row["needs"].split()
            answer = readiness(needs, definers_of(transaction, batch_id, needs))
            if isinstance(answer, Skip):
                skip(transaction, link, row["id"], answer)
                skipped += 1
    return skipped


def skip(transaction: Transaction, link: str, command_id: int, lost: Skip) -> None:
    """Skip one command, naming what it waited for."""
    because = "nothing defines it" if lost.definer_id is None else f"command {lost.definer_id} did not make it"
    error = f"{lost.temporary_key}: {because}"
    ended(transaction, link, command_id, "queued", "definer_lost", why=error, error=error)


def move_note(transaction: Transaction, link: str, old: str, key: str) -> None:
    """The note on a temporary or an old key goes to the issue's key; a note already there keeps both texts."""
    note = transaction.one("note", link=link, key=old)
    if note is None:
        return
    there = transaction.one("note", link=link, key=key)
    text = note["text"] if there is None else f"{there['text']}\n\n{note['text']}"
    transaction.run("put_note", link=link, key=key, text=text, at=transaction.now)
    transaction.run("drop_note", link=link, key=old)
