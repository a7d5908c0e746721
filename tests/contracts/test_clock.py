"""One suite for the ports of time and chance, over the real adapters and every simulated one."""

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Final

import pytest

from relay.clock import SystemClock, SystemIds
from relay.ports import Clock, Ids
from relay.testing.faulty import SteppingClock
from tests.contracts import fake_jira_world, relay_by_hand
from tests.simulation.clock import SimulatedClock, SimulatedIds
from tests.simulation.virtual_time import Actor, Machine, PowerCut, Process, ProcessClock, Time


def virtual() -> ProcessClock:
    """The clock of a program in the simulated world."""
    time = Time()
    machine = Machine(time, "vm")
    return ProcessClock(time, machine, Process("agent", machine))


CLOCKS: Final[dict[str, Callable[[], Clock]]] = {
    "real": SystemClock,
    "real, its wall set by tests": lambda: SteppingClock(SystemClock()),
    "simulated": SimulatedClock,
    "virtual": virtual,
    "by hand, of the relay's tests": relay_by_hand.HandClock,
    "by hand, of the fake Jira's tests": fake_jira_world.HandClock,
}
IDS: Final[dict[str, Callable[[], Ids]]] = {
    "real": SystemIds,
    "simulated": SimulatedIds,
    "counted": relay_by_hand.CountedIds,
}


@pytest.fixture(params=CLOCKS)
def clock(request: pytest.FixtureRequest) -> Clock:
    return CLOCKS[request.param]()


@pytest.fixture(params=IDS)
def ids(request: pytest.FixtureRequest) -> Ids:
    return IDS[request.param]()


def test_sleeping_moves_both_clocks_on_by_at_least_that_long(clock: Clock) -> None:
    monotonic, wall = clock.monotonic(), clock.wall()
    clock.sleep(0.02)
    assert clock.monotonic() - monotonic >= 0.02 - 1e-9
    assert clock.wall() - wall >= 0.019  # the system's wall clock may be slewed


def test_who_sleeps_up_to_a_deadline_in_small_steps_reaches_it(clock: Clock) -> None:
    deadline = clock.monotonic() + 0.03
    for _ in range(100):  # rounding may wake a sleeper a hair early, never for ever
        left = deadline - clock.monotonic()
        if left <= 0:
            break
        clock.sleep(min(left, 0.01))
    assert clock.monotonic() >= deadline


def test_time_as_it_is_told_never_goes_back(clock: Clock) -> None:
    told = [(clock.monotonic(), clock.sleep(0.0005))[0] for _ in range(50)]
    assert told == sorted(told)


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


def test_another_process_gives_other_ids() -> None:
    """The real ones by chance alone; of the simulated ones one source serves all processes of a world."""
    program = "from relay.clock import SystemIds; print(*(SystemIds().new_id() for _ in range(100)))"
    made = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60).stdout
        for _ in range(2)
    ]
    assert len({one for line in made for one in line.split()}) == 200


# --- what only clocks can do that are set by tests: what the machine's clock does by itself, and not on demand


def of_a_machine() -> tuple[Clock, Callable[[float], None], Callable[[], None]]:
    time = Time()
    machine = Machine(time, "vm")

    def reboot() -> None:
        machine.reboot()
        time.pump(time.now + 60.0)

    return ProcessClock(time, machine, Process("agent", machine)), machine.jump, reboot


def of_the_tests() -> tuple[Clock, Callable[[float], None], Callable[[], None]]:
    clock = SimulatedClock()
    return clock, clock.step_wall, lambda: clock.reboot(60.0)


def of_a_share() -> tuple[Clock, Callable[[float], None], Callable[[], None]]:
    base = SimulatedClock()
    clock = SteppingClock(base)
    return clock, clock.step, lambda: base.reboot(60.0)


@pytest.mark.parametrize("make", [of_a_machine, of_the_tests, of_a_share])
@pytest.mark.parametrize("seconds", [3_600.0, -3_600.0])
def test_a_wall_clock_that_is_set_moves_neither_the_monotonic_one_nor_the_boot(
    make: Callable[[], Any], seconds: float
) -> None:
    clock, step, _ = make()
    wall, monotonic, boot = clock.wall(), clock.monotonic(), clock.boot_id()
    step(seconds)
    assert (clock.monotonic(), clock.boot_id()) == (monotonic, boot)
    assert clock.wall() == pytest.approx(wall + seconds)


@pytest.mark.parametrize("make", [of_a_machine, of_the_tests, of_a_share])
def test_a_reboot_starts_another_boot_and_keeps_the_date_going(make: Callable[[], Any]) -> None:
    clock, _, reboot = make()
    clock.sleep(5_000.0)
    wall, monotonic, boot = clock.wall(), clock.monotonic(), clock.boot_id()
    reboot()
    assert clock.boot_id() != boot
    assert clock.wall() == pytest.approx(wall + 60.0)
    assert clock.monotonic() < monotonic


def test_while_one_process_sleeps_in_virtual_time_the_others_act_when_they_are_due() -> None:
    time = Time()
    machine = Machine(time, "vm")
    seen: list[float] = []

    def turn() -> float:
        seen.append(time.now)
        return time.now + 10.0

    time.actors.append(Actor("other", turn, 5.0))
    ProcessClock(time, machine, Process("agent", machine)).sleep(30.0)
    assert (seen, time.now) == ([5.0, 15.0, 25.0], 30.0)


def test_who_dies_in_his_sleep_does_not_wake() -> None:
    time = Time()
    process = Process("agent", Machine(time, "vm"))
    time.at(5.0, process.die)
    with pytest.raises(PowerCut):
        ProcessClock(time, process.machine, process).sleep(30.0)
    assert time.now == 5.0


def test_a_machine_whose_programs_never_block_says_so_where_one_does() -> None:
    with pytest.raises(AssertionError, match="blocks"):
        Machine(Time(), "hub").sleep(1.0)
