"""The holes of the seeds' protocol as fixed timelines on the simulated world: each row once, step by step."""

import traceback
from collections.abc import Callable
from typing import Any, Final

from tests.simulation.swarm import quiet, world_folder
from tests.simulation.world import Broken, Plan, World

Timeline = Callable[[World], None]
TIMELINES: Final[list[Timeline]] = []
_PLANS: Final[dict[str, Plan]] = {}


def run_timeline(timeline: Timeline) -> str | None:
    """What broke, or nothing."""
    with world_folder() as folder, quiet():
        world = World(folder, 1, _PLANS[timeline.__name__])
        try:
            timeline(world)
        except Broken as error:
            return str(error)
        except Exception as error:  # noqa: BLE001  # whatever it is, the timeline did not go as it should
            where = traceback.extract_tb(error.__traceback__)[-1]
            return f"{type(error).__name__}: {error} ({where.name}:{where.lineno})"
        finally:
            world.close()
    return None


def timeline(**plan: Any) -> Callable[[Timeline], Timeline]:
    def keep(function: Timeline) -> Timeline:
        _PLANS[function.__name__] = Plan(**{"batch_every": 1e12, **plan})
        TIMELINES.append(function)
        return function

    return keep
