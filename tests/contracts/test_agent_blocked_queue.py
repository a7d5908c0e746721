"""Two hundred commands wait and Jira is not fit for work: none fails, hardly anything is sent, and work goes on."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.contracts.agent_world import AgentWorld
from tests.contracts.reports_world import again, built, claimed, turns

WAITING = 200
HOUR = 3_600.0


@pytest.fixture
def world(tmp_path: Path) -> AgentWorld:
    """The first command is in hand when the trouble begins; the gaps are short, so that the end comes soon."""
    world = built(tmp_path)
    world.queue.gaps = dict.fromkeys(world.queue.gaps, 1.0)
    claimed(world, "ensure_fields", key="AURORA-1533", duedate="2026-12-01")
    for number in range(1, WAITING):
        world.queue.add("ensure_fields", key=f"AURORA-{1500 + number % 40}", duedate=f"2026-12-{1 + number % 28:02d}")
    return world


def everything_is_done(world: AgentWorld) -> None:
    world.run(steps=5 * WAITING)
    assert len(world.queue.reports) == WAITING
    assert {report["status"] for report in world.queue.reports.values()} == {"done"}


def nothing_has_happened(world: AgentWorld) -> None:
    assert world.queue.reports == {}
    assert world.written() == []
    assert [one["status"] for one in world.queue.commands].count("claimed") == 1
    assert world.queue.states[-1]["blocked"]


TROUBLES: dict[str, dict[str, Any]] = {
    "maintenance": {"maintenance": True},
    "a login page": {"auth_mode": "sso_200_html"},
    "a redirect to the login": {"auth_mode": "sso_302"},
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_an_hour_of_trouble_costs_one_probe_an_interval_and_work_goes_on_by_itself(
    world: AgentWorld, trouble: str
) -> None:
    world.switch(**TROUBLES[trouble])
    until = world.clock.monotonic() + HOUR
    while world.clock.monotonic() < until:
        world.turn()
    nothing_has_happened(world)
    probes = [moment for moment, _, _, path in world.wire.calls if path.endswith("/myself")][1:]
    others = [call for call in world.wire.calls[-world.wire.sent :] if not call[3].endswith("/myself")]
    assert len(others) <= 4  # the reading that met the trouble, and its own few retries
    pauses = [after - before for before, after in itertools.pairwise(probes)]
    assert pauses == sorted(pauses) and pauses[0] >= 60 and pauses[-1] <= 900
    assert 4 <= len(probes) <= 8
    world.switch()
    everything_is_done(world)


def test_a_search_that_is_served_as_nobodys_creates_nothing_of_two_hundred(world: AgentWorld) -> None:
    """The search shows nothing, with 200; the log-in probe then says 401, and the rest is a person's."""
    world.run(steps=5 * WAITING)
    for number in range(WAITING):
        world.queue.add("ensure_issue", temp_key=f"new:{number}", summary=f"Отчёт {number}", identity=f"jh:a:{number}")
    while world.journal.memory.delivery is None:
        world.turn()
    before = len(world.requests())
    world.switch(auth_mode="anonymous_downgrade", anonymous_search="empty")
    turns(world, 60)
    assert [one["path"].rpartition("/")[2] for one in world.requests()[before:]] == ["search", "myself"]
    assert len(world.queue.reports) == WAITING


@pytest.mark.parametrize("mode", ["captcha", "expired"])
def test_where_each_try_feeds_the_lock_exactly_one_call_is_made_until_a_person_acts(
    world: AgentWorld, mode: str
) -> None:
    world.switch(auth_mode=mode)
    before = len(world.requests())
    until = world.clock.monotonic() + HOUR
    while world.clock.monotonic() < until:
        world.turn()
    nothing_has_happened(world)
    assert len(world.requests()) == before + 1
    world.switch()
    turns(world, 30)
    assert len(world.requests()) == before + 1  # that Jira is well again is not a person's word


def test_a_new_token_is_a_persons_word(world: AgentWorld) -> None:
    world.switch(auth_mode="expired")
    turns(world, 30)
    world.switch()
    sent = len(world.requests())
    world.jira.settings.tokens["renewed"] = "svc_hub"  # type: ignore[index]  # the fake's own dictionary
    world.token = "renewed"
    turns(world, 2)
    assert len(world.requests()) > sent
    everything_is_done(world)


def test_a_new_token_that_is_no_better_costs_one_call_more(world: AgentWorld) -> None:
    world.switch(auth_mode="captcha")
    turns(world, 5)
    sent = len(world.requests())
    world.token = "another"
    turns(world, 60)
    assert len(world.requests()) == sent + 1
    assert world.queue.reports == {}


@pytest.mark.parametrize("mode", ["captcha", "expired"])
def test_a_restart_by_a_person_is_one_too(world: AgentWorld, mode: str) -> None:
    world.switch(auth_mode=mode)
    turns(world, 30)
    world.switch()
    world.runner.stop()
    again(world)
    everything_is_done(world)


def test_a_jira_that_is_not_there_at_all_is_waited_for(world: AgentWorld) -> None:
    import httpx2

    world.wire.sent = 0
    world.wire.faults = dict.fromkeys(range(12), httpx2.ConnectError("refused"))
    turns(world, 8)
    nothing_has_happened(world)
    world.wire.faults = {}
    everything_is_done(world)
