"""How far a batch is: a pure answer from what the hub shows and the time. No I/O, no formatting."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from protocol.messages import TERMINAL


@dataclass(frozen=True, slots=True)
class Progress:
    """`pause_seconds` is what is left of the current command's gap at most, `seconds_left` what the gaps still cost.

    `ends_at` is the moment before which the batch cannot be at rest, in seconds since 1970.
    """

    total: int
    finished: int
    failed: int
    current: Mapping[str, Any] | None
    pause_seconds: float
    seconds_left: float
    ends_at: float

    @property
    def at_rest(self) -> bool:
        return self.finished == self.total


@dataclass(frozen=True, slots=True)
class Change:
    """A command whose status is another one than at the last look."""

    command: Mapping[str, Any]
    finished: int
    total: int


def progress(commands: Iterable[Mapping[str, Any]], gaps: Mapping[str, float], now: float) -> Progress:
    """Where `commands` stand at `now` (seconds since 1970). Gaps are the least time; Jira's answers come on top."""
    everything = list(commands)
    open_ones = [command for command in everything if command["status"] not in TERMINAL]
    current = next((command for command in open_ones if command["status"] == "claimed"), None)
    waiting = sum(gaps.get(command["type"], 0.0) for command in open_ones if command is not current)
    pause = _pause_left(current, gaps, now) if current else 0.0
    return Progress(
        total=len(everything),
        finished=len(everything) - len(open_ones),
        failed=sum(command["status"] == "failed" for command in everything),
        current=current,
        pause_seconds=pause,
        seconds_left=waiting + pause,
        ends_at=now + waiting + pause,
    )


def _pause_left(command: Mapping[str, Any], gaps: Mapping[str, float], now: float) -> float:
    """The agent counts the gap from its last Jira call, which the hub cannot see: never later than from the claim."""
    gap = gaps.get(command["type"], 0.0)
    claimed_at = command.get("claimed_at")
    since = now - datetime.fromisoformat(claimed_at).timestamp() if claimed_at else 0.0
    return min(gap, max(0.0, gap - since))


def changes(before: Mapping[int, str], commands: Iterable[Mapping[str, Any]]) -> tuple[Change, ...]:
    """The commands that moved since `before` (status by id), in their order; one queued all along says nothing."""
    everything = list(commands)
    finished = sum(command["status"] in TERMINAL for command in everything)
    return tuple(
        Change(command, finished, len(everything))
        for command in everything
        if before.get(command["id"], "queued") != command["status"]
    )
