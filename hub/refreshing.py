"""When the mirror is read anew by itself. The rule alone; `service.renewing` carries it out."""

from dataclasses import dataclass
from typing import Final

LOOK_SECONDS: Final = 30.0  # between two looks: an automatic refresh is a matter of minutes
MAX_REFRESHES: Final = 10  # commands of one automatic batch, a thousand keys each; what is left has its turn after it


@dataclass(frozen=True, slots=True)
class Standing:
    """How a link stands. `mirror_age` is that of the oldest reading, None for an empty mirror; `last_auto_age` that
    of the newest automatic batch, None where there was none. All in seconds."""

    every_minutes: int
    mirror_age: float | None
    last_auto_age: float | None
    agent_online: bool
    paused: bool
    waiting: int


def refresh_due(standing: Standing) -> bool:
    """Whether a refresh goes out now: the mirror is old enough, the agent is there and has nothing else to do.

    One that failed left the mirror as old as it was, so the next one waits the whole time again.
    """
    every = standing.every_minutes * 60.0
    if every <= 0 or standing.mirror_age is None or standing.mirror_age < every:
        return False
    if standing.last_auto_age is not None and standing.last_auto_age < every:
        return False
    return standing.agent_online and not standing.paused and standing.waiting == 0
