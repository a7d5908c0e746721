"""What the agent does when Jira, the way to it, or the hub fail: nothing is written twice, nothing is burnt."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agent.hub import HubAnswer
from examples.jira.faults import Fault
from examples.jira.settings import DEFAULT_TOKEN
from protocol.commands import DEFAULT_GAPS
from tests.contracts.agent_world import AgentWorld
from tests.contracts.test_agent_killed import COMMANDS

WRITING = [name for name in COMMANDS if name != "refresh"]
UNKNOWN = {
    "O2 executed": Fault(kind="execute_then_drop"),
    "O2 not executed": Fault(kind="drop_before_execute"),
    "O2 cut off": Fault(kind="truncate_json"),
    "O9 executed": Fault(kind="error_after_execute"),
    "O9 not executed": Fault(kind="refuse", status=500, messages=("Internal server error",)),
    "O10 executed": Fault(kind="html", status=504, executed=True),
    "O10 not executed": Fault(kind="html", status=503),
}


@pytest.fixture
def world(tmp_path: Path) -> AgentWorld:
    world = AgentWorld(tmp_path)
    world.learn()
    return world


def calm_writes(command_type: str, tmp_path: Path) -> list[tuple[str, str]]:
    (tmp_path / "calm").mkdir()
    world = AgentWorld(tmp_path / "calm")
    world.learn()
    world.report_of(command_type, **COMMANDS[command_type])
    return [(one["method"], one["path"]) for one in world.written()]


@pytest.mark.parametrize("fault", UNKNOWN)
@pytest.mark.parametrize("command_type", WRITING)
def test_no_write_is_ever_executed_twice(command_type: str, fault: str, tmp_path: Path) -> None:
    """For each type, each outcome that leaves it open, at each of its writes."""
    writes = calm_writes(command_type, tmp_path)
    for number, (method, path) in enumerate(writes):
        folder = tmp_path / str(number)
        folder.mkdir()
        world = AgentWorld(folder)
        world.learn()
        skip = sum(1 for one in writes[:number] if one == (method, path))
        world.fault(UNKNOWN[fault].model_copy(update={"method": method, "path": f"{path}$", "skip": skip}))
        report = world.report_of(command_type, **COMMANDS[command_type])
        assert report["status"] == "done", report
        assert [(one["method"], one["path"]) for one in world.written()] == writes


@pytest.mark.parametrize(("late_seconds", "index_lag_seconds"), [(60.0, 0.0), (100.0, 100.0)])
def test_a_post_that_outlives_its_timeout_makes_no_second_issue(
    world: AgentWorld, late_seconds: float, index_lag_seconds: float
) -> None:
    """H2: the answer is lost and the effect comes later, and the index shows it later still (H1)."""
    inner, pass_time = world.wire.inner.handle_request, world.clock.sleep
    late: list[httpx2.Request] = []

    def slow(request: httpx2.Request) -> httpx2.Response:
        if request.method == "POST" and request.url.path.endswith("/issue") and not late:
            late.append(request)
            raise httpx2.ReadTimeout("slow", request=request)
        return inner(request)

    def sleep(seconds: float) -> None:
        until_it_lands = started + late_seconds - world.clock.monotonic()
        if len(late) == 1 and seconds >= until_it_lands:
            pass_time(until_it_lands)
            inner(late[0])
            late.append(late[0])
            seconds -= until_it_lands
        pass_time(seconds)

    world.wire.inner.handle_request = slow  # type: ignore[method-assign]
    world.clock.sleep = sleep  # type: ignore[method-assign]
    world.switch(index_lag_seconds=index_lag_seconds)
    world.queue.gaps["ensure_issue"] = 5.0
    started = world.clock.monotonic()
    report = world.report_of("ensure_issue", temp_key="new:1", summary="Медленная", identity="jh:a:40")
    assert report["result"]["key"] == "AURORA-1541"
    assert [one["method"] for one in world.written()] == ["POST"]


@pytest.mark.parametrize("code", [400, 404])
@pytest.mark.parametrize("command_type", ["ensure_fields", "ensure_comment", "ensure_status", "ensure_link"])
def test_a_refusal_fails_the_command_with_jiras_text_and_is_not_repeated(
    world: AgentWorld, command_type: str, code: int
) -> None:
    world.fault(Fault(kind="refuse", method="POST", path="/(comment|transitions|issueLink)$",
                      status=code, messages=("Нельзя",)),
                Fault(kind="refuse", method="PUT", status=code, messages=("Нельзя",)),
                Fault(kind="refuse", method="DELETE", status=405, messages=("Нельзя",)))  # fmt: skip
    report = world.report_of(command_type, **COMMANDS[command_type])
    assert report["status"] == "failed"
    assert "Нельзя" in report["error"]
    assert f"HTTP {code}" in report["error"] or "HTTP 405" in report["error"]
    assert world.written() == []
    writing = [one for one in world.requests() if one["method"] in ("PUT", "DELETE") or one["fault"] == "refuse"]
    assert len(writing) == 1


def test_a_missing_issue_fails_the_command(world: AgentWorld) -> None:
    report = world.report_of("ensure_fields", key="AURORA-9999", duedate="2026-01-01")
    assert (report["status"], report["jira_calls"]) == ("failed", 1)
    assert "HTTP 404" in report["error"]


def test_429_is_waited_out_counted_and_the_same_write_goes_again(world: AgentWorld) -> None:
    """B31: three of them, `Retry-After: 0`, a bucket filled every 60 s."""
    world.fault(Fault(kind="rate_limit", method="PUT", times=3, retry_after="0", interval_seconds=60))
    world.queue.gaps["ensure_fields"] = 1.0
    report = world.report_of("ensure_fields", **COMMANDS["ensure_fields"])
    assert (report["status"], report["rate_limited"], report["jira_calls"]) == ("done", 3, 5)
    puts = [moment for moment, _, method, _ in world.wire.calls if method == "PUT"]
    assert [round(after - before) for before, after in pairwise(puts)] == [60, 60, 60]
    assert len(world.written()) == 1


def test_a_connection_that_is_refused_is_no_failed_command(world: AgentWorld) -> None:
    world.wire.faults = dict.fromkeys(range(60), httpx2.ConnectError("refused"))
    report = world.report_of("ensure_fields", **COMMANDS["ensure_fields"])
    assert report["status"] == "done"
    assert {event.name for event in world.events} >= {"blocked", "unblocked"}


ENVIRONMENT = {
    "SSO page": {"auth_mode": "sso_200_html"},
    "SSO redirect": {"auth_mode": "sso_302"},
    "maintenance": {"maintenance": True},
}


@pytest.mark.parametrize("trouble", ENVIRONMENT)
@pytest.mark.parametrize("command_type", COMMANDS)
def test_an_unfit_jira_blocks_the_agent_keeps_the_command_and_goes_on_by_itself(
    world: AgentWorld, command_type: str, trouble: str
) -> None:
    number = world.queue.add(command_type, **COMMANDS[command_type])
    world.queue.add("ensure_fields", key="AURORA-1534", duedate="2026-01-01")
    while world.journal.memory.delivery is None:
        world.turn()
    world.switch(**ENVIRONMENT[trouble])
    until = world.clock.monotonic() + 3600
    while world.clock.monotonic() < until:
        world.turn()
    assert world.queue.reports == {}
    assert world.queue.states[-1]["blocked"]
    assert world.queue.states[-1]["current_command_id"] == number
    probes = [moment for moment, _, _, path in world.wire.calls if path.endswith("/myself")][1:]
    assert 3 <= len(probes) <= 10
    assert all(after - before >= 60 for before, after in pairwise(probes))
    assert world.written() == []
    world.switch()
    world.run()
    assert [report["status"] for report in world.queue.reports.values()] == ["done", "done"]


def test_a_captcha_costs_exactly_one_call_until_a_person_acts(world: AgentWorld) -> None:
    """B33: each further try would feed the lock counter."""
    world.queue.add("ensure_fields", **COMMANDS["ensure_fields"])
    while world.journal.memory.delivery is None:
        world.turn()
    world.switch(auth_mode="captcha")
    before = len(world.wire.calls)
    for _ in range(120):
        world.turn()
    assert len(world.wire.calls) == before + 1
    assert "O6" not in str(world.queue.reports)
    assert "CAPTCHA" in world.queue.states[-1]["blocked"].upper()
    world.switch()
    world.journal.close()
    world.start()
    world.run()
    [report] = world.queue.reports.values()
    assert report["status"] == "done"


def test_an_expired_token_burns_no_queue_and_a_new_one_is_noticed(world: AgentWorld) -> None:
    for number in range(200):
        world.queue.add("ensure_fields", key="AURORA-1533", duedate=f"2026-01-{1 + number % 28:02d}")
    while world.journal.memory.delivery is None:
        world.turn()
    world.token = "expired"
    assert world.runner._jira.renewed()  # type: ignore[attr-defined]
    before = len(world.wire.calls)
    for _ in range(100):
        world.turn()
    assert world.queue.reports == {}
    assert sum(one["status"] == "claimed" for one in world.queue.commands) == 1
    assert len(world.wire.calls) == before + 1
    world.token = DEFAULT_TOKEN
    for _ in range(20):
        world.turn()
    assert [report["status"] for report in world.queue.reports.values()][:2] == ["done", "done"]


@pytest.mark.parametrize("command_type", COMMANDS)
def test_an_anonymous_downgrade_is_never_taken_for_an_answer(world: AgentWorld, command_type: str) -> None:
    """B4: an empty 200 as nobody must not become a second issue, nor an issue that is gone."""
    world.queue.add(command_type, **COMMANDS[command_type])
    while world.journal.memory.delivery is None:
        world.turn()
    world.switch(auth_mode="anonymous_downgrade", anonymous_search="empty")
    for _ in range(60):
        world.turn()
    assert world.queue.reports == {}
    assert world.written() == []
    assert world.queue.states[-1]["blocked"]


def test_one_command_that_alone_finds_jira_unfit_does_not_hold_the_queue_for_ever(world: AgentWorld) -> None:
    """A web firewall that dislikes one text: the probe is fine each time, the write is not."""
    world.fault(Fault(kind="html", method="POST", path="/comment$", status=403, times=1000))
    bad = world.queue.add("ensure_comment", **COMMANDS["ensure_comment"])
    good = world.queue.add("ensure_fields", **COMMANDS["ensure_fields"])
    world.run()
    assert world.queue.reports[bad]["status"] == "failed"
    assert world.queue.reports[good]["status"] == "done"


def test_a_server_that_breaks_on_one_reading_fails_that_command(world: AgentWorld) -> None:
    world.fault(Fault(kind="error_after_execute", method="GET", path="/issue/AURORA-1533$", times=1000))
    report = world.report_of("ensure_fields", **COMMANDS["ensure_fields"])
    assert report["status"] == "failed"
    assert "HTTP 500" in report["error"]


# --- the hub


def test_a_claim_whose_answer_got_lost_is_asked_again_under_its_id(world: AgentWorld) -> None:
    world.queue.add("ensure_fields", **COMMANDS["ensure_fields"])
    world.queue.add("refresh", **COMMANDS["refresh"])
    world.queue.lose = ["/claim"]
    world.turn()
    world.journal.close()
    world.start()
    world.run()
    assert [one["delivery"] for one in world.queue.commands] == [1, 1]


def test_a_report_whose_answer_got_lost_is_sent_again_and_nothing_is_executed_again(world: AgentWorld) -> None:
    world.queue.lose = ["/result", "/result", "/result"]
    report = world.report_of("ensure_fields", **COMMANDS["ensure_fields"])
    assert report["status"] == "done"
    while world.journal.memory.finished is not None:
        world.turn()
    assert len(world.written()) == 1
    assert [event.name for event in world.events].count("ended") == 1


def test_a_command_cancelled_during_the_pause_is_closed_without_a_write(world: AgentWorld) -> None:
    """H14."""
    world.queue.add("ensure_fields", **COMMANDS["ensure_fields"])
    while world.journal.memory.delivery is None:
        world.turn()
    world.queue.commands[0]["status"] = "cancelled"
    for _ in range(5):
        world.turn()
    assert world.written() == []
    assert world.journal.memory.delivery is None
    assert world.queue.reports == {}


def test_a_creation_cancelled_after_its_post_is_looked_up_and_reported(world: AgentWorld) -> None:
    """H13, H19: the agent dies right after Jira has created; a person cancels; the key is not lost."""
    number = world.queue.add("ensure_issue", **COMMANDS["ensure_issue"])
    world.fault(Fault(kind="execute_then_drop", method="POST", path="/issue$"))
    while not world.written():
        world.doom.at = None
        world.turn()
    world.queue.commands[0]["status"] = "cancelled"
    world.journal.close()
    world.start()
    for _ in range(5):
        world.turn()
    assert world.queue.reports[number]["result"]["key"] == "AURORA-1541"


def test_a_command_the_hub_forgot_is_kept_as_an_orphan(world: AgentWorld) -> None:
    unknown = {"code": "not_found", "title": "", "detail": "?"}
    world.queue.refuse["/result"] = HubAnswer(404, json.dumps(unknown).encode())
    world.queue.add("ensure_fields", **COMMANDS["ensure_fields"])
    while not world.runner.ended:
        world.turn()
    assert world.journal.memory.delivery is None
    [orphan] = (world.folder / "orphans.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(orphan)["report"]["status"] == "done"


@pytest.mark.parametrize(
    ("status", "code", "seconds"), [(409, "session_conflict", 60), (426, "upgrade_required", 60), (503, "paused", 30)]
)
def test_a_refused_claim_is_repeated_later_under_a_new_id(
    world: AgentWorld, status: int, code: str, seconds: float
) -> None:
    body = json.dumps({"code": code, "title": code, "detail": "because", "hint": "do that"}).encode()
    world.queue.refuse["/claim"] = HubAnswer(status, body)
    now = world.clock.monotonic()
    assert world.runner.step(now) == now + seconds
    assert world.events[-1].text == f"{code}: because → do that"  # the way out is the hub's, and reaches the person
    world.queue.refuse.clear()
    assert world.report_of("ensure_fields", **COMMANDS["ensure_fields"])["status"] == "done"


def test_a_report_the_hub_does_not_take_becomes_a_failure_that_says_so(world: AgentWorld) -> None:
    body = json.dumps({"code": "invalid", "title": "", "detail": "key of a foreign project"}).encode()
    world.queue.refuse["/result"] = HubAnswer(422, body)
    world.queue.add("ensure_fields", **COMMANDS["ensure_fields"])
    while world.journal.memory.finished is None:
        world.turn()
    world.turn()
    world.queue.refuse.clear()
    world.run()
    [report] = world.queue.reports.values()
    assert report["status"] == "failed"
    assert "foreign project" in report["error"]


def test_an_unreachable_hub_is_told_once_and_its_return_once(world: AgentWorld) -> None:
    world.queue.down = True
    for _ in range(12):
        world.turn()
    world.queue.down = False
    world.turn()
    names = [event.name for event in world.events if event.name in ("lost", "back")]
    assert names == ["lost", "back"]


def test_an_empty_queue_makes_no_jira_call_and_no_pause(world: AgentWorld) -> None:
    """Scenario 9: no next command, no pause."""
    before = world.clock.monotonic()
    world.turn()
    assert world.clock.monotonic() - before <= 25
    assert world.wire.sent == 0


# --- what this machine permits


@pytest.mark.parametrize(
    ("command_type", "params", "said"),
    [
        ("ensure_fields", {"key": "OTHER-1", "duedate": None}, "allow_projects"),
        ("ensure_link", {"source": "AURORA-1", "target": "OTHER-1", "link_type": "связанные"}, "allow_projects"),
        ("ensure_link", {"source": "AURORA-1", "target": "AURORA-2", "link_type": "иное"}, "«связанные»"),
        ("ensure_fields", {"key": "new:7", "duedate": None}, "new:7"),
        ("ensure_fields", {"key": "AURORA-1", "shoe_size": 43}, "shoe_size"),
    ],
)
def test_what_is_not_permitted_or_understood_fails_without_a_call(
    world: AgentWorld, command_type: str, params: dict[str, Any], said: str
) -> None:
    report = world.report_of(command_type, **params)
    assert (report["status"], report["jira_calls"]) == ("failed", 0)
    assert said in report["error"]


def test_the_hubs_gap_is_not_taken_below_the_floor(world: AgentWorld) -> None:
    world.queue.gaps = dict.fromkeys(DEFAULT_GAPS, 0.0)
    world.report_of("ensure_link", **COMMANDS["ensure_link"])
    moments = [moment for moment, _, method, _ in world.wire.calls if method in ("DELETE", "POST")][-2:]
    assert moments[1] - moments[0] == pytest.approx(1.0)
