"""Time and chance that move only when told to: the simulated adapters of `relay.ports`."""

import random


class SimulatedClock:
    """A clock whose sleep takes no time. `step_wall` moves the wall clock alone; `reboot` starts another boot."""

    def __init__(self, wall: float = 1_791_900_000.0) -> None:
        self._wall_offset = wall
        self._monotonic = 1_000.0
        self._boot = 1

    def wall(self) -> float:
        return self._wall_offset + self._monotonic

    def monotonic(self) -> float:
        return self._monotonic

    def sleep(self, seconds: float) -> None:
        self._monotonic += max(seconds, 0.0)

    def boot_id(self) -> str:
        return f"boot-{self._boot}"

    def step_wall(self, seconds: float) -> None:
        """The wall clock jumps; the monotonic one does not notice."""
        self._wall_offset += seconds

    def reboot(self, down_seconds: float) -> None:
        """The machine was off for `down_seconds`; its monotonic clock starts anew."""
        wall = self.wall() + down_seconds
        self._monotonic, self._boot = 5.0, self._boot + 1
        self._wall_offset = wall - self._monotonic


class SimulatedIds:
    """Ids from a seed: the same seed gives the same run."""

    def __init__(self, seed: int = 1) -> None:
        self._chance = random.Random(seed)

    def new_id(self) -> str:
        return f"{self._chance.getrandbits(128):032x}"
