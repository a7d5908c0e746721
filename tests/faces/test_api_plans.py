"""Plans through the API: the diff, the digest, and a batch that is only made of what was seen."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faces.filled_mirror import fill, take
from tests.faces.small_hub import ENGINES, SmallHub, creation, fields, hub_on, link


@pytest.fixture(params=ENGINES)
def hub(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallHub]:
    with hub_on(request.param, request, tmp_path) as made:
        yield made


def plan(hub: SmallHub, *commands: dict[str, Any], **more: Any) -> dict[str, Any]:
    answer = hub.people.post(
        "/api/v1/plans", json={"author": "anna", "title": "plan", "commands": list(commands), **more}
    )
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def apply(hub: SmallHub, made: dict[str, Any], **more: Any) -> Any:
    return hub.people.post(f"/api/v1/plans/{made['id']}/apply", json={"digest": made["digest"], **more})


def batches(hub: SmallHub) -> int:
    return len(hub.people.get("/api/v1/batches").json()["items"])


def test_a_plan_tells_each_command_its_sums_and_the_age_of_the_mirror(hub: SmallHub) -> None:
    fill(
        hub.service,
        {"key": "AURORA-1", "summary": "Отчёт", "duedate": "2026-10-23", "status": "Открыто"},
        {"key": "AURORA-2", "summary": "x"},
        missing=["AURORA-3"],
    )
    hub.clock.sleep(90)
    made = plan(
        hub,
        fields("AURORA-1", "2026-10-23"),
        fields("AURORA-2", "2026-10-24"),
        creation("new:1", "отчёт"),
        fields("AURORA-3"),
        fields("AURORA-4"),
    )
    assert [command["mark"] for command in made["commands"]] == ["=", "~", "+", "!", "?", "="]
    assert made["commands"][1]["changes"] == [{"field": "duedate", "old": None, "new": "2026-10-24"}]
    assert made["commands"][2]["similar"] == {"key": "AURORA-1", "summary": "Отчёт", "status": "Открыто"}
    assert made["counts"] == {"=": 2, "~": 1, "+": 1, "!": 1, "?": 1}
    assert (made["has_changes"], made["reads"], made["writes"]) == (True, 6, 3)
    assert made["estimate_seconds"] == 5 * 120 + 2
    assert made["mirror"]["age_seconds"] == 90
    assert batches(hub) == 1  # the refresh alone


def test_a_plan_speaks_the_callers_language_and_its_digest_does_not(hub: SmallHub) -> None:
    made = plan(hub, fields())
    russian = hub.people.get(f"/api/v1/plans/{made['id']}", headers={"accept-language": "ru"}).json()
    assert "нет в зеркале" in russian["commands"][0]["why"]
    assert russian["digest"] == made["digest"]


def test_a_plan_nothing_changed_since_becomes_its_batch_once(hub: SmallHub) -> None:
    fill(hub.service, {"key": "AURORA-1"})
    made = plan(hub, fields())
    answer = apply(hub, made)
    assert answer.status_code == 201
    batch = answer.json()
    assert [command["type"] for command in batch["commands"]] == ["ensure_fields", "refresh"]
    assert (batch["title"], batch["author"]) == ("plan", "anna")
    again = apply(hub, made)
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    assert hub.people.get(f"/api/v1/plans/{made['id']}").json()["state"] == "applied"


def test_an_apply_asked_for_twice_under_one_key_makes_one_batch(hub: SmallHub) -> None:
    made = plan(hub, fields())
    answers = [
        hub.people.post(
            f"/api/v1/plans/{made['id']}/apply", json={"digest": made["digest"]}, headers={"idempotency-key": "k"}
        )
        for _ in range(2)
    ]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].content == answers[1].content
    assert batches(hub) == 1


def test_a_mirror_that_changed_refuses_the_batch(hub: SmallHub) -> None:
    fill(hub.service, {"key": "AURORA-1"})
    made = plan(hub, fields())
    fill(hub.service, {"key": "AURORA-1", "priority": "High"})
    answer = apply(hub, made)
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert "mirror changed" in answer.json()["detail"]
    shown = hub.people.get(f"/api/v1/plans/{made['id']}").json()
    assert shown["changed"]
    assert apply(hub, shown).status_code == 201


def test_reading_the_same_again_changes_nothing(hub: SmallHub) -> None:
    fill(hub.service, {"key": "AURORA-1", "updated": "1"})
    made = plan(hub, fields())
    hub.clock.sleep(60)
    fill(hub.service, {"key": "AURORA-1", "updated": "2"})
    assert apply(hub, made).status_code == 201


def test_a_similar_issue_that_appeared_meanwhile_is_a_change(hub: SmallHub) -> None:
    made = plan(hub, creation())
    fill(hub.service, {"key": "AURORA-7", "summary": "Отчёт"})
    assert apply(hub, made).status_code == 409


def test_another_batch_than_the_planned_one_is_refused(hub: SmallHub) -> None:
    made = plan(hub, fields())
    answer = apply(hub, made, commands=[fields(duedate="2026-10-30")])
    assert (answer.status_code, "batch changed" in answer.json()["detail"]) == (409, True)
    assert apply(hub, made, commands=[fields()]).status_code == 201


def test_verifying_reads_the_touched_issues_first(hub: SmallHub) -> None:
    fill(hub.service, {"key": "AURORA-1"})
    made = plan(hub, fields(), link("AURORA-2", "AURORA-1"), verify=True)
    assert made["state"] == "reading"
    assert apply(hub, made).status_code == 409
    reading = hub.people.get(f"/api/v1/batches/{made['refresh_batch_id']}").json()
    assert [command["params"]["keys"] for command in reading["commands"]] == [["AURORA-1", "AURORA-2"]]
    take(hub.service, {"key": "AURORA-1", "duedate": "2026-10-23"}, {"key": "AURORA-2"})
    read = hub.people.get(f"/api/v1/plans/{made['id']}").json()
    assert (read["state"], read["changed"], [command["mark"] for command in read["commands"]]) == (
        "ready",
        False,
        ["=", "~", "="],
    )
    assert apply(hub, made).status_code == 409  # the digest of what was seen before the reading
    assert apply(hub, read).status_code == 201


def test_a_plan_of_creations_alone_has_nothing_to_read(hub: SmallHub) -> None:
    assert plan(hub, creation(), verify=True)["state"] == "ready"


def test_a_faulty_batch_is_refused_as_a_batch_is(hub: SmallHub) -> None:
    body = {"author": "anna", "title": "x", "commands": [{"type": "ensure_isue"}]}
    answer = hub.people.post("/api/v1/plans", json=body)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "commands[0].type")


def test_an_unknown_plan_is_not_found(hub: SmallHub) -> None:
    assert hub.people.get("/api/v1/plans/7").status_code == 404
    assert hub.people.post("/api/v1/plans/7/apply", json={"digest": "0" * 64}).status_code == 404


def test_what_is_left_of_a_batch_is_compared_too(hub: SmallHub) -> None:
    fill(hub.service, {"key": "AURORA-1", "duedate": "2026-10-23"})
    batch = hub.batch(fields("AURORA-1"), fields("AURORA-2"), held=True)
    shown = hub.people.get(f"/api/v1/batches/{batch['id']}/plan").json()
    assert ([command["mark"] for command in shown["commands"]], shown["held"]) == (["=", "?", "="], True)
