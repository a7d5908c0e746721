"""When the next Jira call may start: pure functions of the last call and of now. No waiting in here (P3).

Moments are monotonic seconds of this boot. Wall time decides nothing: it jumps, and the seeds' rule, built on it,
broke the gap in 896 of 2,352 enumerated restarts.
"""

from dataclasses import dataclass
from typing import Final

MAX_GAP: Final = 86_400.0  # seconds; whoever wants longer pauses the link


@dataclass(frozen=True, slots=True)
class LastCall:
    """The newest call the journal knows of; `ended` is None while nothing tells that it has ended."""

    boot_id: str
    started: float
    ended: float | None


@dataclass(frozen=True, slots=True)
class Life:
    """This run of the agent: its boot, and the moment it started, before which no call of it can have been."""

    boot_id: str
    started: float


def call_allowed_at(last: LastCall | None, life: Life, gap_seconds: float, now: float) -> float:
    """The earliest moment of the next call.

    Where the last call's end is not known for sure (no record, another boot, killed inside the call, a moment in
    the future) it counts as having ended when this life began: nobody else calls, and that is never too early.
    """
    return _known_end(last, life, now) + gap_seconds


def _known_end(last: LastCall | None, life: Life, now: float) -> float:
    if last is None or last.boot_id != life.boot_id:
        return life.started
    if last.ended is None or last.ended > now:
        return max(life.started, min(last.started, now))
    return last.ended


def settled_at(boot_id: str, sent: float, life: Life, window_seconds: float, now: float) -> float:
    """The moment from which a write of unknown outcome, sent at `sent`, can no longer take effect unseen.

    Sent in another boot: the whole window from the start of this life, as nothing tells how long ago it was.
    """
    if boot_id != life.boot_id or sent > now:
        return life.started + window_seconds
    return sent + window_seconds


def gap(pause_seconds: float, floor_seconds: float) -> float:
    """The gap to keep: the hub's, but never below the agent's own floor, whatever the hub says."""
    return min(max(pause_seconds, floor_seconds), MAX_GAP)
