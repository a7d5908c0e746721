"""T9: the real agent killed at every point of every command, down for a while, its clocks jumping: no call is early.

Time is measured by nobody's clock but the world's: what the agent's clocks say may be wrong, what Jira feels is not.
"""

import copy
import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from protocol.commands import DEFAULT_GAPS
from tests.conftest import PROFILE
from tests.contracts.agent_world import AgentWorld, Killed
from tests.contracts.test_agent_killed import COMMANDS
from tests.promised import Covered

HALF_A_CALL = 0.2
DOWN = (0.0, 5.0, 40.0, 130.0)
JUMPS = (0.0, -3_600.0, -20.0, 25.0, 3_600.0)
BOOTS = ("same boot", "new boot")
AFTERWARDS = list(itertools.product(DOWN, JUMPS, BOOTS))
EVERY = {"quick": 37}.get(PROFILE, 1)  # of the cases, evenly over all of them
LEAST = {"quick": 300}.get(PROFILE, 10_000)
EARLY = 1e-6
READ_GAP = 2.0  # before the agent's own readings


class TrueClock:
    """What the world's time is: sleeping and being off take time, jumping and rebooting do not."""

    def __init__(self, world: AgentWorld) -> None:
        self._agent = world.clock
        self._wrong = 0.0

    def wall(self) -> float:
        return self._agent.wall() - self._wrong

    def monotonic(self) -> float:
        return self.wall()

    def sleep(self, seconds: float) -> None:
        self._agent.sleep(seconds)

    def boot_id(self) -> str:
        return "Jira's own"

    def agent_jumps(self, seconds: float) -> None:
        self._agent.step_wall(seconds)
        self._wrong += seconds


@dataclass
class Felt:
    """One call as Jira feels it: when it began and when it was over, in the world's time, and in which life."""

    began: float
    ended: float
    life: int
    method: str
    path: str

    @property
    def learning(self) -> bool:
        return self.path.endswith(("/field", "/priority", "/status", "/issueLinkType", "/myself")) or (
            "/createmeta/" in self.path
        )

    @property
    def writing(self) -> bool:
        return self.method != "GET" and not self.path.endswith("/search")


class Paced(AgentWorld):
    """A world whose calls take time, whose Jira has a clock of its own, and that can be put back to a crash."""

    def __init__(self, folder: Path, command_type: str, lag: float = 0.0) -> None:
        super().__init__(folder)
        self.switch(index_lag_seconds=lag)
        self.command_type = command_type
        self.gap = DEFAULT_GAPS[command_type]  # type: ignore[index]
        self.felt: list[Felt] = []
        self.learn()
        self.true = TrueClock(self)
        self.jira.clock = self.true
        inner = self.wire.inner.handle_request

        def felt(request: httpx2.Request) -> httpx2.Response:
            call = Felt(self.true.wall(), self.true.wall(), self.wire.life, request.method, request.url.path)
            self.felt.append(call)
            self.clock.sleep(HALF_A_CALL)
            call.ended = self.true.wall()
            response = inner(request)
            self.doom.pass_by()  # killed inside the call: Jira is through with it, nobody has heard
            self.clock.sleep(HALF_A_CALL)
            call.ended = self.true.wall()
            return response

        self.wire.inner.handle_request = felt  # type: ignore[method-assign]
        self.number = self.queue.add(command_type, **COMMANDS[command_type])

    def early(self) -> list[str]:
        """The calls that came before their gap had passed."""
        found, writes, lives = [], 0, set()
        for before, now in zip(self.felt, self.felt[1:], strict=False):
            lives |= {before.life} if not before.learning else set()
            writes += before.writing
            if now.learning:  # where a jump made the copy of the names too old: a reading like the first of all
                gap = 0.0 if before.learning and before.life == now.life else READ_GAP
            else:
                must = now.life not in lives or (now.writing and writes) or self.command_type == "refresh"
                gap = self.gap if must else 0.0
            if now.began - before.ended < gap - EARLY:
                found.append(f"{now.method} {now.path} {now.began - before.ended:.1f} s after {before.path}")
        return found


class Crash:
    """A world as it was the moment the power went: everything that lasts, and Jira's own state."""

    def __init__(self, world: Paced) -> None:
        world.journal.close()
        self._journal = (world.folder / "journal.jsonl").read_bytes()
        self._jira = world.jira.store._sql.serialize()
        self._queue = copy.deepcopy((world.queue.commands, world.queue.reports, world.queue.stored))
        self._clock = dict(vars(world.clock))
        self._felt = copy.deepcopy(world.felt)

    def restore(self, world: Paced) -> None:
        (world.folder / "journal.jsonl").write_bytes(self._journal)
        world.jira.store._sql.deserialize(self._jira)
        world.queue.commands, world.queue.reports, world.queue.stored = copy.deepcopy(self._queue)
        vars(world.clock).update(self._clock)
        world.true._wrong = 0.0
        world.felt[:] = copy.deepcopy(self._felt)


def crashed_at(folder: Path, command_type: str, point: int, *, lag: float = 0.0) -> tuple[Paced, Crash]:
    folder.mkdir()
    world = Paced(folder, command_type, lag)
    world.doom.at = world.doom.points + point
    with pytest.raises(Killed):
        world.run()
    world.doom.at = None
    return world, Crash(world)


def goes_on(world: Paced, down: float, jump: float, boot: str) -> None:
    if boot == "same boot":
        world.clock.sleep(down)
    else:
        world.clock.reboot(down)
    world.true.agent_jumps(jump)
    world.start()
    world.run()
    world.journal.close()


def calm(folder: Path, command_type: str) -> tuple[int, list[tuple[str, str]]]:
    folder.mkdir()
    world = Paced(folder, command_type)
    before = world.doom.points
    world.run()
    return world.doom.points - before, writes_of(world)


def writes_of(world: Paced) -> list[tuple[str, str]]:
    return [(one["method"], one["path"]) for one in world.written()]


def chosen(point: int) -> list[tuple[float, float, str]]:
    """What happens after a crash at this point: everything in CI, an even sample of all in a quick run."""
    numbered = enumerate(AFTERWARDS, point * len(AFTERWARDS))
    return [after for number, after in numbered if not number % EVERY]


@pytest.mark.part("T9")
@pytest.mark.parametrize("command_type", COMMANDS)
def test_no_call_of_any_restart_is_early_and_nothing_is_written_twice(
    command_type: str, tmp_path: Path, covered: Covered
) -> None:
    points, writes = calm(tmp_path / "calm", command_type)
    short: list[Any] = []
    for point in range(points):
        if not chosen(point):
            continue
        world, crash = crashed_at(tmp_path / str(point), command_type, point)
        for down, jump, boot in chosen(point):
            crash.restore(world)
            goes_on(world, down, jump, boot)
            case = (command_type, point, down, jump, boot)
            short += [(case, call) for call in world.early()]
            assert world.queue.reports[world.number]["status"] == "done", (case, json.dumps(world.queue.reports))
            assert writes_of(world) == writes, case
        world.jira.close()
    assert short == []
    covered("T9", sum(len(chosen(point)) for point in range(points)))


def test_there_are_enough_of_them(tmp_path: Path) -> None:
    points = [calm(tmp_path / command_type, command_type)[0] for command_type in COMMANDS]
    assert sum(len(chosen(point)) for count in points for point in range(count)) >= LEAST
