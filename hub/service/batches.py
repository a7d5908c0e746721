"""Creating, cancelling and retrying, in the open transaction. What a batch may hold is decided in `hub.batching`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from hub.batching import Accepted, checked_batch, definition_of, trailing_refresh
from hub.errors import Refusal, Said, Wrong, invalid, said_of, unknown
from hub.picking import Skip, readiness
from hub.service.answers import json_text
from hub.service.moving import definers_of, ended, skip, skip_dependants
from hub.service.settings import link_settings
from hub.service.views import with_commands
from hub.store.connection import Row, Transaction
from protocol.commands import AnyCommand, Refresh, command_from, temporary_keys_used, with_real_keys


@dataclass(frozen=True, slots=True)
class Origin:
    """What a new command repeats; both empty for a wish of its own."""

    retry_of: int | None = None
    root_id: int | None = None


NEW = Origin()


def create_batch(
    transaction: Transaction, link: str, author: str, title: str, raw: Sequence[object], *, held: bool = False
) -> dict[str, Any]:
    """Store a batch, or refuse it with every fault; the answer is the batch with its commands."""
    answer = checked_batch(raw, link_settings(transaction, link).link_types)
    if not isinstance(answer, Accepted):
        raise invalid(answer.faults)
    return _stored_batch(transaction, link, author, title, [(command, NEW) for command in answer.commands], held=held)


def _stored_batch(
    transaction: Transaction,
    link: str,
    author: str,
    title: str,
    commands: Sequence[tuple[AnyCommand, Origin]],
    *,
    held: bool,
) -> dict[str, Any]:
    ids = transaction.newest("newest_ids")
    batch_id, first_id = ids["batch_id"] + 1, ids["command_id"] + 1
    # The queue's order is that of the ids: a clock that went back lets no new batch overtake an old one.
    shared = {"link": link, "batch_id": batch_id, "held": int(held)}
    transaction.run(
        "add_batch",
        id=batch_id,
        link=link,
        author=author,
        title=title,
        at=transaction.now,
        held=int(held),
    )
    rows = [
        {**shared, "id": first_id + index, "seq": index + 1, **_columns(command, origin)}
        for index, (command, origin) in enumerate(commands)
    ]
    transaction.many("add_commands", rows)
    event = {"link": link, "from_status": None, "to_status": "queued", "why": f"batch {batch_id} by {author}"}
    transaction.many("add_events", [{**event, "command_id": row["id"], "at": transaction.now} for row in rows])
    made = {**_NEW_BATCH, "id": batch_id, "link": link, "author": author, "title": title, "held": held}
    made["created_at"] = transaction.now
    return with_commands(made, [{**_NEW_COMMAND, **row} for row in rows], link_settings(transaction, link).pacing)


# What the columns hold that a new row does not name: the answer to a batch is made of what was written, not read again.
_NEW_BATCH: Final = {"cancelled_at": None, "backup_path": None}
_NEW_COMMAND: Final = {
    "status": "queued",
    "deliveries": 0,
    **dict.fromkeys(("result", "error", "jira_calls", "rate_limited", "first_claimed_at", "claimed_at", "finished_at")),
}


def _columns(command: AnyCommand, origin: Origin) -> dict[str, Any]:
    return {
        "type": command.type,
        "params": json_text(command.params()),
        "needs": " ".join(temporary_keys_used(command)) or None,
        "defines": definition_of(command),
        "retry_of": origin.retry_of,
        "root_id": origin.root_id,
    }


def batch_row(transaction: Transaction, link: str, batch_id: int) -> Row:
    """The batch; refuses an unknown one."""
    row = transaction.one("batch", link=link, id=batch_id)
    if row is None:
        raise unknown(Said(f"batch {batch_id}", f"пакет {batch_id}"))
    return row


def command_row(transaction: Transaction, link: str, command_id: int) -> Row:
    """The command; refuses an unknown one."""
    row = transaction.one("command", link=link, id=command_id)
    if row is None:
        raise unknown(Said(f"command {command_id}", f"команда {command_id}"))
    return row


def cancel_batch(transaction: Transaction, link: str, batch_id: int, who: str) -> None:
    """Cancel what is queued; dependants of a cancelled definer are skipped, what is claimed stays."""
    batch_row(transaction, link, batch_id)
    for row in transaction.all("queued_of_batch", batch_id=batch_id):
        needs = (row["needs"] or "").split()
        lost = readiness(needs, definers_of(transaction, batch_id, needs))
        if isinstance(lost, Skip):
            skip(transaction, link, row["id"], lost)
        else:
            ended(transaction, link, row["id"], "queued", "cancel", why=f"batch cancelled by {who}")
    transaction.run("cancel_batch", id=batch_id, at=transaction.now)


def cancel_command(transaction: Transaction, link: str, command_id: int, who: str, *, force: bool) -> Said | None:
    """Cancel one command; the answer is a warning where the agent may be executing it."""
    row = command_row(transaction, link, command_id)
    warning = None
    if row["status"] == "queued":
        ended(transaction, link, command_id, "queued", "cancel", why=f"cancelled by {who}")
    elif row["status"] == "claimed" and force:
        ended(transaction, link, command_id, "claimed", "force", why=f"cancelled by {who} with force")
        warning = Said(
            "the agent may be executing this command; if it creates an issue, the result will still be recorded",
            "агент может выполнять эту команду; если она создаст задачу, результат всё равно будет записан",
        )
    elif row["status"] == "claimed":
        raise Refusal(
            "conflict",
            Said(f"command {command_id} is with the agent", f"команда {command_id} у агента"),
            hint=Said(
                "cancel with force; the agent may be executing it, and its result will still be recorded",
                "отмените с force; агент может её выполнять, результат всё равно будет записан",
            ),
        )
    else:
        status = row["status"]
        raise Refusal("conflict", Said(f"command {command_id} is {status}", f"команда {command_id} уже {status}"))
    if row["defines"] is not None:
        skip_dependants(transaction, link, row["batch_id"])
    return warning


def retry_command(transaction: Transaction, link: str, command_id: int, author: str) -> dict[str, Any]:
    """A new command with the same parameters in a new batch, with the dependants that were skipped because of it."""
    row = command_row(transaction, link, command_id)
    if row["status"] not in ("failed", "cancelled", "skipped"):
        raise Refusal(
            "conflict",
            Said(
                f"command {command_id} is {row['status']}; only a failed, cancelled or skipped one can be retried",
                f"команда {command_id} в статусе {row['status']}; повторить можно failed, cancelled или skipped",
            ),
        )
    siblings = transaction.all("commands_of_batch", batch_id=row["batch_id"])
    return _retried(transaction, link, siblings, {command_id}, author, f"Retry of command {command_id}")


def retry_batch(transaction: Transaction, link: str, batch_id: int, author: str) -> dict[str, Any]:
    """Retry the failures of a batch, with the commands that were skipped because of them."""
    batch_row(transaction, link, batch_id)
    siblings = transaction.all("commands_of_batch", batch_id=batch_id)
    failed = {row["id"] for row in siblings if row["status"] == "failed"}
    if not failed:
        raise Refusal("conflict", Said(f"nothing failed in batch {batch_id}", f"в пакете {batch_id} нет ошибок"))
    return _retried(transaction, link, siblings, failed, author, f"Retry of batch {batch_id}")


def _retried(
    transaction: Transaction, link: str, siblings: Sequence[Row], chosen: set[int], author: str, title: str
) -> dict[str, Any]:
    real: dict[str, str] = {}
    known = 0
    while known != len(chosen):  # grows by a command a round at least, and ends with the batch
        known = len(chosen)
        _take_definers(transaction, siblings, chosen, real)
        defined = {row["defines"] for row in siblings if row["id"] in chosen and row["defines"] is not None}
        # Not the reading that ends the batch: it names every key, and would bring creations along that nobody named.
        chosen.update(
            row["id"]
            for row in siblings
            if row["status"] == "skipped" and row["type"] != "refresh" and defined & {*(row["needs"] or "").split()}
        )
    wishes = [row for row in siblings if row["id"] in chosen]
    commands = [(_with_keys(row, real), Origin(row["id"], row["root_id"] or row["id"])) for row in wishes]
    if any(not isinstance(command, Refresh) for command, _ in commands):
        # The new batch ends with a reading of its own; a reading of keys that was skipped would be the same again.
        commands = [pair for pair in commands if not (isinstance(pair[0], Refresh) and pair[0].keys)]
    tail = trailing_refresh([command for command, _ in commands])
    return _stored_batch(
        transaction, link, author, title, [*commands, *((refresh, NEW) for refresh in tail)], held=False
    )


def _take_definers(transaction: Transaction, siblings: Sequence[Row], chosen: set[int], real: dict[str, str]) -> None:
    """Every temporary key the chosen commands use becomes a real one, or brings its definer along."""
    by_key = {row["defines"]: row for row in siblings if row["defines"] is not None}
    for row in reversed(siblings):  # backwards: a definer stands before those that use it, and may use others itself
        for temporary_key in (row["needs"] or "").split() if row["id"] in chosen else ():
            definer = by_key.get(temporary_key)
            if definer is None:  # only a base that was edited by hand
                raise Refusal("conflict", Said(f"nothing defines {temporary_key}", f"{temporary_key} не определён"))
            done = transaction.one("done_of_root", root_id=definer["root_id"] or definer["id"])
            if done is not None:
                real[temporary_key] = json.loads(done["result"])["key"]
            elif definer["status"] in ("queued", "claimed"):
                raise Refusal(
                    "conflict",
                    Said(
                        f"command {definer['id']}, which defines {temporary_key}, is still {definer['status']}",
                        f"команда {definer['id']}, определяющая {temporary_key}, ещё {definer['status']}",
                    ),
                )
            else:
                chosen.add(definer["id"])


def _with_keys(row: Row, real: dict[str, str]) -> AnyCommand:
    try:
        command = command_from(row["type"], json.loads(row["params"]))
        return with_real_keys(command, real)
    except ValidationError as error:
        found = error.errors(include_url=False)[0]
        raise invalid((Wrong(f"command {row['id']}", said_of(found)),)) from error
