"""Reports, the mirror, people's actions and the status, through the real API on real SQLite."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from protocol.issues import IssueState
from tests.faces.small_hub import ENGINES, SmallHub, creation, fields, hub_on, link, reading


@pytest.fixture(params=ENGINES)
def hub(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallHub]:
    with hub_on(request.param, request, tmp_path) as made:
        yield made


# --- report


def test_a_report_ends_the_command_with_everything_it_says(hub: SmallHub) -> None:
    hub.batch(fields())
    command = hub.claim()["id"]
    answer = hub.report(command, result={"writes": ["PUT"]}, jira_calls=2, rate_limited=1)
    shown = answer.json()
    assert (shown["status"], shown["result"], shown["jira_calls"], shown["rate_limited"]) == (
        "done",
        {"writes": ["PUT"]},
        2,
        1,
    )
    assert hub.people.get("/api/v1/status").json()["agent"]["current_command_id"] is None


def test_a_report_of_a_queued_command_is_refused_but_kept(hub: SmallHub) -> None:
    batch = hub.batch(fields())
    command = batch["commands"][0]["id"]
    answer = hub.report(command, key="r1")
    assert (answer.status_code, answer.json()["code"]) == (409, "not_claimed")
    assert hub.command(command)["late_results"][0]["report"]["status"] == "done"
    hub.claim()
    assert hub.report(command, key="r1").content == answer.content  # a stale report never closes what came later
    assert hub.command(command)["status"] == "claimed"


def test_a_report_of_an_unknown_command_is_not_found(hub: SmallHub) -> None:
    assert hub.report(99).status_code == 404


@pytest.mark.parametrize("result", [None, {}, {"key": "new:1"}, {"key": 7}, {"key": "OTHER-1"}])
def test_a_creation_is_done_only_with_a_key_of_the_project(hub: SmallHub, result: Any) -> None:
    hub.people.put("/api/v1/settings", json={"project": "AURORA"})
    hub.batch(creation())
    command = hub.claim()["id"]
    answer = hub.report(command, result=result)
    assert (answer.status_code, answer.json()["field"]) == (422, "result.key")
    assert hub.command(command)["status"] == "claimed"


def test_the_note_on_a_temporary_key_moves_to_the_issue_and_both_texts_stay(hub: SmallHub) -> None:
    hub.people.put("/api/v1/notes/new:1", json={"text": "ask Boris"})
    hub.people.put("/api/v1/notes/AURORA-7", json={"text": "old"})
    hub.batch(creation())
    hub.report(hub.claim()["id"], result={"key": "AURORA-7"})
    assert hub.people.get("/api/v1/notes/AURORA-7").json()["text"] == "old\n\nask Boris"
    assert hub.people.get("/api/v1/notes/new:1").status_code == 404


@pytest.mark.parametrize(("key", "place"), [("AURORA-7", "AURORA-7"), ("OTHER-7", "new:1")])
def test_a_creation_that_failed_after_its_issue_was_made_keeps_the_key_and_the_note_goes_to_it(
    hub: SmallHub, key: str, place: str
) -> None:
    """P8: its epic was refused, the issue is there. A key of another project is kept and nothing goes to it."""
    hub.people.put("/api/v1/settings", json={"project": "AURORA"})
    hub.people.put("/api/v1/notes/new:1", json={"text": "ask Boris"})
    hub.batch(creation())
    command = hub.claim()["id"]
    shown = hub.report(command, "failed", error="epic", result={"key": key}).json()
    assert (shown["status"], shown["result"]) == ("failed", {"key": key})
    assert hub.people.get(f"/api/v1/notes/{place}").json()["text"] == "ask Boris"


def test_a_cancelled_creation_still_learns_its_issue_once(hub: SmallHub) -> None:
    hub.people.put("/api/v1/notes/new:1", json={"text": "ask Boris"})
    hub.batch(creation())
    command = hub.claim()["id"]
    assert "may be executing" in hub.people.post(f"/api/v1/commands/{command}/cancel", json={"force": True}).text
    before = hub.command(command)
    hub.clock.sleep(60)
    hub.report(command, result={"key": "AURORA-7"}, jira_calls=3)
    hub.report(command, result={"key": "AURORA-8"}, jira_calls=9)
    after = hub.command(command)
    assert (after["status"], after["finished_at"]) == ("cancelled", before["finished_at"])
    assert (after["result"], after["jira_calls"]) == ({"key": "AURORA-7"}, 3)
    assert [late["report"]["result"]["key"] for late in after["late_results"]] == ["AURORA-7", "AURORA-8"]
    assert hub.people.get("/api/v1/notes/AURORA-7").json()["text"] == "ask Boris"


def test_a_late_report_of_any_other_end_changes_nothing_and_is_kept(hub: SmallHub) -> None:
    hub.batch(creation())
    command = hub.claim_thrice()
    hub.claim()
    before = hub.command(command)
    answer = hub.report(command, result={"key": "AURORA-7"}, delivery=1)
    assert (answer.status_code, answer.json()["status"]) == (200, "failed")
    after = hub.command(command)
    assert after["late_results"][0]["report"]["result"] == {"key": "AURORA-7"}
    assert {**after, "late_results": []} == before


def test_the_failure_of_an_older_delivery_does_not_end_the_newer_one(hub: SmallHub) -> None:
    hub.batch(creation())
    command = hub.claim()["id"]
    hub.claim()
    assert hub.report(command, "failed", delivery=1).json()["status"] == "claimed"
    assert hub.report(command, result={"key": "AURORA-7"}, delivery=1).json()["status"] == "done"


def test_a_report_sent_twice_under_one_key_is_taken_once(hub: SmallHub) -> None:
    hub.batch(fields())
    command = hub.claim()["id"]
    first = hub.report(command, key="r1", jira_calls=2)
    assert hub.report(command, key="r1", jira_calls=2).content == first.content
    assert hub.command(command)["late_results"] == []


# --- mirror and confirmation


def test_a_reading_fills_the_mirror_and_its_report_is_a_summary(hub: SmallHub) -> None:
    hub.people.post("/api/v1/refresh", json={"keys": ["AURORA-1", "AURORA-3", "AURORA-4"]})
    found = {"source": "AURORA-1", "target": "AURORA-2", "link_type": "связанные"}
    issue = {"key": "AURORA-1", "summary": "Отчёт", "labels": ["a"], "links": [found]}
    answer = hub.report(
        hub.claim()["id"], result=reading(issue, missing=["AURORA-3"], moved={"AURORA-4": "OTHER-9"}), delivery=1
    )
    assert answer.json()["result"] == {
        "issues": 1,
        "missing": ["AURORA-3"],
        "moved": {"AURORA-4": "OTHER-9"},
        "truncated": False,
    }
    shown = hub.people.get("/api/v1/issues/AURORA-1").json()
    assert (shown["summary"], shown["labels"], shown["links"][0]["target"]) == ("Отчёт", ["a"], "AURORA-2")
    assert hub.people.get("/api/v1/issues/AURORA-3").json()["missing_at"] is not None
    assert hub.people.get("/api/v1/issues/AURORA-4").json()["moved_to"] == "OTHER-9"
    listed = hub.people.get("/api/v1/issues", params={"text": "Отчёт"}).json()["items"]
    assert [item["key"] for item in listed] == ["AURORA-1"]


def test_links_that_are_gone_in_jira_are_gone_in_the_mirror(hub: SmallHub) -> None:
    found = {"source": "AURORA-1", "target": "AURORA-2", "link_type": "связанные"}
    for links in ([found], []):
        hub.people.post("/api/v1/refresh", json={"keys": ["AURORA-1"]})
        hub.report(hub.claim()["id"], result=reading({"key": "AURORA-1", "links": links}))
    assert hub.people.get("/api/v1/issues/AURORA-1").json()["links"] == []


def test_a_reading_in_parts_is_taken_when_it_is_complete(hub: SmallHub) -> None:
    hub.people.post("/api/v1/refresh", json={"jql": "project = AURORA"})
    command = hub.claim()["id"]
    second = hub.report(command, result=reading({"key": "AURORA-2"}, part=[2, 2]), delivery=1, key="p2")
    assert second.json()["status"] == "claimed"
    assert hub.people.get("/api/v1/issues").json()["items"] == []
    first = hub.report(command, result=reading({"key": "AURORA-1"}, part=[1, 2]), delivery=1, key="p1")
    assert (first.json()["status"], first.json()["result"]["issues"]) == ("done", 2)


def test_a_reading_of_a_wrong_shape_is_refused_with_its_place(hub: SmallHub) -> None:
    hub.people.post("/api/v1/refresh", json={"keys": ["AURORA-1"]})
    command = hub.claim()["id"]
    answer = hub.report(command, result={"issues": [{"key": "nonsense"}]})
    assert (answer.status_code, answer.json()["field"]) == (422, "result.issues.0.key")
    assert hub.report(command, result={"part": [3, 2]}).json()["field"] == "result.part"


def both_claimed(hub: SmallHub, command: dict[str, Any]) -> tuple[int, int]:
    """A wish and a later reading claimed at once, as in a base of schema 1: its hub let that happen."""
    batch = hub.batch(command)
    wish, refresh = (item["id"] for item in batch["commands"])
    hub.claim()
    hub.clock.sleep(10)
    at = hub.service.status("main")["now"]
    with hub.database.writing(at) as transaction:
        transaction.run("deliver", id=refresh, at=at, params='{"keys": ["AURORA-1"]}', deliveries=1)
    return wish, refresh


def test_a_report_is_lost_and_the_mirror_shows_the_wish(hub: SmallHub) -> None:
    wish, refresh = both_claimed(hub, {"type": "ensure_sprint", "key": "AURORA-1", "sprint": "Спринт 2"})
    hub.report(refresh, result=reading({"key": "AURORA-1", "sprint": "Спринт 2"}))
    assert hub.command(wish)["status"] == "confirmed_by_state"


def test_a_reading_that_shows_something_else_confirms_nothing(hub: SmallHub) -> None:
    wish, refresh = both_claimed(hub, {"type": "ensure_sprint", "key": "AURORA-1", "sprint": "Спринт 2"})
    hub.report(refresh, result=reading({"key": "AURORA-1", "sprint": "Спринт 1"}))
    assert hub.command(wish)["status"] == "claimed"


def test_a_reading_that_began_before_the_claim_confirms_nothing(hub: SmallHub) -> None:
    wish, refresh = both_claimed(hub, {"type": "ensure_sprint", "key": "AURORA-1", "sprint": "Спринт 2"})
    hub.clock.sleep(3_600)
    assert hub.claim()["id"] == wish  # delivered anew, after the reading began
    hub.report(refresh, result=reading({"key": "AURORA-1", "sprint": "Спринт 2"}))
    assert hub.command(wish)["status"] == "claimed"


def test_before_giving_a_command_up_the_mirror_is_asked(hub: SmallHub) -> None:
    wish, refresh = both_claimed(hub, {"type": "ensure_status", "key": "AURORA-1", "target": "Готово"})
    hub.report(refresh, result=reading({"key": "AURORA-1", "status": "Разработка"}))
    claimed = [hub.claim()["delivery"] for _ in range(2)]
    assert claimed == [2, 3]
    hub.clock.sleep(60)
    later = hub.service.status("main")["now"]
    with hub.database.writing(later) as transaction:
        row = {"link": "main", "key": "AURORA-1", "at": later, "began_at": later}
        names = [name for name in IssueState.model_fields if name not in ("key", "status", "links")]
        transaction.many("put_issues", [{**dict.fromkeys(names), **row, "status": "Готово"}])
    assert hub.claim() is None
    assert hub.command(wish)["status"] == "confirmed_by_state"


# --- people's actions


def test_cancelling_a_batch_cancels_definers_skips_dependants_and_leaves_what_is_claimed(hub: SmallHub) -> None:
    batch = hub.batch(fields(), creation("new:1", "x"), fields("new:1"))
    hub.claim()
    answer = hub.people.post(f"/api/v1/batches/{batch['id']}/cancel")
    assert answer.json()["cancelled_at"] is not None
    assert hub.statuses(batch["id"]) == ["claimed", "cancelled", "skipped", "skipped"]


def test_a_claimed_command_is_cancelled_only_with_force(hub: SmallHub) -> None:
    hub.batch(fields())
    command = hub.claim()["id"]
    answer = hub.people.post(f"/api/v1/commands/{command}/cancel")
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert "force" in answer.json()["hint"]
    assert hub.people.post(f"/api/v1/commands/{command}/cancel", json={"force": True}).json()["status"] == "cancelled"
    assert hub.people.post(f"/api/v1/commands/{command}/cancel", json={"force": True}).status_code == 409


def test_retrying_a_batch_brings_the_skipped_dependants_and_their_temporary_keys(hub: SmallHub) -> None:
    batch = hub.batch(creation("new:1", "x"), fields("AURORA-5"), link("new:1", "AURORA-5"))
    hub.report(hub.claim()["id"], "failed")
    retried = hub.people.post(f"/api/v1/batches/{batch['id']}/retry", json={"author": "boris"}).json()
    assert [command["type"] for command in retried["commands"]] == ["ensure_issue", "ensure_link", "refresh"]
    originals = [command["id"] for command in batch["commands"]]
    assert [command["retry_of"] for command in retried["commands"]] == [originals[0], originals[2], None]
    assert [command["root_id"] for command in retried["commands"]][:2] == [originals[0], originals[2]]
    assert retried["author"] == "boris"
    hub.report(hub.claim()["id"])  # AURORA-5 of the first batch goes on
    hub.report(hub.claim()["id"], result={"key": "AURORA-9"})
    assert hub.claim()["params"]["source"] == "AURORA-9"


def test_a_dependant_retried_after_its_definer_uses_the_key_of_the_definers_retry(hub: SmallHub) -> None:
    batch = hub.batch(creation("new:1", "x"), fields("new:1"))
    definer, dependant = (command["id"] for command in batch["commands"][:2])
    hub.claim()
    hub.report(definer, "failed")
    hub.people.post(f"/api/v1/commands/{definer}/retry")
    hub.report(hub.claim()["id"], result={"key": "AURORA-9"})
    retried = hub.people.post(f"/api/v1/commands/{dependant}/retry").json()
    assert [command["type"] for command in retried["commands"]] == ["ensure_fields", "refresh"]
    assert retried["commands"][0]["params"]["key"] == "AURORA-9"


def test_only_what_ended_badly_can_be_retried(hub: SmallHub) -> None:
    batch = hub.batch(fields())
    command = batch["commands"][0]["id"]
    assert hub.people.post(f"/api/v1/commands/{command}/retry").status_code == 409
    hub.claim()
    hub.report(command)
    assert hub.people.post(f"/api/v1/commands/{command}/retry").status_code == 409
    assert hub.people.post(f"/api/v1/batches/{batch['id']}/retry").status_code == 409


# --- status


def test_the_agent_is_online_for_five_minutes_and_its_redeliveries_are_listed(hub: SmallHub) -> None:
    hub.batch(fields())
    hub.claim()
    hub.claim(blocked="Jira wants a CAPTCHA")
    shown = hub.people.get("/api/v1/status").json()
    assert shown["agent"]["online"]
    assert shown["agent"]["blocked"] == "Jira wants a CAPTCHA"
    assert [(item["type"], item["deliveries"]) for item in shown["agent"]["redelivered"]] == [("ensure_fields", 2)]
    assert (shown["counts"]["claimed"], shown["counts"]["queued"]) == (1, 1)
    assert shown["waiting_seconds"] == 2
    hub.clock.sleep(300)
    assert hub.people.get("/api/v1/status").json()["agent"]["online"]
    hub.clock.sleep(1)
    assert not hub.people.get("/api/v1/status").json()["agent"]["online"]


def test_a_heartbeat_says_how_the_agent_is_without_claiming(hub: SmallHub) -> None:
    hub.batch(fields())
    body = {"agent_version": 3, "session": "s1", "host": "vm", "current_command_id": 5, "blocked": "no token"}
    assert hub.agent.post("/api/v1/agent/heartbeat", json=body).status_code == 204
    agent = hub.people.get("/api/v1/status").json()["agent"]
    assert (agent["online"], agent["current_command_id"], agent["blocked"]) == (True, 5, "no token")
    assert hub.people.get("/api/v1/status").json()["counts"]["claimed"] == 0


def test_the_agent_can_ask_how_its_command_stands(hub: SmallHub) -> None:
    hub.batch(fields())
    delivery = hub.claim()
    hub.clock.sleep(5)
    asked = hub.agent.get(f"/api/v1/agent/commands/{delivery['id']}").json()
    assert asked == {**delivery, "age_seconds": 5}
    hub.people.post(f"/api/v1/commands/{delivery['id']}/cancel", json={"force": True})
    assert hub.agent.get(f"/api/v1/agent/commands/{delivery['id']}").json()["status"] == "cancelled"
    assert hub.agent.get("/api/v1/agent/commands/99").status_code == 404


def test_the_timeline_of_a_command_tells_every_move(hub: SmallHub) -> None:
    hub.batch(fields())
    command = hub.claim()["id"]
    hub.claim()
    hub.report(command)
    moves = [(event["from_status"], event["to_status"]) for event in hub.command(command)["events"]]
    assert moves == [(None, "queued"), ("queued", "claimed"), ("claimed", "claimed"), ("claimed", "done")]
