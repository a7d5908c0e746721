"""Batches that wait for a person, in the open transaction: what assistants propose, and its approval."""

from collections.abc import Sequence
from typing import Any, Final

from hub.errors import Refusal, Said
from hub.service.batches import batch_row, create_batch
from hub.service.plans import compare_batch
from hub.service.settings import link_settings
from hub.store.connection import Transaction
from protocol.messages import TERMINAL

# A person approves by reading the diff: more than this nobody reads (security.md, prompt injection).
MAX_PROPOSED_COMMANDS: Final = 200
MAX_PROPOSALS: Final = 20


def propose(
    transaction: Transaction, link: str, author: str, title: str, raw: Sequence[object], *, held: bool
) -> dict[str, Any]:
    """A batch of an assistant: held, unless people trust assistants on this link; never too much of it."""
    if len(raw) > MAX_PROPOSED_COMMANDS:
        raise Refusal(
            "conflict",
            Said(
                f"an assistant may propose {MAX_PROPOSED_COMMANDS} commands at once, not {len(raw)}",
                f"помощник может предложить {MAX_PROPOSED_COMMANDS} команд за раз, а не {len(raw)}",
            ),
            hint=Said("propose it in parts", "предложите частями"),
        )
    trusted = link_settings(transaction, link).assistant_batches == "trusted"
    waiting = transaction.one("held_batches", link=link)
    assert waiting is not None  # an aggregate always has its row
    if not trusted and waiting["number"] >= MAX_PROPOSALS:
        raise Refusal(
            "conflict",
            Said(f"{MAX_PROPOSALS} proposals wait already", f"уже ждут {MAX_PROPOSALS} предложений"),
            hint=Said(
                "a person approves or cancels them: jira-hub batch list --held",
                "их одобряет или отменяет человек: jira-hub batch list --held",
            ),
        )
    return create_batch(transaction, link, author, title, raw, held=held or not trusted)


def approve(transaction: Transaction, link: str, batch_id: int, who: str, digest: str | None) -> None:
    """Let a held batch go out; with the `digest` of its diff only while that is what the mirror shows.

    Each command's timeline says who has let it go.
    """
    row = batch_row(transaction, link, batch_id)
    if row["cancelled_at"] is not None:
        raise Refusal("conflict", Said(f"batch {batch_id} was cancelled", f"пакет {batch_id} отменён"))
    if digest is not None and compare_batch(transaction, link, batch_id).digest != digest:
        raise Refusal(
            "conflict",
            Said(
                f"the mirror changed since you saw batch {batch_id}", f"зеркало изменилось, пакет {batch_id} уже другой"
            ),
            hint=Said("look at it again", "посмотрите его ещё раз"),
        )
    if row["held"]:
        waiting = [item for item in transaction.all("commands_of_batch", batch_id=batch_id) if item["held"]]
        event = {"link": link, "why": f"approved by {who}", "at": transaction.now}
        moves = [(item["id"], item["status"]) for item in waiting if item["status"] not in TERMINAL]
        transaction.many(
            "add_events",
            [{**event, "command_id": number, "from_status": now, "to_status": now} for number, now in moves],
        )
    transaction.run("release_batch", id=batch_id)
    transaction.run("release_commands", batch_id=batch_id)
