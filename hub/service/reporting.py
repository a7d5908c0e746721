"""A report in the open transaction, by the rule in `hub.reception` (`queue.md`, Report 1-6)."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from hub.errors import Language, Refusal, Said, Wrong, invalid, said_of, unknown
from hub.lifecycle import Cause
from hub.reception import Accept, KeepAside, KeepCreation, NotClaimed, Reported, Spoken, reception
from hub.service.answers import Answer, answered, json_text, store
from hub.service.batches import command_row
from hub.service.mirroring import confirm_claimed, take_reading
from hub.service.moving import move_note, moved, skip_dependants
from hub.service.settings import link_settings
from hub.service.views import command_view
from hub.store.connection import Row, Transaction
from protocol.issues import Reading
from protocol.keys import project_of
from protocol.messages import Report


def report(
    transaction: Transaction, link: str, command_id: int, said: Report, request_key: str | None, language: Language
) -> Answer:
    """Take a report in; the answer is the command as it stands now, or the refusal of a command never handed out."""
    met = transaction.one("reported", link=link, id=command_id, request_key=request_key)
    assert met is not None  # it is about a request, not about a row
    before = answered(transaction, link, met)
    if before is not None:
        return before
    if met["id"] is None:
        raise unknown(Said(f"command {command_id}", f"команда {command_id}"))
    row: Row | Mapping[str, Any] = met
    standing = Reported(row["status"], row["type"], row["deliveries"], row["result"] is not None)
    match reception(standing, Spoken(said.status, said.created_key, said.delivery)):
        case Accept():
            row = _accept(transaction, link, met, said)
        case KeepCreation():
            _check_created(transaction, link, said)
            _keep_creation(transaction, link, met, said)
            row = command_row(transaction, link, command_id)
        case KeepAside():
            keep_late(transaction, met, said)
        case NotClaimed():
            keep_late(transaction, met, said)
            refusal = _not_claimed(command_id)
            body = refusal.problem(language).model_dump_json(exclude_none=True)
            return store(transaction, link, request_key, Answer(refusal.status, body))
    # Once handed out, parameters stay: the answer need not hold them a second time.
    return store(transaction, link, request_key, Answer(200, json_text(command_view(row))), {row["id"]: row["params"]})


def keep_late(transaction: Transaction, row: Row, said: Report) -> None:
    """Nothing an agent says is thrown away: a key in it may be the only trace of an issue (P8)."""
    transaction.run(
        "add_late_result", command_id=row["id"], report=said.model_dump_json(exclude_none=True), at=transaction.now
    )


def _accept(transaction: Transaction, link: str, row: Row, said: Report) -> Row | Mapping[str, Any]:
    """The command as it stands afterwards; of what was written, not read again."""
    result = said.result
    if said.status == "done":
        if row["type"] == "ensure_issue":
            _check_created(transaction, link, said)
        elif row["type"] == "refresh":
            result = _take_refresh(transaction, link, row, said)
            if result is None:  # more parts are to come
                return row
    cause: Cause = "report_done" if said.status == "done" else "report_failed"
    why = said.error or f"delivery {said.delivery or row['deliveries']}"
    status = moved(transaction, link, row["id"], "claimed", cause, why)
    end = {
        "status": status,
        "result": _json(result),
        "error": said.error,
        "jira_calls": said.jira_calls,
        "rate_limited": said.rate_limited,
    }
    transaction.run("finish", id=row["id"], at=transaction.now, **end)
    if row["type"] == "refresh" and status == "done":
        confirm_claimed(transaction, link)
    if row["type"] == "ensure_issue":
        if said.created_key is not None and _is_of_the_project(transaction, link, said.created_key):
            # Failed after the creation too (its epic was refused): the issue is there, and people find it by the note.
            move_note(transaction, link, row["defines"], said.created_key)
        if status == "failed":
            skip_dependants(transaction, link, row["batch_id"])
    return {**{name: row[name] for name in row.keys()}, **end, "finished_at": transaction.now}  # noqa: SIM118  # a Row iterates over values


def _is_of_the_project(transaction: Transaction, link: str, key: str) -> bool:
    return link_settings(transaction, link).project in (None, project_of(key))


def _check_created(transaction: Transaction, link: str, said: Report) -> None:
    """A creation that is done names its issue, and only of the link's own project (security.md)."""
    key = said.created_key
    if key is None:
        text = Said("a done ensure_issue needs the key of its issue", "для done ensure_issue нужен ключ задачи")
        raise invalid((Wrong("result.key", text),))
    if not _is_of_the_project(transaction, link, key):
        project = link_settings(transaction, link).project
        text = Said(f"{key} is not of the project {project}", f"{key} не из проекта {project}")
        raise invalid((Wrong("result.key", text),))


def _keep_creation(transaction: Transaction, link: str, row: Row, said: Report) -> None:
    """Design decision 6: the result of a cancelled creation is kept; status and finished_at stay."""
    keep_late(transaction, row, said)
    transaction.run(
        "keep_creation",
        id=row["id"],
        result=_json(said.result),
        jira_calls=said.jira_calls,
        rate_limited=said.rate_limited,
    )
    assert said.created_key is not None  # the rule asked for it
    move_note(transaction, link, row["defines"], said.created_key)


def _take_refresh(transaction: Transaction, link: str, row: Row, said: Report) -> dict[str, Any] | None:
    """Put the reading into the mirror once all its parts are here; None while some are missing."""
    reading = _reading(said)
    part, total = reading.part
    # Which delivery the agent reads for says how early it may have begun; without the echo, at the first one.
    delivery = said.delivery if said.delivery is not None else 0
    began_at = row["claimed_at"] if delivery == row["deliveries"] or row["deliveries"] == 1 else row["first_claimed_at"]
    if total == 1:
        return take_reading(transaction, link, (reading,), began_at)
    transaction.run(
        "add_part", command_id=row["id"], delivery=delivery, part=part, total=total, body=reading.model_dump_json()
    )
    parts = transaction.all("parts", command_id=row["id"], delivery=delivery)
    if len({item["part"] for item in parts if item["total"] == total}) < total:
        return None
    readings = [Reading.model_validate_json(item["body"]) for item in parts if item["total"] == total]
    transaction.run("drop_parts", command_id=row["id"])
    return take_reading(transaction, link, readings, began_at)


def _reading(said: Report) -> Reading:
    try:
        reading = Reading.model_validate(said.result or {})
    except ValidationError as error:
        faults = (
            Wrong(".".join(("result", *map(str, found["loc"]))), said_of(found))
            for found in error.errors(include_url=False)
        )
        raise invalid(tuple(faults)[:20]) from error
    part, total = reading.part
    if not 1 <= part <= total <= 10_000:
        raise invalid((Wrong("result.part", Said("is no part i of n", "не часть i из n")),))
    return reading


def _not_claimed(command_id: int) -> Refusal:
    return Refusal(
        "not_claimed",
        Said(
            f"command {command_id} is queued: it was never handed out",
            f"команда {command_id} в очереди: она не выдавалась",
        ),
    )


def _json(value: Any) -> str | None:
    return None if value is None else json_text(value)
