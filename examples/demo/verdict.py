"""What really happened, counted from the fake Jira's request journal and the hub's database. Pure: nobody is asked."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

# Two stamps of one clock in two processes: the server notes a request a little after the client sent it.
STAMP_SECONDS: Final = 0.005


@dataclass(frozen=True, slots=True)
class Call:
    """One request as the fake Jira noted it. `at` in Unix seconds; `wrote`: it changed something."""

    at: float
    method: str
    path: str
    body: Any
    wrote: bool


@dataclass(frozen=True, slots=True)
class Work:
    """One command as the hub's database has it, times in Unix seconds; `claimed_at` is that of the first delivery."""

    id: int
    type: str
    status: str
    deliveries: int
    claimed_at: float | None
    finished_at: float | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The figures of the demo's last line."""

    done: int
    failed: int
    unfinished: int
    issues_created: int
    duplicate_writes: int
    gaps_broken: int
    smallest_margin_seconds: float | None
    jira_calls: int
    frames_lost: int
    redeliveries: int
    agent_kills: int
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether the demo showed what it is there to show."""
        clean = not (self.failed or self.unfinished or self.duplicate_writes or self.gaps_broken)
        return clean and self.done > 0 and self.frames_lost > 0 and self.agent_kills > 0


def duplicate_writes(calls: Iterable[Call]) -> int:
    """Writes that Jira executed more than once: the same method, path and body again."""
    written = Counter(
        (call.method, call.path, json.dumps(call.body, sort_keys=True, ensure_ascii=False))
        for call in calls
        if call.wrote
    )
    return sum(times - 1 for times in written.values())


def margins(
    calls: Sequence[Call], works: Iterable[Work], gaps: Mapping[str, float], kills: Sequence[float]
) -> list[float]:
    """For every pause that was owed: how much longer than the gap it was, in seconds; negative where it was broken.

    Owed are the pause before a command's first call, before the first call after a death of the agent, and between
    two writes of one command. One command is in flight at a time, so a moment names its command.
    """
    spans = sorted(
        (work.claimed_at, work.finished_at or float("inf"), work) for work in works if work.claimed_at is not None
    )
    result = []
    before: Call | None = None
    owner_before: int | None = None
    last_write: Call | None = None
    for call in sorted(calls, key=lambda call: call.at):
        work = next((work for start, end, work in spans if start <= call.at <= end), None)
        owner = work.id if work else None
        killed = before is not None and any(before.at < kill < call.at for kill in kills)
        first = owner != owner_before or killed
        since = before if first else last_write if call.wrote else None
        if work is not None and since is not None:
            result.append(call.at - since.at - gaps[work.type])
        last_write = call if call.wrote else None if first else last_write
        before, owner_before = call, owner
    return result


def verdict(
    calls: Sequence[Call],
    works: Sequence[Work],
    *,
    gaps: Mapping[str, float],
    kills: Sequence[float],
    frames_lost: int,
    seconds: float,
) -> Verdict:
    """All figures of one run."""
    ends = Counter(work.status for work in works)
    over = margins(calls, works, gaps, kills)
    finished = ends["done"] + ends["confirmed_by_state"]
    return Verdict(
        done=finished,
        failed=ends["failed"] + ends["skipped"],
        unfinished=len(works) - finished - ends["failed"] - ends["skipped"],
        issues_created=sum(call.wrote and call.path.rstrip("/").endswith("/rest/api/2/issue") for call in calls),
        duplicate_writes=duplicate_writes(calls),
        gaps_broken=sum(margin < -STAMP_SECONDS for margin in over),
        smallest_margin_seconds=round(min(over), 3) if over else None,
        jira_calls=len(calls),
        frames_lost=frames_lost,
        redeliveries=sum(max(work.deliveries - 1, 0) for work in works),
        agent_kills=len(kills),
        seconds=round(seconds, 1),
    )
