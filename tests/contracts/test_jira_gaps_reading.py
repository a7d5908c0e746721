"""Gaps of the seeds, by number, answered as the specification says: comments, readings, counting, telling."""

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agent.outcomes import Expect, JiraRequest, Seen, answer
from agent.runner import Settings
from examples.jira.faults import Fault
from examples.jira.model import Link
from protocol.messages import MAX_ERROR
from tests.contracts.agent_world import AgentWorld
from tests.contracts.reports_world import again, bodies, built, claimed, moments, sent, turns
from tests.simulation.bridge import Bridge

KEY = "AURORA-1534"
COMMENT = {"key": KEY, "marker": "plan:1", "body": "новое"}


@pytest.fixture
def world(tmp_path: Path) -> AgentWorld:
    return built(tmp_path)


# --- comments


def test_g39_of_several_own_comments_with_the_marker_the_newest_is_kept_and_the_others_told(world: AgentWorld) -> None:
    ids = [world.person("comment", key=KEY, body=f"plan:1\n{n}", user="svc_hub") for n in (1, 2, 3)]
    result = world.report_of("ensure_comment", **COMMENT)["result"]
    assert sorted(result["also_found"]) == ids[:2]
    assert world.comments(KEY) == ["plan:1\n1", "plan:1\n2", "plan:1\nновое"]


def test_g40_a_marker_in_somebody_elses_comment_is_ignored(world: AgentWorld) -> None:
    world.person("comment", key=KEY, body="plan:1\nчужое")
    report = world.report_of("ensure_comment", **COMMENT)
    assert report["status"] == "done"
    assert world.comments(KEY) == ["plan:1\nчужое", "plan:1\nновое"]


@pytest.mark.parametrize("body", ["  plan:1\nновое", "\nplan:1\r\nновое\r\n"])
def test_g41_the_marker_stands_at_the_start_after_a_strip(world: AgentWorld, body: str) -> None:
    world.person("comment", key=KEY, body=body, user="svc_hub")
    assert world.report_of("ensure_comment", **COMMENT)["jira_calls"] == 1


@pytest.mark.parametrize("body", ["к слову plan:1", "plan:12\nновое", "plan:1.2"])
def test_g41_a_marker_elsewhere_or_a_longer_one_is_another(world: AgentWorld, body: str) -> None:
    world.person("comment", key=KEY, body=body, user="svc_hub")
    world.report_of("ensure_comment", **COMMENT)
    assert world.comments(KEY) == [body, "plan:1\nновое"]


@pytest.mark.parametrize("marker", ["{code}", "[x]", "*b*", "a b", "ab", "ж" * 5, "a" * 65])
def test_g41_a_marker_jira_could_alter_is_refused_at_the_hub(tmp_path: Path, marker: str) -> None:
    bridge = Bridge(tmp_path)
    assert bridge.post_batch({"type": "ensure_comment", **COMMENT, "marker": marker}).status_code == 422
    bridge.close()


def test_g42_a_restriction_survives_an_edit(world: AgentWorld) -> None:
    restriction = {"type": "role", "value": "Users"}
    world.person("comment", key=KEY, body="plan:1\nстарое", user="svc_hub", visibility=restriction)
    assert world.report_of("ensure_comment", **COMMENT)["status"] == "done"
    assert json.loads(world.written()[-1]["body"]) == {"body": "plan:1\nновое", "visibility": restriction}
    [comment] = world.jira.store.comments(world.issue(KEY).id)
    assert (comment.body, comment.visibility) == ("plan:1\nновое", restriction)


def test_g43_a_body_that_holds_the_marker_itself_and_other_line_ends_is_the_same(world: AgentWorld) -> None:
    world.switch(crlf=True)
    body = "plan:1\nодин\nplan:1 ещё раз"
    reports = [world.report_of("ensure_comment", key=KEY, marker="plan:1", body=body) for _ in range(2)]
    assert [one["jira_calls"] for one in reports] == [2, 1]
    assert world.comments(KEY) == ["plan:1\r\nодин\r\nplan:1 ещё раз"]


def test_names_learnt_for_one_user_do_not_hold_for_another(world: AgentWorld) -> None:
    """Another user's comments are foreign (G-40): with the old user's name they would be taken for our own."""
    world.report_of("ensure_comment", **COMMENT)
    asked = len(moments(world, "GET", "/myself"))
    again(world)
    world.report_of("ensure_comment", **COMMENT)
    assert len(moments(world, "GET", "/myself")) == asked
    world.jira.settings = replace(world.jira.settings, tokens={"another": "petrova"})
    world.token = "another"
    again(world)
    report = world.report_of("ensure_comment", **COMMENT)
    assert report["status"] == "done", report
    assert len(moments(world, "GET", "/myself")) == asked + 1
    assert world.comments(KEY) == ["plan:1\nновое"] * 2


# --- readings


def test_g44_gone_forbidden_and_moved_keys_are_states_and_the_command_is_done(world: AgentWorld) -> None:
    world.person("delete", key="AURORA-1531")
    world.person("restrict", key="AURORA-1532")
    moved = world.person("move", key="AURORA-1535", project="BOREAS")
    keys = ["AURORA-1531", "AURORA-1532", "AURORA-1535", "AURORA-1536"]
    report = world.report_of("refresh", keys=keys)
    result = report["result"]
    assert report["status"] == "done"
    assert result["missing"] == ["AURORA-1531", "AURORA-1532"]
    assert result["moved"] == {"AURORA-1535": moved}
    assert {moved, "AURORA-1536"} <= {one["key"] for one in result["issues"]}
    looked = [call for call in sent(world) if call == "GET AURORA-1531"]
    assert len(looked) == 2  # gone takes two answers


def test_g44_an_archived_issue_is_found_by_its_key(world: AgentWorld) -> None:
    world.person("archive", key="AURORA-1536")
    result = world.report_of("refresh", keys=["AURORA-1536"])["result"]
    assert ("AURORA-1536" in {one["key"] for one in result["issues"]}, result["missing"]) == (True, [])


def test_g45_neighbours_are_one_hop_at_most_500_and_counted(world: AgentWorld) -> None:
    store, centre = world.jira.store, world.issue("AURORA-1536")
    with store.transaction():
        for number in range(510):
            other = world.issue("AURORA-1535")
            other.id, other.number = 50_000 + number, 5_000 + number
            store.save_issue(other, world.clock.wall())
            store.save_link(Link(store.next_number("link"), "10201", centre.id, other.id))
    report = world.report_of("refresh", keys=["AURORA-1536"])
    result = report["result"]
    assert result["truncated"] is True
    assert len(result["issues"]) == 1 + 500
    assert report["jira_calls"] == 1 + 5 == len(moments(world, "POST", "/search"))


def test_g45_one_hop_is_one_hop(world: AgentWorld) -> None:
    world.person("link", first="AURORA-1536", second="AURORA-1532", type="10201")
    world.person("link", first="AURORA-1532", second="AURORA-1531", type="10201")
    result = world.report_of("refresh", keys=["AURORA-1536"])["result"]
    assert "AURORA-1532" in {one["key"] for one in result["issues"]}
    assert "AURORA-1531" not in {one["key"] for one in result["issues"]}
    assert result["truncated"] is False


def test_g47_the_gap_stands_between_the_pages_of_a_reading(world: AgentWorld) -> None:
    world.switch(search_cap=10)
    world.report_of("refresh", jql='project = "AURORA"')
    pages = moments(world, "POST", "/search")
    assert len(pages) >= 5
    assert all(after - before >= 2 for before, after in itertools.pairwise(pages))


def test_g48_every_request_of_a_command_counts_retries_refusals_and_probes_included(world: AgentWorld) -> None:
    number = claimed(world, "ensure_fields", key=KEY, duedate="2026-11-24")
    world.wire.sent = 0
    fault = httpx2.Response(503, html="<html></html>")
    world.wire.faults = {**dict.fromkeys(range(6), fault), 7: httpx2.Response(429, headers={"retry-after": "0"})}
    world.run()
    report = world.queue.reports[number]
    assert (report["status"], report["rate_limited"]) == ("done", 1)
    assert report["jira_calls"] == world.wire.sent
    assert sent(world).count("GET myself") == 3  # two in vain, one that found Jira back


def test_g49_reads_of_one_command_follow_at_once_and_its_write_too_the_next_command_waits(world: AgentWorld) -> None:
    world.person("comment", key=KEY, body="разговор {n}", count=120)
    world.report_of("ensure_comment", **COMMENT)
    started = world.clock.monotonic()
    calls = list(world.wire.calls[-world.wire.sent :])
    assert [one[2] for one in calls] == ["GET", "GET", "POST"]
    assert calls[-1][0] == calls[0][0]
    world.report_of("ensure_comment", **COMMENT | {"body": "ещё"})
    assert world.clock.monotonic() - started >= 30


def test_g49_the_gap_between_reads_is_a_setting(tmp_path: Path) -> None:
    settings = Settings(projects=frozenset({"AURORA"}), between_reads=3.0)
    world = built(tmp_path, settings=settings)
    world.person("comment", key=KEY, body="разговор {n}", count=250)
    world.report_of("ensure_comment", **COMMENT)
    pages = moments(world, "GET", "/comment")
    assert [after - before for before, after in itertools.pairwise(pages)] == [3.0, 3.0]


MOVED: list[tuple[str, dict[str, Any]]] = [
    ("ensure_fields", {"key": KEY, "duedate": "2026-11-24"}),
    ("ensure_comment", COMMENT),
    ("ensure_status", {"key": KEY, "target": "Разработка"}),
    ("ensure_link", {"source": KEY, "target": "AURORA-1536", "link_type": "связанные"}),
    ("ensure_sprint", {"key": KEY, "sprint": "Спринт 2"}),
]


@pytest.mark.parametrize(("command_type", "params"), MOVED, ids=[row[0] for row in MOVED])
def test_g50_an_issue_that_moved_during_the_wait_is_written_under_its_new_key(
    world: AgentWorld, command_type: str, params: dict[str, Any]
) -> None:
    world.person("status", key=KEY, status="Ожидание разработки")
    world.person("sprint", key=KEY, sprint=None)
    moved = world.person("move", key=KEY, project="BOREAS")
    report = world.report_of(command_type, **params)
    assert report["status"] == "done", report
    [write] = world.written()
    if command_type == "ensure_comment":  # the pages of comments do not tell a key; Jira takes the old one
        assert world.comments(moved) == ["plan:1\nновое"]
        return
    assert report["result"]["key_now"] == moved
    assert KEY not in write["path"] + write["body"]


@pytest.mark.parametrize(("command_type", "params"), MOVED, ids=[row[0] for row in MOVED])
def test_g51_an_archived_issue_fails_in_jiras_words(
    world: AgentWorld, command_type: str, params: dict[str, Any]
) -> None:
    world.person("status", key=KEY, status="Ожидание разработки")
    world.person("sprint", key=KEY, sprint=None)
    world.person("archive", key=KEY)
    if command_type == "ensure_link":
        world.fault(Fault(kind="refuse", method="POST", path="/issueLink$", status=403, messages=("archived",)))
    report = world.report_of(command_type, **params)
    assert report["status"] == "failed"
    assert "archived" in report["error"]
    assert world.written() == []


def test_g51_a_read_only_project_fails_with_403(world: AgentWorld) -> None:
    world.switch(read_only_project=True)
    report = world.report_of("ensure_fields", key=KEY, duedate="2026-11-24")
    assert report["status"] == "failed"
    assert "HTTP 403: You do not have permission to edit issues" in report["error"]


def test_g51_the_mirror_knows_an_archived_issue_until_it_is_brought_back(tmp_path: Path) -> None:
    bridge = Bridge(tmp_path)
    for archived, state in ((False, "present"), (True, "archived"), (False, "present")):
        bridge.person_edits(action="archive", key=KEY, archived=archived)
        bridge.apply({"type": "refresh", "keys": [KEY]})
        bridge.work()
        [found] = (one for one in bridge.mirrored(state=state) if one["key"] == KEY)
        assert (found["state"], found["archived_at"] is not None) == (state, archived)
    assert bridge.mirrored(state="archived") == []
    bridge.close()


# --- telling


def test_g52_an_error_has_code_messages_fields_and_the_request_id(world: AgentWorld) -> None:
    world.fault(
        Fault(kind="refuse", method="PUT", status=400, messages=("Первое", "Второе"), errors={"duedate": "Не дата"})
    )
    error = world.report_of("ensure_fields", key=KEY, duedate="2026-11-24")["error"]
    assert "HTTP 400: Первое; Второе; duedate: Не дата" in error
    number = next(one for one in world.requests() if one["method"] == "PUT")["number"]
    assert f"[request {number % 1440}x{number}x1]" in error


def test_g52_a_page_is_reduced_to_its_title_long_texts_are_cut_and_secrets_masked(world: AgentWorld) -> None:
    write = JiraRequest("PUT", "/rest/api/2/issue/A-1", "write", Expect())
    page = Seen(sent=True, status=404, headers={"content-type": "text/html"}, body=b"<title> Oops &amp; </title><p>x")
    assert answer(write, page, 0.0).text.endswith("HTTP 404: page «Oops &»")
    json_type = {"content-type": "application/json"}
    long = Seen(sent=True, status=400, headers=json_type, body=json.dumps({"errorMessages": ["ы" * 5000]}).encode())
    assert len(answer(write, long, 0.0).text) == MAX_ERROR
    world.fault(Fault(kind="refuse", method="PUT", status=400, messages=(f"bad token {world.token}",)))
    error = world.report_of("ensure_fields", key=KEY, duedate="2026-11-24")["error"]
    assert "bad token ***" in error and world.token not in error


def test_probes_of_a_blocked_agent_without_a_command_belong_to_none(world: AgentWorld) -> None:
    world.runner._site = None  # the names are asked for again
    (world.folder / "journal.jsonl.names").unlink()
    world.switch(maintenance=True)
    world.queue.add("ensure_fields", key=KEY, duedate="2026-11-24")
    turns(world, 4)
    world.switch()
    world.run()
    [report] = world.queue.reports.values()
    assert report["jira_calls"] == 2
    assert bodies(world, "PUT", KEY)
