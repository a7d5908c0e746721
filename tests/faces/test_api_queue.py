"""The queue through the real API on real SQLite: the seeds' scenarios that are the hub's own, and more."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from protocol.errors import NO_REPORT
from protocol.issues import IssueState
from protocol.messages import Delivery
from tests.faces.small_hub import SmallHub, creation, fields, link, reading


@pytest.fixture(params=["memory", "file"])
def hub(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallHub]:
    made = SmallHub() if request.param == "memory" else SmallHub(str(tmp_path / "hub.sqlite"))
    yield made
    made.close()


def claim_thrice(hub: SmallHub) -> int:
    for deliveries in (1, 2, 3):
        hub.clock.sleep(60)
        delivery = hub.claim()
        assert delivery["delivery"] == deliveries
    return int(delivery["id"])


# --- batches


def test_the_estimate_is_the_sum_of_gaps_and_of_the_trailing_refresh(hub: SmallHub) -> None:
    comments = [{"type": "ensure_comment", "key": "AURORA-1", "marker": f"plan:{n}", "body": "x"} for n in (1, 2)]
    batch = hub.batch(*[fields(f"AURORA-{n}") for n in range(3)], *comments)
    assert batch["estimate_seconds"] == 3 * 120 + 2 * 30 + 2
    assert [command["type"] for command in batch["commands"]][-1] == "refresh"
    assert [command["seq"] for command in batch["commands"]] == [1, 2, 3, 4, 5, 6]


def test_two_issues_with_one_summary_are_refused_by_name_and_nothing_is_created(hub: SmallHub) -> None:
    body = {"author": "anna", "title": "x", "commands": [creation("new:1", "Отчёт"), creation("new:2", " Отчёт ")]}
    answer = hub.people.post("/api/v1/batches", json=body)
    assert answer.status_code == 422
    assert "Отчёт" in answer.json()["detail"]
    assert hub.people.get("/api/v1/batches").json()["items"] == []


def test_a_batch_asked_for_twice_under_one_key_is_made_once(hub: SmallHub) -> None:
    body = {"author": "anna", "title": "x", "commands": [fields()]}
    answers = [
        hub.people.post("/api/v1/batches", json=body, headers={"idempotency-key": "k1"}).content for _ in range(2)
    ]
    assert answers[0] == answers[1]
    assert len(hub.people.get("/api/v1/batches").json()["items"]) == 1


def test_batches_keep_their_order_when_the_clock_goes_back(hub: SmallHub) -> None:
    first = hub.batch(fields("AURORA-1"))
    hub.clock.step_wall(-3_600)
    hub.batch(fields("AURORA-2"))
    assert hub.claim()["batch_id"] == first["id"]


def test_a_held_batch_waits_for_a_person(hub: SmallHub) -> None:
    batch = hub.batch(fields(), held=True)
    assert hub.claim() is None
    hub.people.post(f"/api/v1/batches/{batch['id']}/approve")
    assert hub.claim()["batch_id"] == batch["id"]


# --- claim


def test_an_answer_to_a_claim_is_lost_and_the_command_goes_out_again_before_others(hub: SmallHub) -> None:
    batch = hub.batch(fields("AURORA-1"), fields("AURORA-2"))
    first = hub.claim()
    hub.clock.sleep(40)
    again = hub.claim()
    assert (again["id"], again["delivery"], again["params"]) == (first["id"], 2, first["params"])
    assert (first["age_seconds"], again["age_seconds"]) == (0, 40)
    assert hub.command(first["id"])["claimed_at"] > hub.command(first["id"])["first_claimed_at"]
    assert hub.statuses(batch["id"]) == ["claimed", "queued", "queued"]


def test_the_limit_of_deliveries_fails_the_command_and_hands_out_the_next(hub: SmallHub) -> None:
    hub.batch(fields("AURORA-1"), fields("AURORA-2"))
    lost = claim_thrice(hub)
    following = hub.claim()
    assert following["id"] != lost
    command = hub.command(lost)
    assert (command["status"], command["error"]) == ("failed", NO_REPORT)
    assert command["finished_at"] is not None
    assert hub.people.get("/api/v1/status").json()["agent"]["current_command_id"] == following["id"]


def test_the_pause_follows_the_policy_of_today(hub: SmallHub) -> None:
    hub.batch(fields())
    assert hub.claim()["pause_seconds"] == 120
    hub.people.put("/api/v1/settings", json={"pacing": {"ensure_fields": 7}})
    assert hub.claim()["pause_seconds"] == 7


def test_an_empty_queue_answers_empty(hub: SmallHub) -> None:
    assert hub.claim() is None


def test_the_same_key_gets_the_same_bytes_and_nothing_is_counted(hub: SmallHub) -> None:
    hub.batch(fields())
    body = {"agent_version": 3}
    ask = {"params": {"wait": 0}, "json": body, "headers": {"idempotency-key": "k1"}}
    first, second = (hub.agent.post("/api/v1/agent/claim", **ask) for _ in range(2))
    assert first.content == second.content
    assert hub.command(first.json()["id"])["deliveries"] == 1
    Delivery.model_validate_json(first.content)


def test_an_empty_answer_is_kept_under_its_key_too(hub: SmallHub) -> None:
    assert hub.claim(key="k1") is None
    hub.batch(fields())
    assert hub.claim(key="k1") is None
    assert hub.claim(key="k2") is not None


def test_a_command_with_a_temporary_key_goes_out_with_the_real_one(hub: SmallHub) -> None:
    hub.batch(creation("new:60", "x"), link("new:60", "AURORA-1537"))
    made = hub.claim()
    hub.report(made["id"], result={"key": "AURORA-1590"})
    assert hub.claim()["params"]["source"] == "AURORA-1590"


@pytest.mark.parametrize("end", ["failed", "cancelled", "lost"])
def test_dependants_of_a_lost_definer_are_skipped_and_say_why(hub: SmallHub, end: str) -> None:
    batch = hub.batch(
        creation("new:1", "x"),
        creation(
            "new:2",
            "y",
        ),
        link("new:1", "new:2"),
        fields("AURORA-5"),
    )
    first = batch["commands"][0]["id"]
    if end == "cancelled":
        hub.people.post(f"/api/v1/commands/{first}/cancel")
    elif end == "failed":
        assert hub.claim()["id"] == first
        hub.report(first, "failed")
    else:
        assert claim_thrice(hub) == first
        hub.claim()
    statuses = hub.statuses(batch["id"])
    assert statuses[2] == "skipped"
    assert statuses[3] == "queued"
    assert "new:1" in hub.command(batch["commands"][2]["id"])["error"]


def test_a_skipped_definer_tells_on_its_own_dependants(hub: SmallHub) -> None:
    batch = hub.batch(
        {"type": "ensure_issue", "temp_key": "new:1", "issue_type": "epic", "summary": "epic"},
        {**creation("new:2", "task"), "epic_key": "new:1"},
        fields("new:2"),
    )
    hub.claim()
    hub.report(batch["commands"][0]["id"], "failed")
    assert hub.statuses(batch["id"]) == ["failed", "skipped", "skipped", "skipped"]
    assert hub.claim() is None


def test_two_temporary_keys_that_become_one_issue_fail_the_link_and_not_the_hub(hub: SmallHub) -> None:
    batch = hub.batch(creation("new:1", "x"), creation("new:2", "y"), link("new:1", "new:2"))
    for _ in range(2):
        hub.report(hub.claim()["id"], result={"key": "AURORA-7"})
    assert hub.claim()["type"] == "refresh"
    failed = hub.command(batch["commands"][2]["id"])
    assert failed["status"] == "failed"
    assert "linked to itself" in failed["error"]
    assert "AURORA-7" in failed["error"]


def test_an_identity_names_the_database_and_the_root_of_the_retries(hub: SmallHub) -> None:
    hub.batch(creation())
    first = hub.claim()
    assert first["identity"] == f"jh:{hub.service.epoch[:6]}:{first['id']}"
    hub.report(first["id"], "failed")
    hub.people.post(f"/api/v1/commands/{first['id']}/retry", json={"author": "boris"})
    again = hub.claim()
    assert (again["id"] != first["id"], again["identity"]) == (True, first["identity"])


def test_a_paused_link_hands_out_nothing_and_still_takes_reports(hub: SmallHub) -> None:
    hub.batch(fields(), fields("AURORA-2"))
    first = hub.claim()
    hub.people.put("/api/v1/settings", json={"paused": True})
    answer = hub.agent.post("/api/v1/agent/claim?wait=0", json={"session": "s1"})
    assert (answer.status_code, answer.json()["code"]) == (503, "paused")
    assert hub.people.get("/api/v1/status").json()["agent"]["online"]
    assert hub.report(first["id"]).json()["status"] == "done"
    hub.people.put("/api/v1/settings", json={"paused": False})
    assert hub.claim() is not None


def test_a_pause_until_a_moment_ends_by_itself(hub: SmallHub) -> None:
    hub.batch(fields())
    hub.people.put("/api/v1/settings", json={"paused": "2200-01-01T00:00:00+03:00"})
    assert hub.agent.post("/api/v1/agent/claim?wait=0", json={"session": "s1"}).status_code == 503
    hub.people.put("/api/v1/settings", json={"paused": "2001-01-01T00:00:00+03:00"})
    assert hub.claim() is not None


def test_an_agent_below_the_wanted_version_is_told_which_one_is_needed(hub: SmallHub) -> None:
    hub.people.put("/api/v1/settings", json={"min_agent_version": 4})
    answer = hub.agent.post("/api/v1/agent/claim?wait=0", json={"agent_version": 3})
    assert (answer.status_code, answer.json()["code"]) == (426, "upgrade_required")
    assert "4" in answer.json()["hint"]


# --- sessions


def claims(hub: SmallHub, session: str | None, host: str | None) -> int:
    return int(hub.agent.post("/api/v1/agent/claim?wait=0", json={"session": session, "host": host}).status_code)


def test_one_agent_holds_the_link_until_a_person_lets_another_one(hub: SmallHub) -> None:
    assert claims(hub, "s1", "vm-1") == 204
    hub.clock.sleep(86_400)  # no timer takes the link over
    answer = hub.agent.post("/api/v1/agent/claim?wait=0", json={"session": "s2", "host": "vm-2"})
    assert (answer.status_code, answer.json()["code"]) == (409, "session_conflict")
    assert "vm-1" in answer.json()["detail"]
    hub.people.post("/api/v1/adopt")
    assert claims(hub, "s2", "vm-2") == 204
    assert claims(hub, "s1", "vm-1") == 409


def test_an_agent_that_starts_again_on_its_host_goes_on_and_its_old_self_does_not(hub: SmallHub) -> None:
    assert [claims(hub, "s1", "vm"), claims(hub, "s2", "vm")] == [204, 204]
    assert [claims(hub, "s1", "vm"), claims(hub, "s2", "vm")] == [409, 204]


def test_an_agent_of_version_2_names_no_session_and_is_served(hub: SmallHub) -> None:
    assert [claims(hub, None, None), claims(hub, None, None), claims(hub, "s1", "vm")] == [204, 204, 204]


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
    command = claim_thrice(hub)
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
