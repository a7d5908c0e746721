"""What a side is made with, what it tells of itself, and what it hands its messages to. Shapes only."""

import os
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from relay.beacon import Beacon
from relay.errors import ShareState
from relay.frames import Side
from relay.link import Link, Received
from relay.ports import Clock, Folder, Ids
from relay.profile import Durability, Profile
from relay.state import State


@dataclass(frozen=True, slots=True)
class Settings:
    """Where and how a side works."""

    folder: str | os.PathLike[str] | Folder
    side: Side
    state_dir: str | os.PathLike[str] | None = None
    durability: Durability = "full"
    clock: Clock | None = None
    ids: Ids | None = None
    profile: Profile | None = None
    key_file: str | os.PathLike[str] | None = None


@dataclass(frozen=True, slots=True)
class RelayStatus:
    """How a side is, at one moment. Seconds; `None` where it is not known yet."""

    side: Side
    link: str | None
    share: ShareState
    detail: str
    epoch: str | None
    life: int | None
    peer_heard_seconds: float | None
    peer_online: bool
    in_flight: int
    waiting: int
    watching: bool
    announced_share: float
    counters: dict[str, int]
    paired: bool = False
    latency_seconds: float | None = None
    round_trips: dict[str, Any] | None = None
    share_profile: dict[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """The same, ready for JSON."""
        return asdict(self)


class Exchange(Protocol):
    """What is done with messages. All of it is called by the driver, between two waits."""

    gives_way: bool
    """Whether to end when another process has become this side."""

    def open(self, state: State, link: Link, beacon: Beacon) -> None:
        """The share was found: go on where the last life ended."""
        ...

    def handle(self, item: Any, now: float) -> None:
        """Something a user or a handler submitted."""
        ...

    def take(self, received: Received, now: float) -> None:
        """Messages and acknowledgements that a frame brought."""
        ...

    def prepare(self, now: float) -> bool:
        """Write down what has to be durable before anything goes out; whether to commit now.

        A commit outlives this process at once, and this machine from the next publication on.
        """
        ...

    def settle(self) -> None:
        """Everything is committed: start handlers."""
        ...

    def requests_open(self) -> bool:
        """Whether a reply is waited for, here or there."""
        ...

    def wake_at(self) -> float:
        """When `prepare` has something to do by itself."""
        ...

    def close(self) -> None:
        """The last word before the state is closed."""
        ...

    def failed(self, error: BaseException) -> None:
        """The driver has died of a mistake of ours; nobody may wait for it any more."""
        ...

    def counters(self) -> dict[str, int]:
        """For the status."""
        ...
