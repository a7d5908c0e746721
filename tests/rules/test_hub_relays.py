"""When the relay of a link that ended for want of a disk begins again. The clock is a number."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from hub.relays import LONGEST_PAUSE_SECONDS, LOOK_SECONDS, LinkRelay
from relay import AlreadyRunning, RelayError, RelayStatus, StateUnusable

FULL = StateUnusable("the local memory cannot be used: the disk is full")


class Life:
    """A server whose start meets `fault`."""

    def __init__(self, fault: RelayError | None) -> None:
        self.refusal: RelayError | None = None
        self.fault = fault
        self.calls: list[str] = []

    def start(self) -> None:
        self.calls.append("start")
        self.refusal = self.fault
        if self.refusal is not None:
            raise self.refusal

    def stop(self) -> None:
        self.calls.append("stop")

    def status(self) -> RelayStatus:
        detail = str(self.refusal or "")
        return RelayStatus("hub", "main", "stuck" if detail else "ok", detail, *[None] * 3, False, 0, 0, False, 0, {})


class Lives:
    """What a hub makes one after the other."""

    def __init__(self, *faults: RelayError | OSError | None) -> None:
        self._faults = iter(faults)
        self.made: list[Life] = []

    def __call__(self) -> Life:
        fault = next(self._faults)
        if isinstance(fault, OSError):
            raise fault
        self.made.append(Life(fault))
        return self.made[-1]


def begun(*faults: RelayError | OSError | None) -> tuple[LinkRelay, Lives]:
    lives = Lives(None, *faults)
    relay = LinkRelay("main", lives)
    relay.start()
    return relay, lives


def driven(step: Callable[[float], float], until: float) -> list[float]:
    """The moments at which it was woken."""
    woken = [0.0]
    while (wake := step(woken[-1])) <= until:
        woken.append(wake)
    return woken


def test_a_relay_that_serves_is_looked_at_and_left_alone() -> None:
    relay, lives = begun()
    assert {later - earlier for earlier, later in pairwise(driven(relay.step, 100.0))} == {LOOK_SECONDS}
    assert [life.calls for life in lives.made] == [["start"]]


def test_a_relay_that_the_disk_ended_begins_again_after_bounded_pauses_and_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    relay, lives = begun(*[FULL] * 4, OSError(28, "No space left on device"), None)
    lives.made[0].refusal = FULL
    woken = driven(relay.step, 195.0)
    assert [later - earlier for earlier, later in pairwise(woken)] == [5.0, 10.0, 20.0, 40.0, 60.0, 60.0]
    assert [life.calls[:2] for life in lives.made] == [["start", "stop"]] * 5 + [["start"]]
    assert relay.status()["share"] == "ok"
    assert caplog.messages == [
        f"the relay of the link main waits for the local disk: {FULL}",
        "the relay of the link main goes on",
    ]


def test_a_relay_that_ends_soon_after_it_began_again_waits_longer() -> None:
    relay, lives = begun(None, None)
    lives.made[0].refusal = FULL
    assert (relay.step(0.0), relay.step(5.0)) == (5.0, 10.0)
    lives.made[1].refusal = FULL
    assert (relay.step(10.0), relay.step(20.0)) == (20.0, 25.0)
    lives.made[2].refusal = FULL
    assert relay.step(20.0 + LONGEST_PAUSE_SECONDS) == 20.0 + LONGEST_PAUSE_SECONDS + 5.0


def test_a_relay_that_waits_says_so() -> None:
    relay, lives = begun()
    lives.made[0].refusal = FULL
    assert relay.status()["detail"] == f"{FULL}; the hub goes on by itself then"


def test_a_relay_that_another_process_has_replaced_stays_ended(caplog: pytest.LogCaptureFixture) -> None:
    relay, lives = begun(AlreadyRunning("held by process 7"))
    lives.made[0].refusal = FULL
    driven(relay.step, 1_000.0)
    assert [life.calls for life in lives.made] == [["start", "stop"], ["start"]]
    assert "held by process 7; restart the hub" in caplog.messages[-1]


def test_a_stopped_relay_never_begins_again() -> None:
    relay, lives = begun(None)
    lives.made[0].refusal = FULL
    relay.step(0.0)
    relay.stop()
    driven(relay.step, 100.0)
    assert [life.calls for life in lives.made] == [["start", "stop"]]
