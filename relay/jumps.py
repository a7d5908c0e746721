"""Wall and monotonic clocks part when a machine sleeps or is restored: nothing is overdue then."""

from relay.ports import Clock


class Jumps:
    """Compares the two clocks at each turn."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self.count = 0
        self._clock, self._seconds = clock, seconds
        self._before = (clock.wall(), clock.monotonic())

    def noticed(self, now: float) -> bool:
        """Whether they have parted by more than `seconds` since the last turn."""
        wall_before, before = self._before
        wall = self._clock.wall()
        self._before = (wall, now)
        jumped = abs((wall - wall_before) - (now - before)) > self._seconds
        self.count += jumped
        return jumped
