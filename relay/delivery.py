"""How often a request may be handed to its handler: counted before each start, so a handler that kills us is found."""

from dataclasses import dataclass
from typing import Final

MAX_DELIVERIES: Final = 3  # a power cut may hit an innocent handler once, bad luck twice; the third is its own doing


# A handler on its last chance runs while no other is started: if it kills the process, nobody else is suspected. One
# that lives longer than this did not kill it the times before; its count begins anew.
TRIAL_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Run:
    """Start the handler as delivery number `deliveries`, once that number is durable."""

    deliveries: int


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Answer 508 `delivery_limit` instead of starting the handler again."""


def next_delivery(deliveries: int) -> Run | GiveUp:
    """What to do with a request started `deliveries` times before without ever coming to an answer."""
    return Run(deliveries + 1) if deliveries < MAX_DELIVERIES else GiveUp()


def on_trial(deliveries: int) -> bool:
    """Whether this start is the last chance, after all before it ended with the process."""
    return deliveries >= MAX_DELIVERIES
