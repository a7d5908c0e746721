"""What the runner tells whoever watches it. A form, no behaviour."""

from dataclasses import dataclass

from protocol.messages import Delivery, Report


@dataclass(frozen=True, slots=True)
class Event:
    """Something a person may want to see. `name` is claimed, waiting, ended, blocked, unblocked, lost, back, refused,
    full, closed or rehearsed; `until` a monotonic moment, of `ended` the earliest one of a next call."""

    name: str
    text: str = ""
    delivery: Delivery | None = None
    report: Report | None = None
    until: float | None = None
