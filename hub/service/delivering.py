"""Handing one command out, in the open transaction: the body of a delivery, real keys for temporary ones, giving up."""

import json
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from hub.errors import said_of
from hub.moments import seconds_between
from hub.pacing import gap_of
from hub.picking import Claimed, Deliver, GiveUp, Idle, Ready, Skip, next_delivery, readiness
from hub.restoring import Epochs
from hub.service.answers import json_text
from hub.service.mirroring import confirm_if_shown
from hub.service.moving import definers_of, ended, moved, skip, skip_dependants
from hub.service.settings import LinkSettings
from hub.store.connection import Row, Transaction
from protocol.commands import command_from, with_real_keys
from protocol.errors import NO_REPORT

MAX_LOOKS: Final = (
    10_000  # each look ends a command or passes one; a batch of skipped dependants is walked in one claim
)
FROM_THE_START: Final = {"batch_id": 0, "seq": -1}


@dataclass(frozen=True, slots=True)
class Delivered:
    """A command on its way out; `body` is a `protocol.messages.Delivery` as JSON text, `params` a part of it."""

    command_id: int
    body: str
    params: str


@dataclass(frozen=True, slots=True)
class BackupFirst:
    """The first command of this batch is about to leave: the caller makes a copy of the database and asks again."""

    batch_id: int


@dataclass(frozen=True, slots=True)
class Copy:
    """The copy of the database that was made for a batch just now."""

    batch_id: int
    path: str


@dataclass(frozen=True, slots=True)
class Terms:
    """What every delivery of a link is made under. `copies` says whether batches get a copy of the database at all."""

    link: str
    settings: LinkSettings
    epochs: Epochs
    copies: bool
    copy: Copy | None = None


def next_out(transaction: Transaction, terms: Terms) -> Delivered | BackupFirst | None:
    """Hand out what is due by `hub.picking`, ending on the way what can no longer be delivered."""
    link = terms.link
    position: dict[str, Any] = dict(FROM_THE_START)
    for _ in range(MAX_LOOKS):
        due = transaction.all("due", link=link, **position)
        claimed = [row for row in due if row["status"] == "claimed"]
        queued = next((row for row in due if row["status"] == "queued"), None)
        action = next_delivery(
            [Claimed(row["id"], row["claimed_at"] or "", row["deliveries"]) for row in claimed],
            None if queued is None else queued["id"],
        )
        match action:
            case Idle():
                return None
            case GiveUp(command_id):
                _give_up(transaction, link, next(row for row in claimed if row["id"] == command_id))
            case Deliver(command_id, deliveries) if claimed:
                row = next(row for row in claimed if row["id"] == command_id)
                return _redelivered(transaction, terms, row, deliveries)
            case Deliver():
                assert queued is not None  # nothing is claimed, so this is the command meant
                out = _first_delivery(transaction, terms, queued)
                if out is not None:
                    return out
                position = {name: queued[name] for name in FROM_THE_START}
    return None


def delivery_body(row: Row, terms: Terms, *, deliveries: int, age_seconds: float) -> dict[str, Any]:
    """A command as the agent gets it (`protocol.messages.Delivery`), but for its parameters."""
    return {
        "id": row["id"],
        "type": row["type"],
        "pause_seconds": gap_of(terms.settings.pacing, row["type"]),
        "status": "claimed",
        "delivery": deliveries,
        "age_seconds": age_seconds,
        "identity": identity(terms.epochs, row) if row["type"] == "ensure_issue" else None,
        "batch_id": row["batch_id"],
        "restored": _is_restored(terms, row),
    }


def delivered_body(transaction: Transaction, row: Row, terms: Terms) -> dict[str, Any]:
    """A stored command once more as the agent got it, with its status and pause of today."""
    body = delivery_body(row, terms, deliveries=row["deliveries"], age_seconds=_age(transaction, terms, row))
    return {**body, "params": json.loads(row["params"]), "status": row["status"]}


def identity(epochs: Epochs, row: Row) -> str:
    """What marks the issue as this wish's own; a command and its retries share it (P1)."""
    root = row["root_id"] or row["id"]
    return f"jh:{epochs.of(root)[:6]}:{root}"


def _give_up(transaction: Transaction, link: str, row: Row) -> None:
    # The mirror may show by now that the wish came true and only the reports were lost.
    if confirm_if_shown(transaction, link, row):
        return
    ended(transaction, link, row["id"], "claimed", "limit", why=NO_REPORT, error=NO_REPORT)
    if row["type"] == "ensure_issue":
        skip_dependants(transaction, link, row["batch_id"])


def _redelivered(transaction: Transaction, terms: Terms, row: Row, deliveries: int) -> Delivered:
    moved(transaction, terms.link, row["id"], "claimed", "claim", f"delivery {deliveries}")
    transaction.run("deliver", id=row["id"], at=transaction.now, params=row["params"], deliveries=deliveries)
    return _delivered(row, terms, row["params"], deliveries, _age(transaction, terms, row))


def _first_delivery(transaction: Transaction, terms: Terms, row: Row) -> Delivered | BackupFirst | None:
    """None where the command ended, or has to wait: the caller looks further."""
    params = row["params"]
    if row["needs"]:
        needs = row["needs"].split()
        answer = readiness(needs, definers_of(transaction, row["batch_id"], needs))
        if isinstance(answer, Skip):
            skip(transaction, terms.link, row["id"], answer)
        if not isinstance(answer, Ready):
            return None
        try:
            command = with_real_keys(command_from(row["type"], json.loads(params)), answer.real)
        except ValidationError as error:
            _senseless(transaction, terms.link, row, answer, error)
            return None
        params = json_text(command.params())
    if row["backup_path"] is None and terms.copies:
        if terms.copy is None or terms.copy.batch_id != row["batch_id"]:
            return BackupFirst(row["batch_id"])
        transaction.run("set_backup_path", id=row["batch_id"], path=terms.copy.path)
    moved(transaction, terms.link, row["id"], "queued", "claim", "delivery 1")
    transaction.run("deliver", id=row["id"], at=transaction.now, params=params, deliveries=1)
    return _delivered(row, terms, params, 1, _age(transaction, terms, row))


def _age(transaction: Transaction, terms: Terms, row: Row) -> float:
    """How long the command may have had effects: since its first delivery; with a past, since its root was queued."""
    since = row["first_claimed_at"] or row["claimed_at"]
    if row["type"] == "ensure_issue" and (row["root_id"] or _is_restored(terms, row)):
        queued = transaction.one("queued_at", id=row["root_id"] or row["id"])
        since = queued["created_at"] if queued else since
    return seconds_between(since, transaction.now)


def _is_restored(terms: Terms, row: Row) -> bool:
    return terms.epochs.of(row["id"]) != terms.epochs.today


def _delivered(row: Row, terms: Terms, params: str, deliveries: int, age_seconds: float) -> Delivered:
    # The parameters go out as the text they are kept as: nothing is parsed only to be written again.
    rest = json_text(delivery_body(row, terms, deliveries=deliveries, age_seconds=age_seconds))
    return Delivered(row["id"], f'{rest[:-1]},"params":{params}}}', params)


def _senseless(transaction: Transaction, link: str, row: Row, ready: Ready, error: ValidationError) -> None:
    text = said_of(error.errors(include_url=False)[0]).en
    keys = ", ".join(f"{temporary} is {key}" for temporary, key in ready.real.items())
    explained = f"{text} ({keys})"
    ended(transaction, link, row["id"], "queued", "senseless", why=explained, error=explained)
