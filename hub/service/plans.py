"""Plans in the open transaction: what the mirror knows of a batch, the plan shown, the batch made of it.

What is compared how is decided in `hub.planning`. A plan is compared anew whenever it is looked at, so what a person
sees is never older than the mirror; the digest he hands back says what he saw.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hub.batching import Accepted, checked_batch, trailing_refresh
from hub.errors import Language, Refusal, Said, invalid, unknown
from hub.likeness import Similar, similar_issues
from hub.moments import seconds_between
from hub.pacing import Policy
from hub.planning import Entry, Known, digest_of, plan_entries, plan_seconds
from hub.service.batches import batch_row, create_batch
from hub.service.mirroring import issue_state
from hub.service.settings import link_settings
from hub.service.views import plan_command_view
from hub.store.connection import Row, Transaction
from protocol.commands import (
    MAX_KEYS,
    AnyCommand,
    EnsureFields,
    EnsureIssue,
    EnsureSprint,
    EnsureStatus,
    Refresh,
    command_from,
    keys_touched,
)
from protocol.issues import IssueLink
from protocol.keys import is_temporary
from protocol.messages import TERMINAL

MARKS: Final = ("=", "~", "+", "!", "?")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A batch beside the mirror of this moment. `oldest_at` is the earliest reading among the issues it touches."""

    commands: tuple[AnyCommand, ...]
    entries: tuple[Entry, ...]
    digest: str
    oldest_at: str | None
    age_seconds: float | None


@dataclass(frozen=True, slots=True)
class PlanWish:
    """What a person wants planned; `verify` reads the touched issues from Jira first."""

    author: str
    title: str
    commands: Sequence[object]
    verify: bool = False


def make_plan(transaction: Transaction, link: str, wish: PlanWish, language: Language) -> dict[str, Any]:
    """Store the wishes and show them beside the mirror. Refuses with every fault of the batch."""
    wishes = _accepted(transaction, link, wish.commands)
    compared = _compare_wishes(transaction, link, wishes)
    plan_id = transaction.newest("newest_plan_id")["id"] + 1
    transaction.run(
        "add_plan",
        id=plan_id,
        link=link,
        author=wish.author,
        title=wish.title,
        commands=_stored(wishes),
        digest=compared.digest,
        at=transaction.now,
        refresh_batch_id=_read_first(transaction, link, wish, wishes, plan_id) if wish.verify else None,
    )
    return _view(transaction, _plan_row(transaction, link, plan_id), compared, language)


def plan_view(transaction: Transaction, link: str, plan_id: int, language: Language) -> dict[str, Any]:
    """A plan as the mirror of this moment makes it; `changed` says that it was another one when it was made."""
    row = _plan_row(transaction, link, plan_id)
    return _view(transaction, row, _compare_wishes(transaction, link, _wishes_of(row)), language)


def _view(transaction: Transaction, row: Row, compared: Comparison, language: Language) -> dict[str, Any]:
    head = {name: row[name] for name in ("id", "link", "author", "title", "created_at", "refresh_batch_id", "batch_id")}
    policy = _policy(transaction, row["link"])
    return {
        **head,
        "state": _state(transaction, row),
        "changed": row["refresh_batch_id"] is None and row["digest"] != compared.digest,
        **comparison_view(compared, policy, language),
    }


def apply_plan(
    transaction: Transaction,
    link: str,
    plan_id: int,
    digest: str,
    *,
    author: str | None = None,
    commands: Sequence[object] | None = None,
    held: bool = False,
) -> dict[str, Any]:
    """The batch of a plan. Refuses one applied, being read, or no longer what `digest` and `commands` say."""
    row = _plan_row(transaction, link, plan_id)
    wishes = _wishes_of(row)
    state = _state(transaction, row)
    if state == "applied":
        raise _conflict(
            f"plan {plan_id} was applied as batch {row['batch_id']}",
            f"план {plan_id} уже применён: пакет {row['batch_id']}",
        )
    if state == "reading":
        raise _conflict(
            f"the issues of plan {plan_id} are still being read from Jira (batch {row['refresh_batch_id']})",
            f"задачи плана {plan_id} ещё читаются из Jira (пакет {row['refresh_batch_id']})",
        )
    if commands is not None and _stored(_accepted(transaction, link, commands)) != row["commands"]:
        raise _conflict(f"the batch changed since plan {plan_id}", f"пакет изменился после плана {plan_id}")
    if _compare_wishes(transaction, link, wishes).digest != digest:
        raise _conflict(f"the mirror changed since plan {plan_id}", f"зеркало изменилось после плана {plan_id}")
    raw = [{"type": command.type, **command.params()} for command in wishes]
    batch = create_batch(transaction, link, author or row["author"], row["title"], raw, held=held)
    transaction.run("plan_applied", id=plan_id, batch_id=batch["id"])
    return batch


def batch_plan(transaction: Transaction, link: str, batch_id: int, language: Language) -> dict[str, Any]:
    """What is left of a batch beside the mirror: what a person approves or lets go on."""
    row = batch_row(transaction, link, batch_id)
    compared = compare_batch(transaction, link, batch_id)
    head = {"batch_id": batch_id, "link": link, "author": row["author"], "title": row["title"]}
    return {**head, "held": bool(row["held"]), **comparison_view(compared, _policy(transaction, link), language)}


def compare_batch(transaction: Transaction, link: str, batch_id: int) -> Comparison:
    """The unfinished commands of a stored batch beside the mirror."""
    rows = transaction.all("commands_of_batch", batch_id=batch_id)
    left = [command_from(row["type"], json.loads(row["params"])) for row in rows if row["status"] not in TERMINAL]
    return compare(transaction, link, left)


def compare(transaction: Transaction, link: str, commands: Sequence[AnyCommand]) -> Comparison:
    """The commands beside the mirror as it is in this transaction."""
    known, oldest_at = _known(transaction, link, commands)
    entries = plan_entries(commands, known)
    age = None if oldest_at is None else seconds_between(oldest_at, transaction.now)
    return Comparison(tuple(commands), entries, digest_of(commands, entries, known), oldest_at, age)


def comparison_view(compared: Comparison, policy: Policy, language: Language) -> dict[str, Any]:
    """A comparison as the faces show it."""
    entries = compared.entries
    counts = {mark: sum(entry.mark == mark for entry in entries) for mark in MARKS}
    return {
        "digest": compared.digest,
        "counts": counts,
        "has_changes": counts["="] < len(entries),
        "reads": sum(entry.reads for entry in entries),
        "writes": sum(entry.writes for entry in entries),
        "estimate_seconds": plan_seconds(policy, compared.commands, entries),
        "mirror": {"oldest_at": compared.oldest_at, "age_seconds": compared.age_seconds},
        "commands": [
            plan_command_view(index, command, entry, language)
            for index, (command, entry) in enumerate(zip(compared.commands, entries, strict=True))
        ],
    }


def _known(transaction: Transaction, link: str, commands: Sequence[AnyCommand]) -> tuple[Known, str | None]:
    wishes = [command for command in commands if not isinstance(command, Refresh)]
    keys = _real_keys(wishes)
    rows = {row["key"]: row for row in _rows(transaction, "issues_by_key", link, keys)}
    moved = {key: row["moved_to"] for key, row in rows.items() if row["moved_to"]}
    rows.update({row["key"]: row for row in _rows(transaction, "issues_by_key", link, moved.values())})
    links: dict[str, list[IssueLink]] = {}
    for item in _rows(transaction, "links_by_key", link, rows):
        found = IssueLink.model_validate(dict(item))
        for key in {found.source, found.target}:
            links.setdefault(key, []).append(found)
    states = {
        key: issue_state(row, tuple(links.get(key, ())))
        for key, row in rows.items()
        if row["refreshed_at"] and row["summary"] is not None and not row["missing_at"] and not row["moved_to"]
    }
    states.update({old: states[new] for old, new in moved.items() if new in states})
    missing = frozenset(key for key, row in rows.items() if row["missing_at"])
    oldest = min((row["refreshed_at"] for row in rows.values() if row["refreshed_at"]), default=None)
    creations = {command.temp_key: command.summary for command in wishes if isinstance(command, EnsureIssue)}
    known = Known(
        issues=states,
        missing=missing,
        moved=moved,
        similar=_similar(transaction, link, creations),
        statuses=_statuses(transaction, link, wishes),
        priorities=_priorities(transaction, link, wishes),
        sprints=_sprints(transaction, link, wishes),
    )
    return known, oldest


def _rows(transaction: Transaction, statement: str, link: str, keys: Iterable[str]) -> list[Row]:
    wanted = list(keys)
    return transaction.all(statement, link=link, keys=json.dumps(wanted)) if wanted else []


def _similar(transaction: Transaction, link: str, creations: Mapping[str, str]) -> Mapping[str, Similar]:
    if not creations:
        return {}
    shown = transaction.all("summaries_shown", link=link)
    return similar_issues(creations, ((row["key"], row["summary"], row["status"]) for row in shown))


def _statuses(transaction: Transaction, link: str, wishes: Sequence[AnyCommand]) -> frozenset[str]:
    if not any(isinstance(command, EnsureStatus) for command in wishes):
        return frozenset()
    return frozenset(row["status"] for row in transaction.all("statuses_shown", link=link))


def _priorities(transaction: Transaction, link: str, wishes: Sequence[AnyCommand]) -> frozenset[str]:
    if not any(isinstance(command, EnsureIssue | EnsureFields) and command.priority for command in wishes):
        return frozenset()
    return frozenset(row["priority"] for row in transaction.all("priorities_shown", link=link))


def _sprints(transaction: Transaction, link: str, wishes: Sequence[AnyCommand]) -> Mapping[str, tuple[int, ...]]:
    if not any(isinstance(command, EnsureSprint) for command in wishes):
        return {}
    found: dict[str, list[int]] = {}
    for row in transaction.all("sprints_shown", link=link):
        found.setdefault(row["sprint"].strip(), []).append(row["sprint_id"])
    return {name: tuple(sorted(set(ids))) for name, ids in found.items()}


def _real_keys(commands: Iterable[AnyCommand]) -> tuple[str, ...]:
    keys = dict.fromkeys(key for command in commands for key in keys_touched(command))
    return tuple(key for key in keys if not is_temporary(key))


def _read_first(
    transaction: Transaction, link: str, wish: PlanWish, commands: Sequence[AnyCommand], plan_id: int
) -> int | None:
    """A batch that reads what the plan touches; none where it touches nothing that exists."""
    keys = _real_keys(command for command in commands if not isinstance(command, Refresh))
    if not keys:
        return None
    raw = [{"type": "refresh", "keys": keys[start : start + MAX_KEYS]} for start in range(0, len(keys), MAX_KEYS)]
    batch = create_batch(transaction, link, wish.author, f"Refresh for plan {plan_id}", raw)
    return int(batch["id"])


def _state(transaction: Transaction, row: Row) -> str:
    """`reading` until the issues were read, `unverified` where that failed, `applied` once a batch was made."""
    if row["batch_id"] is not None:
        return "applied"
    if row["refresh_batch_id"] is None:
        return "ready"
    statuses = {item["status"] for item in transaction.all("batch_counts", batch_id=row["refresh_batch_id"])}
    if statuses - TERMINAL:
        return "reading"
    return "ready" if statuses == {"done"} else "unverified"


def _compare_wishes(transaction: Transaction, link: str, wishes: Sequence[AnyCommand]) -> Comparison:
    """With the reading that the batch will end with."""
    return compare(transaction, link, (*wishes, *trailing_refresh(wishes)))


def _accepted(transaction: Transaction, link: str, raw: Sequence[object]) -> tuple[AnyCommand, ...]:
    """The commands as given; the reading that ends the batch is the batch's, not the person's."""
    answer = checked_batch(raw, link_settings(transaction, link).link_types)
    if not isinstance(answer, Accepted):
        raise invalid(answer.faults)
    return answer.commands[: len(raw)]


def _stored(commands: Sequence[AnyCommand]) -> str:
    return json.dumps([[command.type, command.params()] for command in commands], ensure_ascii=False)


def _wishes_of(row: Row) -> tuple[AnyCommand, ...]:
    return tuple(command_from(command_type, params) for command_type, params in json.loads(row["commands"]))


def _plan_row(transaction: Transaction, link: str, plan_id: int) -> Row:
    row = transaction.one("plan", link=link, id=plan_id)
    if row is None:
        raise unknown(Said(f"plan {plan_id}", f"план {plan_id}"))
    return row


def _policy(transaction: Transaction, link: str) -> Policy:
    return link_settings(transaction, link).pacing


def _conflict(english: str, russian: str) -> Refusal:
    return Refusal("conflict", Said(english, russian), hint=Said("plan it again", "составьте план заново"))
