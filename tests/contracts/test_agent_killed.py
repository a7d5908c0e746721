"""The agent killed at every point of every command: before, inside and after each journal record and each call."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from protocol.commands import DEFAULT_GAPS
from tests.conftest import PROFILE
from tests.contracts.agent_world import AgentWorld, Killed
from tests.promised import Covered

COMMANDS: dict[str, dict[str, Any]] = {
    "ensure_issue": {"temp_key": "new:1", "summary": "Отчёт", "epic_key": "AURORA-1530", "identity": "jh:a:40"},
    "ensure_fields": {"key": "AURORA-1533", "duedate": "2026-11-23", "labels_add": ["x"]},
    "ensure_comment": {"key": "AURORA-1533", "marker": "plan:1", "body": "Срок перенесён"},
    "ensure_status": {"key": "AURORA-1537", "target": ["Разработка", "Готово"]},
    "ensure_link": {"source": "AURORA-1537", "target": "AURORA-1538", "link_type": "связанные", "replace": True},
    "ensure_sprint": {"key": "AURORA-1537", "sprint": "Спринт 2"},
    "refresh": {"keys": ["AURORA-1533", "AURORA-1999"]},
}
EVERY = {"quick": 3}.get(PROFILE, 1)  # of the points
AFTERWARDS = {
    "at once": {"down": 0.0, "reboot": False, "lag": 0.0},
    "later": {"down": 50.0, "reboot": False, "lag": 0.0},
    "at once, the index lags": {"down": 0.0, "reboot": False, "lag": 40.0},
    "after a reboot": {"down": 7.0, "reboot": True, "lag": 40.0},
    # Here the settle window alone keeps a second issue away.
    "at once, the index lags longer than the gap": {"down": 0.0, "reboot": False, "lag": 100.0, "gap": 5.0},
}


def started(folder: Path, command_type: str, *, lag: float = 0.0, gap: float | None = None) -> AgentWorld:
    world = AgentWorld(folder)
    world.queue.gaps[command_type] = gap or DEFAULT_GAPS[command_type]  # type: ignore[index]
    world.switch(index_lag_seconds=lag)
    world.learn()
    world.queue.add(command_type, **COMMANDS[command_type])
    return world


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, list[tuple[str, str]]]]:
    """Of each command: how many points there are to be killed at, and what it writes when nothing happens."""
    found = {}
    for command_type in COMMANDS:
        world = started(tmp_path_factory.mktemp(command_type), command_type)
        before = world.doom.points
        world.run()
        writes = [(one["method"], one["path"]) for one in world.written()]
        found[command_type] = (world.doom.points - before, writes)
    return found


def restarted(world: AgentWorld, *, down: float, reboot: bool) -> None:
    world.journal.close()
    if reboot:
        world.clock.reboot(down)
    else:
        world.clock.sleep(down)
    world.start()


def killed_once(world: AgentWorld, point: int, *, down: float, reboot: bool) -> None:
    """Run until the power goes at `point`, start again, run to the end."""
    world.doom.at = world.doom.points + point
    with pytest.raises(Killed):
        world.run()
    world.doom.at = None
    restarted(world, down=down, reboot=reboot)
    world.run()


def broken_gaps(world: AgentWorld, command_type: str) -> Iterator[str]:
    gap = world.queue.gaps[command_type]
    calls = [one for one in world.wire.calls if not _is_learning(one[3])]
    writes = 0
    for before, now in zip([None, *calls], calls, strict=False):
        writing = now[2] != "GET" and not now[3].endswith("/search")
        first_of_life = before is None or before[1] != now[1]
        if before is not None and (first_of_life or (writing and writes)) and now[0] - before[0] < gap - 1e-6:
            yield f"{now[2]} {now[3]} {now[0] - before[0]:.1f} s after {before[2]} {before[3]}"
        writes += writing


def _is_learning(path: str) -> bool:
    return path.endswith(("/field", "/priority", "/issueLinkType", "/issuetypes", "/myself"))


@pytest.mark.part("T4")
@pytest.mark.parametrize("afterwards", AFTERWARDS, ids=str)
@pytest.mark.parametrize("command_type", COMMANDS)
def test_killed_anywhere_it_writes_once_keeps_the_gap_and_ends_done(
    command_type: str,
    afterwards: str,
    calm: dict[str, tuple[int, list[tuple[str, str]]]],
    tmp_path: Path,
    covered: Covered,
) -> None:
    after = AFTERWARDS[afterwards]
    points, writes = calm[command_type]
    assert points > 10
    for point in range(0, points, EVERY):
        folder = tmp_path / str(point)
        folder.mkdir()
        world = started(folder, command_type, lag=after["lag"], gap=after.get("gap"))
        killed_once(world, point, down=after["down"], reboot=bool(after["reboot"]))
        at = f"point {point} of {points}: {[call[2:] for call in world.wire.calls]}"
        [report] = world.queue.reports.values()
        assert report["status"] == "done", (at, report)
        assert [(one["method"], one["path"]) for one in world.written()] == writes, at
        assert list(broken_gaps(world, command_type)) == [], at
        world.jira.close()
        world.journal.close()
    covered("T4", len(range(0, points, EVERY)), of=points)


@pytest.mark.parametrize("command_type", COMMANDS)
def test_a_command_that_kills_the_agent_three_times_is_reported_failed(command_type: str, tmp_path: Path) -> None:
    world = started(tmp_path, command_type)
    for _ in range(3):
        world.doom.at = None
        before = len(world.wire.calls)
        while len(world.wire.calls) == before:  # up to its next call
            world.doom.at = world.doom.points + 4 if world.journal.memory.delivery else None
            try:
                world.turn()
            except Killed:
                break
        restarted(world, down=1.0, reboot=False)
    world.doom.at = None
    world.run()
    [report] = world.queue.reports.values()
    assert report["status"] == "failed"
    assert "3 раза" in report["error"]
    # It says so where nothing can have been written, and does not where something may have been.
    assert ("не выполнена" in report["error"]) is not any(one["executed"] for one in world.requests())
