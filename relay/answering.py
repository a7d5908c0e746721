"""The serving side of an exchange: what a request, a withdrawal or an answer leads to. Nothing is started in here."""

from dataclasses import dataclass
from typing import Literal

from relay.delivery import GiveUp, Run, next_delivery

Stage = Literal["running", "withdrawn", "answered"]


@dataclass(frozen=True, slots=True)
class Known:
    """What is remembered of a request id. `alive`: its handler runs in this process, at this moment."""

    stage: Stage
    deliveries: int
    alive: bool = False


@dataclass(frozen=True, slots=True)
class Repeat:
    """Send the stored reply again, byte for byte (P7)."""


@dataclass(frozen=True, slots=True)
class Wait:
    """The handler is at it; its answer will be sent when it comes."""


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Tell the running handler that nobody waits any more."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Never start it."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """There is nothing to do."""


def on_request(known: Known | None) -> Run | GiveUp | Repeat | Wait:
    """A request came in, for the first time or again.

    A request that was withdrawn and comes again is wanted again: frames are taken in order, so it is newer.
    """
    if known is None:
        return next_delivery(0)
    if known.stage == "answered":
        return Repeat()
    if known.alive:
        return Wait()
    return next_delivery(known.deliveries)


def on_withdrawal(known: Known | None) -> Interrupt | Drop | Nothing:
    """Nobody waits for the reply any more. An answer that is given all the same is kept, and not sent."""
    if known is None or known.stage != "running":
        return Nothing()
    return Interrupt() if known.alive else Drop()


def on_start_up(known: Known) -> Run | GiveUp | Nothing:
    """What becomes of a request whose handler was running when the last process ended."""
    return next_delivery(known.deliveries) if known.stage == "running" else Nothing()


def on_answer(stage: Stage) -> bool:
    """Whether the answer that has just come is to be sent: it is kept in any case."""
    return stage != "withdrawn"
