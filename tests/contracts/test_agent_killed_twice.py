"""The agent killed at every point, started again, and killed at every point of that life too: one effect, none early.

The journal is kept. All pairs in CI, every so-manieth in a quick run.
"""

import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import PROFILE
from tests.contracts.agent_world import Killed
from tests.contracts.test_agent_killed import COMMANDS
from tests.contracts.test_agent_pacing_enumerated import Paced, calm, crashed_at, writes_of
from tests.promised import Covered

# (command, every so-manieth pair in CI, the index lags): creating is where a second effect hurts most.
PAIRS: list[tuple[str, int, float]] = [
    ("ensure_issue", 1, 0.0),
    ("ensure_issue", 1, 100.0),
    *((command_type, 5, 0.0) for command_type in COMMANDS if command_type != "ensure_issue"),
]
FIRSTS = {"quick": 5}.get(PROFILE, 1)
FURTHER = {"quick": 11}.get(PROFILE, 1)
DOWN = 3.0


def killed_again(world: Paced, point: int) -> bool:
    """Start again and let the power go at this point of the new life; whether that life lasted so long."""
    world.clock.sleep(DOWN)
    world.doom.at = world.doom.points + point
    try:
        world.start()
        world.run()
    except Killed:
        return True
    finally:
        world.doom.at = None
        world.journal.close()
    return False


def ends(world: Paced) -> None:
    world.clock.sleep(DOWN)
    world.start()
    world.run()
    world.journal.close()


@pytest.mark.part("T4")
@pytest.mark.parametrize(("command_type", "every", "lag"), PAIRS, ids=str)
def test_killed_twice_it_writes_once_keeps_the_gap_and_ends(
    command_type: str, every: int, lag: float, tmp_path: Path, covered: Covered
) -> None:
    points, writes = calm(tmp_path / "calm", command_type)
    step = every * FURTHER
    short: list[Any] = []
    pairs = 0
    for first in range(0, points, FIRSTS):
        world, crash = crashed_at(tmp_path / str(first), command_type, first, lag=lag)
        for second in itertools.count(first % step, step):
            crash.restore(world)
            if not killed_again(world, second):
                break
            ends(world)
            pairs += 1
            case = (command_type, first, second)
            short += [(case, call) for call in world.early()]
            assert world.queue.reports[world.number]["status"] == "done", (case, world.queue.reports)
            assert writes_of(world) == writes, case
        world.jira.close()
    assert short == []
    assert pairs >= points // step // FIRSTS
    # All pairs are promised of creations alone; what is met of the others comes on top.
    covered("T4", pairs, of=pairs * FIRSTS * FURTHER)
