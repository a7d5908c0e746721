"""Once, not twice, and nothing of it unknown: over retries, lost journals, late indexes, blocks and cancellations."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agent import journal as journal_module
from examples.jira.faults import Fault
from tests.contracts.agent_world import AgentWorld, Killed
from tests.contracts.reports_world import (
    again,
    before_each,
    built,
    claimed,
    crashed_three_times,
    crashed_three_times_before,
    dies_after,
    killed,
    made,
    moments,
    turns,
    without_journal,
)

REPORT = {"temp_key": "new:1", "summary": "Отчёт", "identity": "jh:a:40"}
COMMENT = {"key": "AURORA-1533", "marker": "plan:1", "body": "Срок перенесён"}
OFF_SCREEN: dict[str, Any] = {"epic_link_on_create": False}


def marked(world: AgentWorld) -> list[str]:
    return [body for body in world.comments("AURORA-1533") if body.startswith("plan:1")]


def until_blocked(world: AgentWorld) -> None:
    for _ in range(60):
        world.turn()
        if world.events[-1].name == "blocked":
            return
    raise AssertionError("the agent was never blocked")


# --- a person's retry shares the root (P1)


def three_crashes(world: AgentWorld) -> None:
    world.switch(index_lag_seconds=60.0)
    crashed_three_times(world, "/issue$")


def an_index_that_is_hours_late(world: AgentWorld) -> None:
    world.switch(index_lag_seconds=3_500.0)
    world.fault(Fault(kind="execute_then_drop", method="POST", path="/issue$"))
    world.run()


def an_epic_that_is_refused(world: AgentWorld) -> None:
    world.switch(**OFF_SCREEN, index_lag_seconds=60.0)
    world.fault(Fault(kind="refuse", method="PUT", path="/issue/", status=400, messages=("no",)))
    world.run()


def a_report_that_came_too_late(world: AgentWorld) -> None:
    """The hub gave the command up while the agent was creating; a person retries at once."""
    world.switch(index_lag_seconds=60.0)
    world.run()
    assert [report["status"] for report in world.queue.reports.values()][-1] == "done"


ENDS = [three_crashes, an_index_that_is_hours_late, an_epic_that_is_refused, a_report_that_came_too_late]


@pytest.mark.parametrize("compacted", [False, True], ids=["whole journal", "compacted and restarted"])
@pytest.mark.parametrize("ended", ENDS)
def test_a_retry_makes_no_second_issue_however_the_first_command_ended(
    ended: Callable[[AgentWorld], None], compacted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A4, A6: what is unsettled, or made, belongs to the root and outlives the report."""
    if compacted:
        monkeypatch.setattr(journal_module, "COMPACT_OVER", 1)
        monkeypatch.setattr(journal_module, "KEPT_LINES", 1)
    wish = REPORT | ({"epic_key": "AURORA-1530"} if ended is an_epic_that_is_refused else {}) | {"identity": "jh:a:41"}
    world = built(tmp_path, switches=OFF_SCREEN if ended is an_epic_that_is_refused else None)
    world.report_of("ensure_issue", temp_key="new:9", summary="Свидетель", identity="jh:a:40")
    world.queue.gaps["ensure_issue"] = 5.0
    world.queue.add("ensure_issue", **wish)
    ended(world)
    assert len(made(world)) == 1
    if compacted:
        again(world)
    retry = world.queue.add("ensure_issue", **wish)
    world.run(steps=400)
    assert len(made(world)) == 1
    report = world.queue.reports[retry]
    assert report["status"] == "failed" or report["result"]["key"] == made(world)[0]


@pytest.mark.parametrize("summary", ["Отчёт", "Отчёт за март"], ids=["as it was", "renamed"])
def test_a_retry_days_later_finds_what_the_first_command_left_behind(summary: str, tmp_path: Path) -> None:
    """The retry is young, its root is not: the search reaches back to the write of unknown outcome (H4, H5)."""
    world = built(tmp_path)
    world.queue.add("ensure_issue", **REPORT)
    crashed_three_times(world, "/issue$")
    [key] = made(world)
    if summary != "Отчёт":
        world.person("edit", key=key, fields={"summary": summary})
    world.clock.sleep(9 * 86_400.0)
    assert world.report_of("ensure_issue", **REPORT)["result"]["key"] == key


@pytest.mark.parametrize("younger", [0, 30], ids=["the newest", "others came since"])
@pytest.mark.parametrize("summary", ["Отчёт", "Отчёт за март"], ids=["as it was", "renamed"])
def test_what_a_restored_hub_has_forgotten_is_found_by_an_agent_that_has_forgotten_it_too(
    summary: str, younger: int, tmp_path: Path
) -> None:
    """Done; then the hub is restored to before its first claim, and the journal lost: a first delivery once more."""
    world = built(tmp_path)
    key = world.report_of("ensure_issue", **REPORT)["result"]["key"]
    for number in range(younger):
        world.person("create", summary=f"Своя {number}", user="svc_hub")
    if summary != "Отчёт":
        world.person("edit", key=key, fields={"summary": summary})
    world.clock.sleep(3_600.0)
    world.queue.restore()
    without_journal(world)
    assert world.report_of("ensure_issue", **REPORT)["result"]["key"] == key


def test_a_redelivery_whose_age_a_clock_set_back_has_eaten_finds_its_renamed_issue(tmp_path: Path) -> None:
    """Made an hour ago, renamed, the journal lost; the hub's clock was set back, and it says the command is new."""
    world = built(tmp_path)
    number = world.queue.add("ensure_issue", **REPORT)
    dies_after(world, "POST", "/issue$")
    killed(world)
    [key] = made(world)
    world.person("edit", key=key, fields={"summary": "Отчёт за март"})
    world.clock.sleep(3_600.0)
    without_journal(world)
    world.run(steps=400)
    assert world.queue.reports[number]["result"]["key"] == key


def test_of_an_issue_and_its_clone_under_one_label_the_older_is_ours(tmp_path: Path) -> None:
    """Renamed and then cloned by a person, label and all, before the command comes again."""
    world = built(tmp_path, identity_label=True)
    number = world.queue.add("ensure_issue", **REPORT)
    dies_after(world, "POST", "/issue$")
    killed(world)
    [key] = made(world)
    world.person("edit", key=key, fields={"summary": "Отчёт за март"})
    world.person("create", summary="CLONE - Отчёт за март", user="svc_hub", fields={"labels": ["jh:a:40"]})
    without_journal(world)
    world.run(steps=400)
    assert world.queue.reports[number]["result"]["key"] == key


def test_an_issue_that_a_person_deleted_is_no_answer_to_a_retry(tmp_path: Path) -> None:
    world = built(tmp_path)
    first = world.report_of("ensure_issue", **REPORT)["result"]["key"]
    world.person("delete", key=first)
    second = world.report_of("ensure_issue", **REPORT)["result"]["key"]
    assert second != first
    assert made(world) == [second]


def test_roots_are_remembered_up_to_a_number_and_the_unsettled_ones_longest(tmp_path: Path) -> None:
    world = built(tmp_path)
    world.queue.gaps["ensure_issue"] = 1.0
    crashed = world.queue.add("ensure_issue", **REPORT)
    crashed_three_times_before(world, "/issue")
    assert world.queue.reports[crashed]["status"] == "failed"
    for number in range(41, 101):
        world.report_of("ensure_issue", temp_key="new:2", summary=f"Задача {number}", identity=f"jh:b:{number}")
    roots = [one.root for one in world.journal.memory.creations]
    assert len(roots) == 50
    assert {"jh:a:40", "jh:b:100"} <= set(roots)
    assert "jh:b:41" not in roots


def test_roots_are_remembered_in_their_order_whatever_the_clock_says(tmp_path: Path) -> None:
    world = built(tmp_path)
    world.queue.gaps["ensure_issue"] = 1.0
    for number in range(40, 90):
        world.report_of("ensure_issue", temp_key="new:2", summary=f"Задача {number}", identity=f"jh:b:{number}")
    for number, jump in ((90, -7_200.0), (91, 40 * 86_400.0), (92, -40 * 86_400.0)):
        world.clock.step_wall(jump)
        world.report_of("ensure_issue", temp_key="new:2", summary=f"Задача {number}", identity=f"jh:b:{number}")
    assert [one.root for one in world.journal.memory.creations] == [f"jh:b:{number}" for number in range(43, 93)]


def late_post(world: AgentWorld, path: str, *, seconds: float) -> Callable[[], None]:
    """The agent dies at the first POST to this path, and Jira does it only so many seconds later.

    The answer lets it arrive at last, should nothing have been sent since.
    """
    waiting: list[tuple[float, httpx2.Request]] = []
    inner = world.wire.inner.handle_request
    done: list[str] = []

    def arrive() -> None:
        while waiting:
            inner(waiting.pop()[1])

    def handle(request: httpx2.Request) -> httpx2.Response:
        if waiting and world.clock.monotonic() >= waiting[0][0]:
            arrive()
        if request.method == "POST" and request.url.path.endswith(path) and not done:
            done.append(path)
            waiting.append((world.clock.monotonic() + seconds, request))
            raise Killed
        return inner(request)

    world.wire.inner.handle_request = handle  # type: ignore[method-assign]
    return arrive


@pytest.mark.parametrize(
    ("command_type", "wish", "path"),
    [("ensure_issue", REPORT, "/issue"), ("ensure_comment", COMMENT, "/comment")],
    ids=["issue", "comment"],
)
def test_a_post_still_under_way_is_waited_for_by_the_retry_too(
    command_type: str, wish: dict[str, str], path: str, tmp_path: Path
) -> None:
    """The first command was given up after three crashes; its POST takes effect after the retry was claimed."""
    world = built(tmp_path)
    world.queue.gaps[command_type] = 5.0
    world.queue.add(command_type, **wish)
    arrive = late_post(world, path, seconds=60.0)
    killed(world)
    for _ in range(2):
        again(world)
        turns(world, 1)
    again(world)
    world.run()
    assert world.report_of(command_type, **wish)["status"] == "done"
    arrive()
    assert len(made(world) or marked(world)) == 1


# --- a lost journal


@pytest.mark.parametrize(
    ("command_type", "wish", "path"),
    [("ensure_issue", REPORT, "/issue"), ("ensure_comment", COMMENT, "/comment")],
    ids=["issue", "comment"],
)
def test_a_redelivery_to_an_agent_that_knows_nothing_of_the_first_one_waits_out_the_settle_window(
    command_type: str, wish: dict[str, str], path: str, tmp_path: Path
) -> None:
    """A5: the life before, whose journal is lost, may have sent the POST."""
    world = built(tmp_path)
    world.queue.gaps[command_type] = 5.0
    world.queue.add(command_type, **wish)
    arrive = late_post(world, path, seconds=60.0)
    killed(world)
    (tmp_path / "journal.jsonl").unlink()
    again(world)
    world.run()
    arrive()
    assert len(made(world) or marked(world)) == 1


def test_a_lost_journal_and_an_index_that_lags_make_no_second_issue(tmp_path: Path) -> None:
    world = built(tmp_path)
    world.queue.gaps["ensure_issue"] = 5.0
    world.switch(index_lag_seconds=20.0)
    world.queue.add("ensure_issue", **REPORT)
    dies_after(world, "POST", "/issue$")
    killed(world)
    (tmp_path / "journal.jsonl").unlink()
    again(world)
    world.run()
    assert len(made(world)) == 1


@pytest.mark.parametrize("gap", [1.0, 120.0])
def test_after_a_lost_journal_a_retry_waits_for_a_late_index_however_short_the_gap(gap: float, tmp_path: Path) -> None:
    """The first command ended at the hub; its retry is delivered for the first time, to an agent that knows nothing."""
    world = built(tmp_path)
    world.queue.gaps["ensure_issue"] = gap
    world.switch(index_lag_seconds=100.0)
    first = world.queue.add("ensure_issue", **REPORT)
    dies_after(world, "POST", "/issue$")
    killed(world)
    world.queue.commands[0]["status"] = "failed"
    world.queue.reports[first] = {"status": "failed"}
    (tmp_path / "journal.jsonl").unlink()
    again(world)
    report = world.report_of("ensure_issue", **REPORT)
    assert (report["status"], report["result"]["key"]) == ("done", made(world)[0])
    assert len(made(world)) == 1


def test_a_retry_of_what_jira_refused_waits_for_nothing(tmp_path: Path) -> None:
    world = built(tmp_path)
    world.fault(Fault(kind="refuse", method="POST", path="/issue$", status=400, messages=("no",)))
    assert world.report_of("ensure_issue", **REPORT)["status"] == "failed"
    world.report_of("ensure_issue", **REPORT)
    first, second = moments(world, "POST", "/issue")
    assert second - first == 120.0  # the gap, and nothing beside it


# --- the witness of the index


@pytest.mark.parametrize("quiet_days", [1, 9, 400])
def test_after_quiet_days_an_ordinary_timeout_fails_no_creation(quiet_days: int, tmp_path: Path) -> None:
    """A1: the newest own issue may be too old for the search by age."""
    world = built(tmp_path)
    world.report_of("ensure_issue", temp_key="new:9", summary="Старая", identity="jh:a:9")
    world.clock.sleep(quiet_days * 86_400.0)
    world.fault(Fault(kind="drop_before_execute", method="POST", path="/issue$"))
    assert world.report_of("ensure_issue", **REPORT)["status"] == "done"
    assert len(made(world)) == 1


# --- no write after a cancellation that could be known (P9)


@pytest.mark.parametrize("between", ["the gap", "an hour of maintenance", "a restart"])
def test_no_second_write_once_a_person_has_cancelled_and_what_was_written_is_told(between: str, tmp_path: Path) -> None:
    """A8: the claim is asked for again before every write, not before the first one alone."""
    world = built(tmp_path)
    number = world.queue.add("ensure_status", key="AURORA-1533", target=["Разработка", "Готово"])

    def cancel(request: httpx2.Request) -> None:
        if request.method == "POST" and request.url.path.endswith("/transitions"):
            posts.append(request)
            world.queue.commands[0]["status"] = "cancelled"

    posts: list[httpx2.Request] = []
    before_each(world, cancel)
    if between == "an hour of maintenance":
        world.fault(Fault(kind="html", method="GET", path="/issue/", status=503, skip=1, times=8))
        until_blocked(world)
    elif between == "a restart":
        dies_after(world, "POST", "/transitions$")
        killed(world)
        again(world)
        before_each(world, cancel)
    turns(world, 40)
    assert len(posts) == 1
    assert world.queue.commands[0]["status"] == "cancelled"
    if between != "a restart":  # there the agent asks at its start and need not look at Jira
        report = world.queue.reports[number]
        assert (report["status"], len(report["result"]["operations"])) == ("failed", 1)


# --- Jira's own word about speed


@pytest.mark.parametrize("met", ["by a command", "by the probe"])
@pytest.mark.parametrize("asked", [{"retry_after": "1800"}, {"retry_after": "0", "interval_seconds": 1800}], ids=str)
def test_a_429_is_waited_out_wherever_it_is_met(met: str, asked: dict[str, Any], tmp_path: Path) -> None:
    """A7: Retry-After and the interval bind the probe of a blocked agent too."""
    world = built(tmp_path)
    claimed(world, "ensure_fields", key="AURORA-1533", duedate="2026-12-01")
    if met == "by the probe":
        world.switch(maintenance=True)
        until_blocked(world)
        world.switch()
        world.fault(Fault(kind="rate_limit", **asked))
        turns(world, 6)
        first, second = moments(world, "GET", "/myself")[-2:]
    else:
        world.fault(Fault(kind="rate_limit", times=8, **asked))
        until_blocked(world)
        turns(world, 3)
        paths = [path.rpartition("/")[2] for _, _, _, path in world.wire.calls]
        probe = len(paths) - 1 - paths[::-1].index("myself")
        first, second = (world.wire.calls[number][0] for number in (probe - 1, probe))
    assert second - first >= 1800
