"""Whether a database is the one this hub last wrote to. The rule alone; `service.taking_over` carries it out."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

ID_JUMP: Final = 1_000_000  # more commands than anybody creates between a copy and its restoring


@dataclass(frozen=True, slots=True)
class Mark:
    """What a hub remembers beside its database: its epoch, the newest event it committed; `restored` by a command."""

    epoch: str
    event_id: int
    restored: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """What the database says of itself; `former` are the epochs it had before, none for one never restored."""

    epoch: str
    event_id: int
    former: Collection[str] = ()


def is_restored(mark: Mark | None, standing: Standing) -> bool:
    """Whether the database is older than the mark, or another hub's: what was done since is not in it (H18, H20)."""
    if mark is None:
        return False
    if mark.restored:
        return True
    if mark.epoch == standing.epoch:
        return standing.event_id < mark.event_id
    # Another hub on the same database has seen it and taken over already; a foreign base knows nothing of our epoch.
    return mark.epoch not in standing.former


@dataclass(frozen=True, slots=True)
class Epochs:
    """The epoch of today, and those before it with the newest command each of them knew, oldest first."""

    today: str
    former: Sequence[tuple[int, str]] = ()

    def of(self, command_id: int) -> str:
        """The epoch a command was created in: what marks its issue must outlast a restoring, or it is made twice."""
        return next((epoch for newest, epoch in self.former if command_id <= newest), self.today)
