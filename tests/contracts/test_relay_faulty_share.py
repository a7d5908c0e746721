"""The testing kit itself: each fault does what its name says, each kind of share has its habits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.errors import FrameGone, ShareFault
from relay.testing import FAULT_KINDS, HABITS, Fault, FaultyShare, Habits
from relay.testing.habits import ON_LISTING, ON_PUBLISH, ON_READING
from relay.testing.strategies import fault_schedules

FIRST, SECOND = "0123456789ab-00000001-00.json", "0123456789ab-00000002-00.json"


class HandClock:
    """Time that moves when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def wall(self) -> float:
        return 1_000_000.0 + self.now

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def boot_id(self) -> str:
        return "boot"


CALM = Habits()


class Scene:
    """A share with one fault, the agent writing and the hub reading."""

    def __init__(self, *faults: Fault, habits: Habits | str = CALM) -> None:
        self.time = HandClock()
        self.share = FaultyShare(habits, faults=faults, clock=self.time, pace=1.0)
        self.hub, self.agent = self.share.view("hub"), self.share.view("agent")

    def publish(self, *names: str) -> None:
        for name in names:
            self.agent.publish(name, b"whole " + name.encode(), durable=True)

    def read(self, name: str = FIRST) -> bytes:
        return self.hub.read(name, 1_000)


WHOLE = b"whole " + FIRST.encode()


def test_every_kind_of_fault_strikes_exactly_one_sort_of_operation() -> None:
    assert set(FAULT_KINDS) == ON_PUBLISH | ON_LISTING | ON_READING
    assert len(ON_PUBLISH) + len(ON_LISTING) + len(ON_READING) == len(FAULT_KINDS)
    assert all(set(habits.weather) <= set(FAULT_KINDS) for habits in HABITS.values())


def test_a_lost_file_never_shows_but_is_its_writers() -> None:
    scene = Scene(Fault("lost", "agent", 0))
    scene.publish(FIRST, SECOND)
    scene.time.now += 1_000
    assert scene.hub.arrivals() == [SECOND]
    assert scene.agent.own() == [FIRST, SECOND]


@pytest.mark.parametrize("kind", ["late", "reordered"])
def test_a_late_file_shows_after_those_that_followed_it(kind: str) -> None:
    scene = Scene(Fault("late" if kind == "late" else "reordered", "agent", 0, 5.0))
    scene.publish(FIRST, SECOND)
    assert scene.hub.arrivals() == [SECOND]
    scene.time.now += 5
    assert set(scene.hub.arrivals()) == {FIRST, SECOND}


@pytest.mark.parametrize(("kind", "looks"), [("truncated", WHOLE[:17]), ("nul_filled", WHOLE[:17] + bytes(18))])
def test_a_spoilt_file_becomes_whole(kind: str, looks: bytes) -> None:
    scene = Scene(Fault("truncated" if kind == "truncated" else "nul_filled", "agent", 0, 5.0))
    scene.publish(FIRST)
    assert scene.read() == looks
    scene.time.now += 5
    assert scene.read() == WHOLE


def test_old_content_has_the_new_length() -> None:
    scene = Scene(Fault("old_content", "agent", 1, 5.0))
    scene.publish(FIRST, SECOND)
    assert scene.read(SECOND) == WHOLE
    scene.time.now += 5
    assert scene.read(SECOND) == b"whole " + SECOND.encode()


@pytest.mark.parametrize("kind", ["doubled", "resurrected"])
def test_a_deleted_file_comes_back_with_its_content(kind: str) -> None:
    scene = Scene(Fault("doubled" if kind == "doubled" else "resurrected", "agent", 0, 5.0))
    scene.publish(FIRST)
    scene.agent.delete(FIRST)
    assert (scene.hub.arrivals(), scene.agent.own()) == ([], [])
    scene.time.now += 5
    assert (scene.hub.arrivals(), scene.read()) == ([FIRST], WHOLE)


def test_a_conflict_copy_bears_a_foreign_name() -> None:
    scene = Scene(Fault("conflict_copy", "agent", 0))
    scene.publish(FIRST)
    assert sorted(scene.hub.arrivals()) == [FIRST, FIRST[:-5] + ".sync-conflict-20261130-120000-ABCDEFG.json"]


def test_a_stale_listing_shows_what_was_there_and_nothing_newer() -> None:
    scene = Scene(Fault("stale_listing", "hub", 1, 5.0))
    scene.publish(FIRST)
    assert scene.hub.arrivals() == [FIRST]
    assert scene.hub.arrivals() == [FIRST]
    scene.publish(SECOND)
    assert scene.hub.arrivals() == [FIRST]
    scene.time.now += 5
    assert scene.hub.arrivals() == [FIRST, SECOND]


def test_a_stale_negative_hides_a_listed_file() -> None:
    scene = Scene(Fault("stale_negative", "hub", 0, 5.0))
    scene.publish(FIRST)
    for _ in range(2):
        with pytest.raises(FrameGone):
            scene.read()
    scene.time.now += 5
    assert scene.read() == WHOLE


@pytest.mark.parametrize(
    ("kind", "state"), [("enospc", "full"), ("readonly", "readonly"), ("sharing_violation", "lost")]
)
def test_refused_writes_leave_nothing_and_pass(kind: str, state: str) -> None:
    (found,) = (each for each in FAULT_KINDS if each == kind)
    scene = Scene(Fault(found, "agent", 0, 5.0))
    with pytest.raises(ShareFault) as fault:
        scene.publish(FIRST)
    assert fault.value.state == state
    assert scene.hub.arrivals() == []
    scene.time.now += 5
    scene.publish(FIRST)
    assert scene.read() == WHOLE


@pytest.mark.parametrize("kind", ["eio", "enotconn"])
def test_an_outage_fails_every_operation_of_its_side_alone(kind: str) -> None:
    scene = Scene(Fault("eio" if kind == "eio" else "enotconn", "hub", 0, 5.0))
    scene.publish(FIRST)
    for attempt in (scene.hub.arrivals, scene.hub.beacon, scene.hub.check, scene.hub.own, scene.read):
        with pytest.raises(ShareFault):
            attempt()
    assert scene.agent.own() == [FIRST]
    scene.time.now += 5
    assert scene.hub.arrivals() == [FIRST]


def test_an_unmounted_share_is_an_empty_folder_that_swallows_what_is_written() -> None:
    scene = Scene(Fault("unmounted", "agent", 0, 5.0))
    scene.publish(FIRST)
    assert scene.agent.arrivals() == []
    with pytest.raises(ShareFault):
        scene.agent.check()
    scene.publish(SECOND)
    assert scene.hub.arrivals() == [FIRST]
    scene.time.now += 5
    scene.agent.beacon()
    assert scene.agent.check()


def test_a_clock_step_moves_the_wall_alone() -> None:
    scene = Scene(Fault("clock_step", "agent", 0, -3_600.0))
    wall, now = scene.share.clock.wall(), scene.share.clock.monotonic()
    scene.publish(FIRST)
    assert (scene.share.clock.wall(), scene.share.clock.monotonic()) == (wall - 3_600, now)


def test_estale_is_over_at_the_next_look() -> None:
    scene = Scene(Fault("estale", "hub", 0))
    scene.publish(FIRST)
    with pytest.raises(FrameGone):
        scene.read()
    scene.time.now += 0.01
    assert scene.read() == WHOLE


@pytest.mark.parametrize("kind", HABITS)
def test_a_kind_of_share_shows_and_forgets_files_by_its_habits(kind: str) -> None:
    scene = Scene(habits=kind)
    habits = HABITS[kind]
    scene.publish(FIRST)
    assert (scene.hub.arrivals() == [FIRST]) is (habits.appears_seconds == 0)
    scene.time.now += habits.appears_seconds
    assert scene.hub.arrivals() == [FIRST]
    scene.time.now += habits.opens_seconds + habits.unwhole_seconds
    assert scene.read() == WHOLE
    scene.agent.delete(FIRST)
    assert (scene.hub.arrivals() == [FIRST]) is (habits.vanishes_seconds > 0)
    with pytest.raises(FrameGone):
        scene.read()
    scene.time.now += habits.vanishes_seconds
    assert scene.hub.arrivals() == []


@given(st.integers(0, 1_000))
def test_the_same_seed_brings_the_same_weather(seed: int) -> None:
    def weather() -> dict[str, int]:
        share = FaultyShare("syncthing", weather=0.3, seed=seed, clock=HandClock())
        for number in range(30):
            share.view("agent").publish(f"0123456789ab-{number:08d}-00.json", b"x", durable=True)
        return dict(share.struck)

    assert weather() == weather()


def test_calm_ends_every_fault() -> None:
    scene = Scene(Fault("lost", "agent", 0), Fault("truncated", "agent", 1, 1e9), Fault("eio", "agent", 0, 0.0))
    scene.publish(FIRST, SECOND)
    scene.share.calm()
    assert set(scene.hub.arrivals()) == {FIRST, SECOND}
    assert scene.read(SECOND) == b"whole " + SECOND.encode()


@given(fault_schedules(kinds=("lost", "late"), sides=("agent",), most=3, within=5))
def test_schedules_hold_to_what_they_were_asked_for(faults: tuple[Fault, ...]) -> None:
    assert len(faults) <= 3
    for fault in faults:
        assert (fault.kind in ("lost", "late"), fault.side, 0 <= fault.nth < 5) == (True, "agent", True)
