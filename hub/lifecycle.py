"""The life of a command: one table of moves. README's diagram is printed from it, the database is checked with it."""

from dataclasses import dataclass
from typing import Final, Literal

from hub.errors import IllegalMove
from protocol.messages import TERMINAL, Status

Cause = Literal[
    "claim", "cancel", "definer_lost", "senseless", "report_done", "report_failed", "limit", "force", "confirm"
]


@dataclass(frozen=True, slots=True)
class Move:
    """One way out of a status; `says` is its label in the diagram."""

    source: Status
    cause: Cause
    target: Status
    says: str


MOVES: Final[tuple[Move, ...]] = (
    Move("queued", "claim", "claimed", "claim"),
    Move("queued", "cancel", "cancelled", "person cancels"),
    Move("queued", "definer_lost", "skipped", "definer failed, cancelled or skipped"),
    # Two temporary keys may turn out to be one issue: a link of an issue with itself is no wish any more.
    Move("queued", "senseless", "failed", "real keys make it senseless"),
    Move("claimed", "claim", "claimed", "claim, redelivery"),
    Move("claimed", "report_done", "done", "report"),
    Move("claimed", "report_failed", "failed", "report"),
    Move("claimed", "limit", "failed", "claim after 3 deliveries"),
    Move("claimed", "force", "cancelled", "person cancels, force"),
    Move("claimed", "confirm", "confirmed_by_state", "a refresh shows the wish"),
)
_TARGETS: Final = {(move.source, move.cause): move.target for move in MOVES}


def after(status: Status, cause: Cause) -> Status:
    """The status that `cause` leads to; raises `IllegalMove` where the table has no such move."""
    try:
        return _TARGETS[status, cause]
    except KeyError:
        raise IllegalMove(f"{status} --{cause}-->") from None


def allowed(source: Status, target: Status) -> bool:
    """Whether some move leads from `source` to `target`."""
    return any(move.source == source and move.target == target for move in MOVES)


def diagram() -> str:
    """The table as text, one line a move, then the statuses nothing leads out of."""
    source_width = max(len(move.source) for move in MOVES)
    says_width = max(len(move.says) for move in MOVES)
    lines = [
        f"{move.source:<{source_width}} ── {move.says} {'─' * (says_width - len(move.says))}─► {move.target}"
        for move in MOVES
    ]
    return "\n".join((*lines, f"terminal: {', '.join(sorted(TERMINAL))}"))
