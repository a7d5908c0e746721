"""Every hole of the seeds' protocol, and every bug the random worlds found, as a timeline of its own."""

from collections.abc import Callable

import tests.simulation.timelines_found  # noqa: F401  # it adds to the list
from tests.simulation.timelines import TIMELINES, Timeline, run_timeline


def _test_of(timeline: Timeline) -> Callable[[], None]:
    def test() -> None:
        assert run_timeline(timeline) is None

    return test


for _timeline in TIMELINES:
    globals()[f"test_{_timeline.__name__}"] = _test_of(_timeline)
