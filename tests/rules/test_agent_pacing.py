"""Pacing over restarts: every crash point x downtime x clock jump x boot, on the real rules and the real fold."""

import itertools
from collections.abc import Iterator

import pytest

from agent.pacing import LastCall, Life, call_allowed_at, gap, settled_at
from agent.records import Answered, AnyRecord, Call, Claimed, Finished
from agent.recovery import memory_of
from protocol.commands import DEFAULT_GAPS
from protocol.messages import Delivery, Report
from tests.simulation.clock import SimulatedClock

DURATION = 0.3  # of one call
CALLS = {  # r reads at once, w writes: each but the first after the gap
    "ensure_issue": "rw",
    "ensure_fields": "rw",
    "ensure_comment": "rw",
    "ensure_status": "rrwrwrw",
    "ensure_link": "rww",
    "ensure_sprint": "rrw",
    "refresh": "rrrrr",
}
DOWN = (0.0, 0.5, 5, 20, 29.9, 40, 90, 119.9, 130, 600)
JUMP = (0, -3600, -60, -5, 5, 60, 3600)
STAGES = ("before the record", "before the call", "in the call", "before the answer's record", "after it")


class Life1:
    """An agent that runs one command by the rules and is cut off at a point; Jira notes when its calls were."""

    def __init__(self, kind: str) -> None:
        self.clock = SimulatedClock()
        self.records: list[AnyRecord] = []
        self.calls: list[tuple[float, float]] = []  # real seconds: start and end
        self.real = 0.0
        self.kind = kind

    def sleep(self, seconds: float) -> None:
        self.clock.sleep(seconds)
        self.real += max(seconds, 0.0)

    def points(self) -> Iterator[str]:
        """Run the command; a point is everywhere the power can go."""
        life = Life(self.clock.boot_id(), self.clock.monotonic())
        delivery = Delivery(id=1, type=self.kind, params={}, pause_seconds=DEFAULT_GAPS[self.kind])
        self.records.append(Claimed(at=self.clock.wall(), request_id="r", delivery=delivery))
        writes = 0
        for number, call in enumerate(CALLS[self.kind]):
            if number == 0 or self.kind == "refresh" or (call == "w" and writes):
                self._wait(life)
            writes += call == "w"
            for stage in STAGES:
                self._do(stage)
                yield stage
        self.records.append(Finished(at=self.clock.wall(), command_id=1, request_id="f", report=Report(status="done")))
        yield "finished"

    def _wait(self, life: Life) -> None:
        last = memory_of(self.records).last_call
        now = self.clock.monotonic()
        self.sleep(call_allowed_at(last, life, DEFAULT_GAPS[self.kind], now) - now)

    def _do(self, stage: str) -> None:
        clock = self.clock
        match stage:
            case "before the call":
                self.records.append(
                    Call(
                        at=clock.wall(), command_id=1, request="", boot_id=clock.boot_id(), monotonic=clock.monotonic()
                    )
                )
            case "in the call":
                self.calls.append((self.real, self.real + DURATION))
                self.sleep(DURATION / 2)
            case "before the answer's record":
                self.sleep(DURATION / 2)
            case "after it":
                self.records.append(
                    Answered(at=clock.wall(), boot_id=clock.boot_id(), monotonic=clock.monotonic(), outcome="O3")
                )
            case _:
                pass

    def restart(self, down: float, jump: float, *, reboot: bool, damage: str, next_gap: float) -> float:
        """The real moment at which the next life's first call may start."""
        if reboot:
            self.clock.reboot(down)
            self.real += down
        else:
            self.sleep(down)
        self.clock.step_wall(jump)
        life = Life(self.clock.boot_id(), self.clock.monotonic())
        lines: list[AnyRecord | None] = list(self.records)
        if damage == "lost":
            lines = []
        elif damage == "last line torn":
            lines = [*lines[:-1], None]
        last = memory_of(lines).last_call
        now = self.clock.monotonic()
        return self.real + call_allowed_at(last, life, next_gap, now) - now


@pytest.mark.parametrize("kind", CALLS)
def test_no_restart_lets_a_call_start_before_its_gap(kind: str) -> None:
    cases = 0
    for cut, _ in enumerate(Life1(kind).points()):
        for down, jump, reboot in itertools.product(DOWN, JUMP, (False, True)):
            for damage in ("none", "lost", "last line torn"):
                world = Life1(kind)
                for _ in itertools.islice(world.points(), cut + 1):
                    pass
                for next_gap in (2.0, 30.0, 120.0):
                    cases += 1
                    start = Life1.restart(_copied(world), down, jump, reboot=reboot, damage=damage, next_gap=next_gap)
                    if world.calls:
                        ended = min(world.calls[-1][1], world.real)  # a call dies with the process
                        assert start >= ended + next_gap - 1e-6, (kind, cut, down, jump, reboot, damage, next_gap)
    assert cases >= 10_000


def _copied(world: Life1) -> Life1:
    copy = Life1(world.kind)
    copy.records = list(world.records)
    copy.real = world.real
    copy.clock.sleep(world.clock.monotonic() - copy.clock.monotonic())
    return copy


def test_within_one_boot_time_that_went_by_while_down_counts() -> None:
    last = LastCall("b", started=100.0, ended=101.0)
    assert call_allowed_at(last, Life("b", 200.0), 120.0, now=200.0) == 221.0


@pytest.mark.parametrize(
    "last",
    [
        None,
        LastCall("other boot", 100.0, 101.0),
        LastCall("b", 100.0, None),
        LastCall("b", 100.0, 5_000.0),
    ],
    ids=["nothing known", "another boot", "killed inside the call", "in the future"],
)
def test_an_unknown_last_call_costs_the_full_gap(last: LastCall | None) -> None:
    assert call_allowed_at(last, Life("b", 200.0), 120.0, now=200.0) == 320.0


def test_the_floor_is_kept_whatever_the_hub_says() -> None:
    assert gap(0.0, 1.0) == 1.0
    assert gap(120.0, 1.0) == 120.0
    assert gap(float("inf"), 1.0) == 86_400.0


def test_the_settle_window_counts_from_the_write_within_one_boot_and_from_the_start_otherwise() -> None:
    assert settled_at("b", 100.0, Life("b", 150.0), 120.0, now=150.0) == 220.0
    assert settled_at("other", 100.0, Life("b", 150.0), 120.0, now=150.0) == 270.0
