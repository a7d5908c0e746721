"""The power goes at every single point of a command's way, on either side, and at pairs of them: exactly once remains.

Exhaustive where CI has the time; a newcomer's run takes every so-manieth point.
"""

import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest

from protocol.messages import TERMINAL
from tests.promised import Covered
from tests.simulation.swarm import Given, lived, quiet, world_folder
from tests.simulation.timelines import created, fields, issue
from tests.simulation.virtual_time import Process
from tests.simulation.world import Plan, World

PROFILE = os.environ.get("BRIDGE_PROFILE", "quick")
STRIDE = {"quick": 31, "ci": 1, "soak": 1}[PROFILE]
PAIRS_STRIDE = {"quick": 500, "ci": 9, "soak": 1}[PROFILE]
CALM = Plan(batch_every=1e12)

COMMANDS: dict[str, dict[str, Any]] = {
    "ensure_issue": issue(),
    "ensure_fields": fields(),
    "ensure_comment": {"type": "ensure_comment", "key": "AURORA-1533", "marker": "plan:1", "body": "текст"},
    "ensure_status": {"type": "ensure_status", "key": "AURORA-1533", "target": ["Разработка", "Готово"]},
    "ensure_link": {
        "type": "ensure_link",
        "source": "AURORA-1537",
        "target": "AURORA-1538",
        "link_type": "связанные",
        "replace": True,
    },
    "ensure_sprint": {"type": "ensure_sprint", "key": "AURORA-1533", "sprint": "Спринт 2"},
    "refresh": {"type": "refresh", "keys": ["AURORA-1533", "AURORA-1537"]},
}


class Deaths:
    """Lets the power of one program go at the given points, one a life; counts the points of the lives it lets live."""

    def __init__(self, world: World, name: str, wanted: Callable[[str], bool], at: tuple[int, ...]) -> None:
        self.passed = 0
        self._name, self._wanted, self._left = name, wanted, list(at)
        world.born = self._arm
        machine = world.hub if name == "hub" else world.agent
        machine.down_seconds = 1.0
        assert machine.process is not None
        self._arm(machine.process)

    def _arm(self, process: Process) -> None:
        if process.name != self._name:
            return
        nth = self._left.pop(0) if self._left else None
        seen = [0]

        def dies(what: str) -> bool:
            if not self._wanted(what):
                return False
            self.passed += 1
            seen[0] += 1
            return seen[0] - 1 == nth

        process.dies_when = dies


def lasting(what: str) -> bool:
    """Points of the agent's own doing; those of its relay client are the other side's too."""
    return what.startswith(("journal", "fsync", "http"))


def executed(
    kind: str,
    *deaths: int,
    before: Callable[[World], None] = lambda _: None,
    while_dead: Callable[[World], None] | None = None,
) -> int:
    """One command of this kind, the agent killed at these points; how many points it passed."""
    with world_folder() as folder, quiet():
        world = World(folder, 1, CALM)
        world.run(5.0)
        before(world)
        killer = Deaths(world, "agent", lasting, deaths)
        command = world.people.apply(COMMANDS[kind])[0]
        if while_dead is not None and deaths:
            world._images = [world.hub.backup()]
            harm = while_dead  # as an event of its own, once the dead are buried
            world.when(lambda: world.agent.process is None, lambda: world.time.at(world.time.now, lambda: harm(world)))
        world.until(command, *TERMINAL)
        passed = killer.passed
        assert world.status(command) == "done", (kind, deaths, world.command(command)["error"])
        assert len(created(world)) == (kind == "ensure_issue"), (deaths, created(world))
        world.settle()
        world.close()
    return passed


def at_each(run: Callable[[Given], int], points: Iterable[Given]) -> int:
    """A world for each of the points at which the power goes, two at once; how many they were."""
    return sum(1 for _ in lived(run, points))


@pytest.mark.part("T4")
@pytest.mark.parametrize("kind", sorted(COMMANDS))
def test_the_agent_may_die_at_every_point_of_a_command(kind: str, covered: Covered) -> None:
    points = executed(kind)
    assert points > 10
    covered("T4", at_each(partial(executed, kind), range(0, points, STRIDE)), of=points)


def lag(world: World) -> None:
    world.switch(index_lag_seconds=100.0)


def forward(world: World) -> None:
    world.agent.machine.jump(3_600.0)


def back(world: World) -> None:
    world.agent.machine.jump(-3_600.0)


@pytest.mark.part("T4")
@pytest.mark.parametrize("before", [lag, forward, back])
def test_a_creation_survives_every_point_under_lag_and_wrong_clocks(
    before: Callable[[World], None], covered: Covered
) -> None:
    points = executed("ensure_issue", before=before)
    run = partial(executed, "ensure_issue", before=before)
    covered("T4", at_each(run, range(0, points, STRIDE)), of=points)


def the_journal_is_lost(world: World) -> None:
    world.agent.lose_journal()


def the_hub_is_restored(world: World) -> None:
    """To where the command was queued and nobody had claimed it."""
    world.hub.stop()
    world.restore_database()
    world.start_later(world.hub)


@pytest.mark.part("T4")
@pytest.mark.parametrize("while_dead", [the_journal_is_lost, the_hub_is_restored])
@pytest.mark.parametrize("kind", sorted(COMMANDS))
def test_a_death_at_every_point_with_a_loss_besides_does_nothing_twice(
    kind: str, while_dead: Callable[[World], None], covered: Covered
) -> None:
    points = executed(kind)
    # What makes something is killed at each point; what only sets it so, at every fifth: it costs minutes otherwise.
    makes = kind in ("ensure_issue", "ensure_comment")
    chosen = range(0, points, STRIDE if makes else max(STRIDE, 5))
    covered("T4", at_each(partial(executed, kind, while_dead=while_dead), chosen), of=points if makes else None)


def at_both(pair: tuple[int, int]) -> int:
    return executed("ensure_issue", *pair)


@pytest.mark.part("T4")
@pytest.mark.timeout(1_200)
def test_a_creation_survives_pairs_of_deaths(covered: Covered) -> None:
    points = executed("ensure_issue")
    pairs = [(first, second) for first in range(points) for second in range(points)]
    # All pairs are met on the agent alone (tests/contracts/test_agent_killed_twice.py): these come on top.
    covered("T4", at_each(at_both, pairs[::PAIRS_STRIDE]))


def lived_through(*deaths: int) -> int:
    """Claim, report, cancel and retry, the hub killed at these points; how many points it passed."""
    with world_folder() as folder, quiet():
        world = World(folder, 1, CALM)
        world.run(5.0)
        killer = Deaths(world, "hub", lambda what: what.startswith(("hub", "publish", "delete")), deaths)
        world.people.some_or_other(lambda: world.people.apply(issue(), fields()))
        world.run(400.0)
        for row in world.commands():
            if row["status"] in ("queued", "claimed"):
                world.people.some_or_other(lambda row=row: world.people.cancel(row["id"], force=True))
                world.run(30.0)
                world.people.some_or_other(lambda row=row: world.people.retry(row["id"]))
        passed = killer.passed
        world.settle()
        assert len(created(world)) <= 1, (deaths, created(world))
        world.close()
    return passed


@pytest.mark.part("T5")
@pytest.mark.timeout(1_200)
def test_the_hub_may_die_at_every_statement_and_file_operation(covered: Covered) -> None:
    points = lived_through()
    assert points > 30
    covered("T5", at_each(lived_through, range(0, points, STRIDE)), of=points)
