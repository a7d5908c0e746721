"""The power goes at every statement of a hub that starts on a restored copy of its database and takes it over."""

import os

import pytest

from protocol.messages import TERMINAL
from tests.promised import Covered
from tests.simulation.swarm import quiet, world_folder
from tests.simulation.test_crash_points import CALM, Deaths, at_each
from tests.simulation.timelines import created, fields, issue
from tests.simulation.virtual_time import Process
from tests.simulation.world import World

STRIDE = {"quick": 31, "ci": 1, "soak": 1}[os.environ.get("BRIDGE_PROFILE", "quick")]


def restored(*deaths: int) -> int:
    """A creation and an edit are done, the hub restored to before both; how many points it passes from then on."""
    with world_folder() as folder, quiet():
        world = World(folder, 1, CALM)
        world.run(5.0)
        first, second, _ = world.people.apply(issue(), fields())
        world._images = [world.hub.backup()]
        world.until(second, "done")
        world.hub.stop()
        world.restore_database()
        killers: list[Deaths] = []

        def born(process: Process) -> None:
            if process.name == "hub":  # the first life on the copy; `Deaths` arms those that follow
                killers.append(Deaths(world, "hub", lambda what: what.startswith("hub"), deaths))

        world.born = born
        world.start_later(world.hub)
        world.run(120.0)
        passed = killers[0].passed
        world.settle()
        assert {world.status(one) for one in (first, second)} <= TERMINAL
        assert len(created(world)) == 1, (deaths, created(world))
        world.close()
    return passed


@pytest.mark.part("T5")
def test_a_hub_may_die_at_every_statement_of_taking_a_restored_copy_over(covered: Covered) -> None:
    points = restored()
    assert points > 5
    covered("T5", at_each(restored, range(0, points, STRIDE)), of=points)
