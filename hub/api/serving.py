"""Which links an app serves, which of them a request means, and how their relays are. No route in here."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hub.batching import nearest
from hub.errors import Refusal, Said, Wrong, invalid

RelayStatus = Callable[[], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Served:
    """The links of a hub by name, each with how its relay is; `default` is meant where a request names none.

    `with_others`: other hubs may serve other links of the same database, so these may be named too.
    """

    relays: Mapping[str, RelayStatus]
    default: str | None
    with_others: bool = False

    def relay_of(self, link: str) -> Mapping[str, Any] | None:
        """How the relay of this link is; None where another hub has it."""
        status = self.relays.get(link)
        return None if status is None else status()


def unnamed(links: Iterable[str]) -> Refusal:
    """No link was named, and there are several."""
    known = ", ".join(links)
    return invalid((Wrong("link", Said(f"name one of {known}", f"назовите один из: {known}")),))


def not_served(link: str, links: Iterable[str]) -> Refusal:
    """A batch for a link without an agent would wait for ever; most often its name is mistyped."""
    names = sorted(links)
    known = ", ".join(names)
    text = Said(f"{link} is not served by this hub; {known} is", f"{link} здесь нет; есть только {known}")
    return invalid((Wrong("link", text, nearest(link, names)),))
