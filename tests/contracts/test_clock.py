"""One suite for the ports of time and chance, over the real adapters and the simulated ones."""

import re

import pytest

from relay.clock import SystemClock, SystemIds
from relay.ports import Clock, Ids
from tests.simulation.clock import SimulatedClock, SimulatedIds


@pytest.fixture(params=[SystemClock, SimulatedClock])
def clock(request: pytest.FixtureRequest) -> Clock:
    made: Clock = request.param()
    return made


@pytest.fixture(params=[SystemIds, SimulatedIds])
def ids(request: pytest.FixtureRequest) -> Ids:
    made: Ids = request.param()
    return made


def test_sleeping_moves_both_clocks_on_by_at_least_that_long(clock: Clock) -> None:
    monotonic, wall = clock.monotonic(), clock.wall()
    clock.sleep(0.02)
    assert clock.monotonic() - monotonic >= 0.02 - 1e-9
    assert clock.wall() - wall >= 0.019  # the system's wall clock may be slewed


@pytest.mark.parametrize("seconds", [0.0, -1.0, -3600.0])
def test_sleeping_for_nothing_or_less_does_not_go_back(clock: Clock, seconds: float) -> None:
    before = clock.monotonic()
    clock.sleep(seconds)
    assert clock.monotonic() >= before


def test_the_wall_clock_shows_a_date_of_this_century(clock: Clock) -> None:
    assert 1_700_000_000 < clock.wall() < 4_000_000_000


def test_a_boot_keeps_its_name(clock: Clock) -> None:
    first = clock.boot_id()
    clock.sleep(0.01)
    assert first == clock.boot_id() != ""


def test_ids_are_32_hexadecimal_digits_and_never_repeat(ids: Ids) -> None:
    made = [ids.new_id() for _ in range(1_000)]
    assert len(set(made)) == 1_000
    assert all(re.fullmatch(r"[0-9a-f]{32}", one) for one in made)


def test_a_simulated_reboot_starts_another_boot_and_keeps_the_date_going() -> None:
    clock = SimulatedClock()
    before = clock.wall()
    clock.reboot(60.0)
    assert clock.boot_id() != SimulatedClock().boot_id()
    assert clock.wall() == pytest.approx(before + 60.0)
    assert clock.monotonic() < 100
