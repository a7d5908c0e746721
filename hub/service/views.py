"""What the faces show: rows turned into plain JSON values. Nothing is changed in here."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args

from pydantic_core import from_json

from hub.errors import Language
from hub.moments import seconds_between
from hub.pacing import Policy, estimate_seconds
from hub.planning import Entry
from hub.service.settings import link_settings
from hub.store.connection import Row, Transaction
from protocol.commands import AnyCommand
from protocol.messages import TERMINAL, Status

ONLINE_SECONDS: Final = 300.0  # the seeds: offline five minutes after the last word
STATUSES: Final[tuple[Status, ...]] = get_args(Status)


def command_view(row: Row | Mapping[str, Any]) -> dict[str, Any]:
    """A command as the API shows it."""
    return {
        "id": row["id"],
        "batch_id": row["batch_id"],
        "link": row["link"],
        "seq": row["seq"],
        "type": row["type"],
        "params": from_json(row["params"]),
        "status": row["status"],
        "result": _parsed(row["result"]),
        "error": row["error"],
        "jira_calls": row["jira_calls"],
        "rate_limited": row["rate_limited"],
        "deliveries": row["deliveries"],
        "first_claimed_at": row["first_claimed_at"],
        "claimed_at": row["claimed_at"],
        "finished_at": row["finished_at"],
        "held": bool(row["held"]),
        "retry_of": row["retry_of"],
        "root_id": row["root_id"] or row["id"],
    }


def command_details(transaction: Transaction, row: Row) -> dict[str, Any]:
    """A command with its timeline and the reports that came too late."""
    events = transaction.all("events_of_command", command_id=row["id"])
    late = transaction.all("late_results", command_id=row["id"])
    return {
        **command_view(row),
        "events": [event_view(event) for event in events],
        "late_results": [{"report": from_json(item["report"]), "at": item["at"]} for item in late],
    }


def event_view(row: Row) -> dict[str, Any]:
    shown = {name: row[name] for name in ("id", "from_status", "to_status", "why", "at")}
    return {**shown, "command_id": row["command_id"]} if "command_id" in row.keys() else shown  # noqa: SIM118  # a Row iterates over values


def batch_head(transaction: Transaction, row: Row) -> dict[str, Any]:
    """A batch without its commands: who, what, when, and how many stand where."""
    counted = {item["status"]: item["number"] for item in transaction.all("batch_counts", batch_id=row["id"])}
    return _head(row, counted)


def _head(row: Row | Mapping[str, Any], counted: Mapping[str, int]) -> dict[str, Any]:
    return {
        "id": row["id"],
        "link": row["link"],
        "author": row["author"],
        "title": row["title"],
        "created_at": row["created_at"],
        "cancelled_at": row["cancelled_at"],
        "held": bool(row["held"]),
        "backup_path": row["backup_path"],
        "counts": all_counts(counted),
        "finished": all(status in TERMINAL for status in counted),
    }


def batch_view(transaction: Transaction, row: Row, policy: Policy) -> dict[str, Any]:
    """A batch with its commands; `estimate_seconds` for all of it, `remaining_seconds` for what is not finished."""
    return with_commands(row, transaction.all("commands_of_batch", batch_id=row["id"]), policy)


def with_commands(
    row: Row | Mapping[str, Any], commands: Sequence[Row | Mapping[str, Any]], policy: Policy
) -> dict[str, Any]:
    """A batch and these commands of it, all of them."""
    open_types = [command["type"] for command in commands if command["status"] not in TERMINAL]
    return {
        **_head(row, Counter(command["status"] for command in commands)),
        "estimate_seconds": estimate_seconds(policy, (command["type"] for command in commands)),
        "remaining_seconds": estimate_seconds(policy, open_types),
        "commands": [command_view(command) for command in commands],
    }


def all_counts(counted: Mapping[str, int]) -> dict[str, int]:
    """Every status with its number, zeros too."""
    return {status: counted.get(status, 0) for status in STATUSES}


def plan_command_view(index: int, command: AnyCommand, entry: Entry, language: Language) -> dict[str, Any]:
    """One command of a plan: its mark, what would change, and why it would fail or cannot be told."""
    similar = entry.similar
    return {
        "seq": index + 1,
        "type": command.type,
        "params": command.params(),
        "mark": entry.mark,
        "changes": [{"field": change.field, "old": change.old, "new": change.new} for change in entry.changes],
        "why": None if entry.why is None else entry.why.in_language(language),
        "similar": None
        if similar is None
        else {"key": similar.key, "summary": similar.summary, "status": similar.status},
        "reads": entry.reads,
        "writes": entry.writes,
    }


def page(items: list[dict[str, Any]], key: str, *, more: bool) -> dict[str, Any]:
    """A page of a list; the cursor is the last item's `key` where the list goes on."""
    return {"items": items, "cursor": str(items[-1][key]) if more else None}


def issue_view(transaction: Transaction, row: Row, *, with_links: bool) -> dict[str, Any]:
    """An issue of the mirror."""
    names = [name for name in row.keys() if name not in ("id", "link", "labels")]  # noqa: SIM118  # a Row iterates over values
    shown = {**{name: row[name] for name in names}, "labels": _parsed(row["labels"]) or []}
    shown["state"] = _mirror_state(row)
    if with_links:
        links = transaction.all("links_of", link=row["link"], key=row["key"])
        note = transaction.one("note", link=row["link"], key=row["key"])
        shown["links"] = [
            {**dict(item), "managed": bool(item["managed"]), "symmetric": bool(item["symmetric"])} for item in links
        ]
        shown["note"] = None if note is None else note["text"]
    return shown


def is_online(agent: Row | None, now: str) -> bool:
    """Whether the agent was heard of lately."""
    seen = None if agent is None else agent["last_seen_at"]
    return seen is not None and seconds_between(seen, now) <= ONLINE_SECONDS


def agent_view(transaction: Transaction, link: str) -> dict[str, Any]:
    """How the agent of the link is, as it last said."""
    row = transaction.one("agent", link=link)
    shown: dict[str, Any] = dict.fromkeys(
        ("version", "last_seen_at", "current_command_id", "session", "host", "blocked")
    )
    if row is not None:
        shown = {name: row[name] for name in shown}
    if shown["current_command_id"] is not None:
        # A report does not touch the agent's row: what is over is nobody's current command.
        current = transaction.one("command", link=link, id=shown["current_command_id"])
        if current is not None and current["status"] in TERMINAL:
            shown["current_command_id"] = None
    return {
        **shown,
        "online": is_online(row, transaction.now),
        "redelivered": [
            {"id": item["id"], "type": item["type"], "claimed_at": item["claimed_at"], "deliveries": item["deliveries"]}
            for item in transaction.all("claimed_commands", link=link)
            if item["deliveries"] > 1
        ],
    }


def status_view(transaction: Transaction, link: str) -> dict[str, Any]:
    """The link at a glance: agent, queue, current command, mirror."""
    settings = link_settings(transaction, link)
    counted = {row["status"]: row["number"] for row in transaction.all("counts", link=link)}
    claimed = transaction.all("claimed_commands", link=link)
    waiting = {row["type"]: row["number"] for row in transaction.all("queued_types", link=link)}
    mirror = transaction.one("mirror_age", link=link)
    assert mirror is not None  # an aggregate always has its row
    return {
        "link": link,
        "now": transaction.now,
        "paused": settings.paused(transaction.now),
        "paused_until": settings.paused_until,
        "agent": agent_view(transaction, link),
        "counts": all_counts(counted),
        "current": [
            {
                "id": row["id"],
                "batch_id": row["batch_id"],
                "type": row["type"],
                "params": from_json(row["params"]),
                "claimed_at": row["claimed_at"],
                "deliveries": row["deliveries"],
            }
            for row in claimed
        ],
        "waiting_seconds": sum(number * settings.pacing[name] for name, number in waiting.items()),
        "mirror": dict(mirror),
        "pacing": dict(settings.pacing),
    }


def _parsed(text: str | None) -> Any:
    return None if text is None else from_json(text)


def _mirror_state(row: Row) -> str:
    """How Jira last showed the issue; `imported` where it never did."""
    if row["missing_at"]:
        return "missing"
    if row["moved_to"]:
        return "moved"
    if not row["refreshed_at"]:
        return "imported"
    return "archived" if row["archived_at"] else "present"
