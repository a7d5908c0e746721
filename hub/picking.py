"""What a claim hands out next: redelivery before new work, the limit of deliveries, readiness by temporary keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from protocol.messages import Status

MAX_DELIVERIES: Final = (
    3  # one lost answer per share hiccup, twice over; a command that kills the agent must not hold the queue
)
_LOST: Final[frozenset[Status]] = frozenset({"failed", "cancelled", "skipped"})


@dataclass(frozen=True, slots=True)
class Claimed:
    """A command handed out and not reported. `claimed_at` is an ISO time of the latest delivery."""

    id: int
    claimed_at: str
    deliveries: int


@dataclass(frozen=True, slots=True)
class Deliver:
    id: int
    deliveries: int


@dataclass(frozen=True, slots=True)
class GiveUp:
    id: int


@dataclass(frozen=True, slots=True)
class Idle:
    pass


def next_delivery(claimed: Sequence[Claimed], next_queued_id: int | None) -> Deliver | GiveUp | Idle:
    """Choose one action; after `GiveUp` the caller asks again, for the queue has changed.

    An agent claims only with empty hands, so whatever is still claimed was lost on the
    way or with the agent: the oldest goes out again before anything new does.
    """
    if claimed:
        oldest = min(claimed, key=lambda command: (command.claimed_at, command.id))
        if oldest.deliveries < MAX_DELIVERIES:
            return Deliver(oldest.id, oldest.deliveries + 1)
        return GiveUp(oldest.id)
    return Idle() if next_queued_id is None else Deliver(next_queued_id, deliveries=1)


@dataclass(frozen=True, slots=True)
class Definer:
    """The `ensure_issue` that a temporary key of its batch stands for; `key` is the real one once it is done."""

    command_id: int
    status: Status
    key: str | None


@dataclass(frozen=True, slots=True)
class Ready:
    """Deliverable; `real` maps each temporary key to the key of its issue."""

    real: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Skip:
    """Never deliverable: `temporary_key` will not become an issue; `definer_id` is the command that lost it, if any."""

    temporary_key: str
    definer_id: int | None


@dataclass(frozen=True, slots=True)
class Wait:
    temporary_key: str


def readiness(needs: Sequence[str], definers: Mapping[str, Definer]) -> Ready | Skip | Wait:
    """Whether a command that uses the temporary keys `needs` can go out. One lost key is enough to skip it (P14)."""
    real: dict[str, str] = {}
    waiting: str | None = None
    for temporary_key in needs:
        definer = definers.get(temporary_key)
        if definer is None or definer.status in _LOST:
            return Skip(temporary_key, None if definer is None else definer.command_id)
        if definer.key is None:
            waiting = waiting or temporary_key
        else:
            real[temporary_key] = definer.key
    return Ready(real) if waiting is None else Wait(waiting)
