"""Looks for planted bugs: `python -m tests.simulation.hunting` prints the table of `make planted`."""

import json
import sys
import time
from dataclasses import dataclass
from typing import Any, Final

import tests.simulation.timelines_found  # noqa: F401  # it adds to the list
from tests.simulation.planted_bugs import BUGS, names, planted
from tests.simulation.swarm import run_seed
from tests.simulation.timelines import TIMELINES, run_timeline
from tests.simulation.world import HOUR, Plan

LIMIT_SECONDS: Final = 60.0
WORLD_HOURS: Final = 6.0
_STEADY: Final[dict[str, Any]] = {"intensity": 2.0, "batch_every": HOUR}


@dataclass(frozen=True, slots=True)
class Find:
    """Which part found a bug, and after how many seconds; `by` empty: none did."""

    by: str
    seconds: float
    message: str


def hunt(name: str, limit: float = LIMIT_SECONDS) -> Find:
    """The timelines first, then worlds made of the bug's own faults, seed after seed."""
    began = time.process_time()
    with planted(name):
        for timeline in TIMELINES:
            message = run_timeline(timeline)
            if message is not None:
                return Find(timeline.__name__, time.process_time() - began, message)
        bug = BUGS[name]
        plan = Plan(faults=bug.faults, **{**_STEADY, **bug.settings})
        seed = 0
        while time.process_time() - began < limit:
            seed += 1
            outcome = run_seed(seed, plan=plan, seconds=WORLD_HOURS * HOUR)
            if outcome.broken:
                return Find(f"worlds, seed {seed}", time.process_time() - began, outcome.broken[0])
    return Find("", time.process_time() - began, "not found")


def main() -> None:
    """The table, one line a bug, and the count as JSON at the end."""
    chosen = sys.argv[1:] or names()
    found = 0
    for name in chosen:
        one = hunt(name)
        found += bool(one.by)
        print(f"{name:62} {one.by or 'NOT FOUND':44} {one.seconds:6.1f} s  {one.message[:110]}", flush=True)
    print(json.dumps({"planted": len(chosen), "found": found}))
    raise SystemExit(found < len(chosen))


if __name__ == "__main__":
    main()
