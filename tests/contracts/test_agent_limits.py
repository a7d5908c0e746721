"""What this machine permits whatever the hub asks, over restarts and compactions; and the journal under load."""

from pathlib import Path
from typing import Any

import pytest

from agent import journal as journal_module
from agent.runner import Settings
from tests.contracts.agent_world import AgentWorld
from tests.contracts.reports_world import again, built, turns

DAY = 86_400.0
FIELDS = {"key": "AURORA-1533", "duedate": "2026-11-24"}


def limited(folder: Path, commands_a_day: int) -> AgentWorld:
    world = built(folder, settings=Settings(projects=frozenset({"AURORA"}), commands_a_day=commands_a_day))
    world.queue.gaps = dict.fromkeys(world.queue.gaps, 1.0)
    return world


def test_so_many_commands_a_day_are_taken_the_hub_is_told_why_and_work_goes_on_by_itself(tmp_path: Path) -> None:
    world = limited(tmp_path, 3)
    started = world.clock.monotonic()
    for _ in range(7):
        world.queue.add("ensure_fields", **FIELDS)
    until = started + DAY - 600
    while world.clock.monotonic() < until:
        world.turn()
    assert len(world.queue.reports) == 3
    assert "commands_a_day" in world.queue.states[-1]["blocked"]
    assert [event.name for event in world.events].count("full") == 1
    while world.clock.monotonic() < started + 2 * DAY - 600:
        world.turn()
    assert len(world.queue.reports) == 6
    world.run(steps=2_000)
    assert {report["status"] for report in world.queue.reports.values()} == {"done"}


@pytest.mark.parametrize("jump", [0.0, -3_600.0, 3_600.0])
def test_the_limit_outlives_restarts_compactions_and_a_clock_that_jumps(
    tmp_path: Path, jump: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "COMPACT_OVER", 1)
    monkeypatch.setattr(journal_module, "KEPT_LINES", 1)
    world = limited(tmp_path, 2)
    for _ in range(4):
        world.queue.add("ensure_fields", **FIELDS)
    for _ in range(6):
        turns(world, 5)
        again(world)
        world.clock.step_wall(jump)
    assert len(world.queue.reports) == 2


def test_without_a_limit_there_is_none(tmp_path: Path) -> None:
    world = built(tmp_path)
    world.queue.gaps = dict.fromkeys(world.queue.gaps, 1.0)
    for _ in range(50):
        world.queue.add("ensure_fields", **FIELDS)
    world.run(steps=500)
    assert len(world.queue.reports) == 50


@pytest.mark.parametrize("command_type", ["ensure_fields", "ensure_comment", "refresh"])
def test_a_type_that_is_not_permitted_fails_without_a_call(tmp_path: Path, command_type: str) -> None:
    params: dict[str, dict[str, Any]] = {
        "ensure_fields": FIELDS,
        "ensure_comment": {"key": "AURORA-1533", "marker": "plan:1", "body": "x"},
        "refresh": {"keys": ["AURORA-1533"]},
    }
    world = built(tmp_path, settings=Settings(projects=frozenset({"AURORA"}), types=frozenset({"ensure_link"})))
    report = world.report_of(command_type, **params[command_type])
    assert (report["status"], report["jira_calls"], "allow_types" in report["error"]) == ("failed", 0, True)


@pytest.mark.parametrize(("floor", "floors", "gap"), [(45.0, {}, 45.0), (1.0, {"ensure_link": 50.0}, 50.0)])
def test_the_floor_of_this_machine_holds_for_every_call_whatever_the_hub_says(
    tmp_path: Path, floor: float, floors: dict[str, float], gap: float
) -> None:
    settings = Settings(projects=frozenset({"AURORA"}), gap_floor=floor, gap_floors=floors)
    world = built(tmp_path, settings=settings)
    world.queue.gaps = dict.fromkeys(world.queue.gaps, 0.0)
    last = world.wire.calls[-1][0]
    wish = {"source": "AURORA-1537", "target": "AURORA-1538", "link_type": "связанные", "replace": True}
    assert world.report_of("ensure_link", **wish)["status"] == "done"
    get, delete, post = (call[0] for call in world.wire.calls[-3:])
    assert get - last >= gap
    assert delete - get == 0.0  # a write follows its own reading at once, the next write waits
    assert post - delete >= gap


def test_a_journal_that_is_compacted_at_every_command_forgets_nothing_that_matters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gap, session, newest own issue: all are needed after a restart, and all of the lines may be gone by then."""
    monkeypatch.setattr(journal_module, "COMPACT_OVER", 1)
    monkeypatch.setattr(journal_module, "KEPT_LINES", 1)
    world = built(tmp_path)
    session = world.journal.memory.session
    for number in range(30):
        before = world.wire.calls[-1][0]
        sent = world.wire.sent
        report = world.report_of(
            "ensure_issue", temp_key=f"new:{number}", summary=f"Задача {number}", identity=f"jh:a:{number}"
        )
        assert report["status"] == "done"
        assert world.wire.calls[sent - world.wire.sent][0] - before >= 120
        turns(world, 1)
        assert (tmp_path / "journal.jsonl").stat().st_size < 3_000
        again(world)
    assert world.journal.memory.session == session
    assert world.journal.memory.newest_own_key == "AURORA-1570"
    assert len(world.written()) == 30
