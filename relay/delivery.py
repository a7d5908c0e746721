"""How often a request may be handed to its handler: counted before each start, so a handler that kills us is found."""

from dataclasses import dataclass
from typing import Final

MAX_DELIVERIES: Final = 3  # a power cut may hit an innocent handler once, bad luck twice; the third is its own doing


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
