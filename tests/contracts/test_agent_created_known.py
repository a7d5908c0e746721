"""What was created is known to the hub (P8): over crashes, unknown outcomes, refusals and cancellations."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from examples.jira.faults import Fault
from tests.contracts.agent_world import Killed
from tests.contracts.reports_world import (
    again,
    before_each,
    built,
    crashed_three_times,
    crashed_three_times_before,
    killed,
    made,
    moments,
    sent,
)

REPORT = {"temp_key": "new:1", "summary": "Отчёт", "identity": "jh:a:40"}
OFF_SCREEN: dict[str, Any] = {"epic_link_on_create": False}


def test_a_creation_whose_epic_is_refused_tells_its_key(tmp_path: Path) -> None:
    """A2."""
    world = built(tmp_path, switches=OFF_SCREEN)
    world.fault(Fault(kind="refuse", method="PUT", path="/issue/", status=400, messages=("no",)))
    report = world.report_of("ensure_issue", **REPORT, epic_key="AURORA-1530")
    assert (report["status"], report["result"]["key"]) == ("failed", made(world)[0])


def test_a_creation_given_up_after_three_crashes_tells_its_key(tmp_path: Path) -> None:
    """A3: each life dies at the edit that sets the epic."""
    world = built(tmp_path, switches=OFF_SCREEN)
    number = world.queue.add("ensure_issue", **REPORT, epic_key="AURORA-1530")

    def die(request: httpx2.Request) -> None:
        if request.method == "PUT":
            raise Killed

    before_each(world, die)
    for _ in range(3):
        killed(world)
        again(world)
        before_each(world, die)
    world.run()
    report = world.queue.reports[number]
    assert (report["status"], report["result"]["key"]) == ("failed", made(world)[0])


@pytest.mark.parametrize("created", [True, False])
def test_a_creation_given_up_with_its_outcome_unknown_is_looked_up_once_and_told(
    *, created: bool, tmp_path: Path
) -> None:
    """Each life dies at the creation, after Jira has done it or before; the last one asks Jira and writes nothing."""
    world = built(tmp_path)
    number = world.queue.add("ensure_issue", **REPORT)
    world.switch(index_lag_seconds=60.0)
    if created:
        crashed_three_times(world, "/issue$")
    else:
        crashed_three_times_before(world, "/issue")
    report = world.queue.reports[number]
    assert report["status"] == "failed"
    assert report.get("result", {}).get("key") == (made(world)[0] if created else None)
    assert len(world.written()) == created


@pytest.mark.parametrize("landed", [True, False])
def test_the_third_write_of_unknown_outcome_is_looked_at_before_the_command_fails(
    *, landed: bool, tmp_path: Path
) -> None:
    world = built(tmp_path)
    lost = Fault(kind="drop_before_execute", method="POST", path="/issue$", times=2)
    world.fault(lost, lost.model_copy(update={"kind": "execute_then_drop" if landed else lost.kind, "times": 1}))
    report = world.report_of("ensure_issue", **REPORT)
    assert (report["status"], len(made(world))) == (("done", 1) if landed else ("failed", 0))
    assert len(moments(world, "POST", "/issue")) == 3


def test_a_creation_cancelled_before_its_epic_is_set_tells_its_key_and_sets_nothing(tmp_path: Path) -> None:
    world = built(tmp_path, switches=OFF_SCREEN)
    number = world.queue.add("ensure_issue", **REPORT, epic_key="AURORA-1530")

    def cancel(request: httpx2.Request) -> None:
        if request.method == "POST" and request.url.path.endswith("/issue"):
            world.queue.commands[0]["status"] = "cancelled"

    before_each(world, cancel)
    for _ in range(30):
        world.turn()
    report = world.queue.reports[number]
    assert (report["status"], report["result"]["key"]) == ("done", made(world)[0])
    assert [one for one in sent(world) if one.startswith("PUT")] == []
