"""Hypothesis looks for an order of work, faults and second thoughts in which a promise breaks."""

import os
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.simulation.faults import CALLS, FOLDER, HOURLY
from tests.simulation.people import ISSUES
from tests.simulation.swarm import quiet, world_folder
from tests.simulation.timelines import fields, issue
from tests.simulation.world import Plan, World

PROFILE = os.environ.get("BRIDGE_PROFILE", "quick")
EXAMPLES, STEPS = {"quick": (3, 8), "ci": (25, 20), "soak": (2_000, 50)}[PROFILE]
MOMENTS = st.sampled_from([0.5, 20.0, 130.0, 600.0])


class LostFiles(RuleBasedStateMachine):
    """Files vanish and return, machines die: Jira must not notice."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = world_folder()
        self._quiet = quiet()
        self._quiet.__enter__()
        self.world = World(self._folder.__enter__(), 1, Plan(batch_every=1e12))
        self._temporary = 0

    @rule(seconds=MOMENTS)
    def work(self, seconds: float) -> None:
        self.world.run(seconds)

    @rule(kind=st.sampled_from(sorted(HOURLY.keys() - {"database restored", "second agent"})))
    def strike(self, kind: str) -> None:
        self.world.fate.bring(kind)

    @rule(kind=st.sampled_from(sorted({*FOLDER, *CALLS})))
    def spoil(self, kind: str) -> None:
        self.world.weather.ordered.append(kind)

    @precondition(lambda self: self.world.hub.process is not None)
    @rule(key=st.sampled_from(ISSUES), day=st.integers(10, 28))
    def wish_for_fields(self, key: str, day: int) -> None:
        self._plan(fields(key, f"2026-11-{day}"))

    @precondition(lambda self: self.world.hub.process is not None)
    @rule(summary=st.sampled_from(["Отчёт", "План"]))
    def wish_for_an_issue(self, summary: str) -> None:
        self._temporary += 1
        temporary = f"new:{self._temporary}"
        self._plan(issue(summary, temporary), {**fields(temporary), "key": temporary})

    def _plan(self, *commands: dict[str, Any]) -> None:
        self.world.people.some_or_other(lambda: self.world.people.apply(*commands))

    @invariant()
    def every_promise_holds(self) -> None:
        assert self.world.broken == []

    def teardown(self) -> None:
        try:
            self.world.settle()
        finally:
            self.world.close()
            self._folder.__exit__(None, None, None)
            self._quiet.__exit__(None, None, None)


TestLostFiles = LostFiles.TestCase
TestLostFiles.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=PROFILE != "soak",
)
