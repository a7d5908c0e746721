"""`make bench ONLY=sim`: how much faster than real time the simulated worlds live, both programs and Jira in them."""

from dataclasses import dataclass
from typing import Final

from tests.bench.measuring import median, told
from tests.bench.reporting import Figure, Target
from tests.simulation.swarm import HOUR, kind_of, run_seed

SPEED: Final = "simulation"
UNIT: Final = "× real time"


@dataclass(frozen=True, slots=True)
class Plan:
    """Which worlds live, and for how long before they come to rest; by their own plans without a word."""

    seeds: range
    seconds: float | None


FULL: Final = Plan(range(10), None)
QUICK: Final = Plan(range(4, 5), 600.0)


def figures(*, quick: bool) -> list[Figure]:
    plan = QUICK if quick else FULL
    speeds: dict[str, list[float]] = {}
    lived, took = 0.0, 0.0
    broken: list[int] = []
    for seed in plan.seeds:
        told(f"sim: world {seed}, {kind_of(seed)} faults")
        outcome = run_seed(seed, seconds=plan.seconds)
        speeds.setdefault(outcome.kind, []).append(outcome.hours * HOUR / outcome.seconds)
        lived += outcome.hours * HOUR
        took += outcome.seconds
        broken += [seed] * bool(outcome.broken)
    target = Target("simulation: simulated against real seconds", "≥", 10_000, of_ratio=False, unit=UNIT)
    note = (
        f"{lived / HOUR:,.0f} h in {took:.0f} s, broken promises in the worlds {broken}"
        if broken
        else f"{lived / HOUR:,.0f} h in {took:.0f} s"
    )
    return [
        *(Figure(SPEED, f"ours, {kind} faults", "ours", median(found), UNIT) for kind, found in speeds.items()),
        Figure(SPEED, "ours, all worlds", "ours", lived / took, UNIT, note=note, target=target),
    ]
