"""The queue through the real API on real SQLite: the seeds' scenarios that are the hub's own, and more."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from protocol.errors import NO_REPORT
from protocol.messages import Delivery
from tests.faces.small_hub import ENGINES, SmallHub, creation, fields, hub_on, link


@pytest.fixture(params=ENGINES)
def hub(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallHub]:
    with hub_on(request.param, request, tmp_path) as made:
        yield made


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
    lost = hub.claim_thrice()
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
        assert hub.claim_thrice() == first
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


def test_a_retry_is_as_old_as_its_root_is_in_the_queue(hub: SmallHub) -> None:
    """What the root has made must not fall out of the agent's search (H4)."""
    hub.batch(creation())
    hub.clock.sleep(100.0)
    first = hub.claim()
    assert first["age_seconds"] == 0
    hub.report(first["id"], "failed")
    hub.clock.sleep(9 * 86_400.0)
    hub.people.post(f"/api/v1/commands/{first['id']}/retry", json={"author": "boris"})
    assert hub.claim()["age_seconds"] == 9 * 86_400.0 + 100.0


def test_stored_answers_are_forgotten_after_a_month_but_for_the_newest(
    hub: SmallHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that jumps ahead by a month makes nobody's request run twice."""
    monkeypatch.setattr("hub.service.service.NEWEST_ANSWERS_KEPT", 3)
    hub.batch(creation("new:1", "x"))
    first = hub.claim(key="claim-0")
    hub.clock.step_wall(31 * 86_400.0)
    hub.service.housekeeping()
    assert hub.claim(key="claim-0") == first
    for number in (1, 2, 3):
        assert hub.claim(key="claim-0") == first
        hub.claim(key=f"claim-{number}")
        hub.service.housekeeping()
    assert hub.claim(key="claim-0") != first


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


def test_another_journal_on_the_same_host_is_another_agent(hub: SmallHub) -> None:
    """A clone of the machine, or a second person's home: the host's name proves nothing."""
    assert [claims(hub, "s1", "vm"), claims(hub, "s2", "vm"), claims(hub, "s1", "vm")] == [204, 409, 204]


def test_an_agent_that_was_replaced_is_told_so_before_the_other_has_come(hub: SmallHub) -> None:
    assert claims(hub, "s1", "vm") == 204
    hub.people.post("/api/v1/adopt")
    answer = hub.agent.post("/api/v1/agent/claim?wait=0", json={"session": "s1", "host": "vm"})
    assert (answer.status_code, answer.json()["code"]) == (409, "session_conflict")
    assert "took the link main" in answer.json()["detail"]
    assert "None" not in answer.text


def test_an_agent_of_version_2_names_no_session_and_is_served(hub: SmallHub) -> None:
    assert [claims(hub, None, None), claims(hub, None, None), claims(hub, "s1", "vm")] == [204, 204, 204]
