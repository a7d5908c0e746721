"""Assistants propose, people approve; and what the hub does by itself: automatic refreshes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hub.chores import HOUSEKEEPING_SECONDS, Chores
from hub.refreshing import LOOK_SECONDS
from hub.service.proposals import MAX_PROPOSALS, MAX_PROPOSED_COMMANDS
from tests.faces.filled_mirror import fill
from tests.faces.small_hub import ENGINES, SmallHub, creation, fields, hub_on


@pytest.fixture(params=ENGINES)
def hub(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallHub]:
    with hub_on(request.param, request, tmp_path) as made:
        yield made


def propose(hub: SmallHub, *commands: dict[str, Any]) -> Any:
    body = {"author": "assistant", "title": "idea", "commands": list(commands), "assistant": True}
    return hub.people.post("/api/v1/batches", json=body)


def test_what_an_assistant_proposes_waits_for_a_person(hub: SmallHub) -> None:
    batch = propose(hub, fields()).json()
    assert batch["held"]
    assert hub.claim() is None
    held = hub.people.get("/api/v1/batches", params={"held": "true"}).json()["items"]
    assert [item["id"] for item in held] == [batch["id"]]
    hub.people.post(f"/api/v1/batches/{batch['id']}/approve")
    assert hub.claim()["batch_id"] == batch["id"]
    assert hub.people.get("/api/v1/batches", params={"held": "true"}).json()["items"] == []


def test_a_trusted_assistant_needs_nobody(hub: SmallHub) -> None:
    hub.people.put("/api/v1/settings", json={"assistant_batches": "trusted"})
    assert not propose(hub, fields()).json()["held"]
    assert hub.claim() is not None
    assert hub.people.put("/api/v1/settings", json={"assistant_batches": "trust"}).status_code == 422


def test_proposals_are_bounded_in_size_and_number(hub: SmallHub) -> None:
    many = [fields(f"AURORA-{number}") for number in range(1, MAX_PROPOSED_COMMANDS + 2)]
    assert propose(hub, *many).status_code == 409
    first = propose(hub, fields()).json()["id"]
    for _ in range(MAX_PROPOSALS - 1):
        assert propose(hub, fields()).status_code == 201
    assert propose(hub, fields()).status_code == 409
    hub.people.post(f"/api/v1/batches/{first}/cancel")
    assert propose(hub, fields()).status_code == 201


def test_an_approval_of_a_diff_holds_while_the_mirror_shows_it(hub: SmallHub) -> None:
    fill(hub.service, {"key": "AURORA-1"})
    batch = propose(hub, fields("AURORA-1")).json()["id"]
    seen = hub.people.get(f"/api/v1/batches/{batch}/plan").json()
    fill(hub.service, {"key": "AURORA-1", "duedate": "2026-10-22"})
    answer = hub.people.post(f"/api/v1/batches/{batch}/approve", json={"digest": seen["digest"]})
    assert answer.status_code == 409
    assert hub.claim() is None
    seen = hub.people.get(f"/api/v1/batches/{batch}/plan").json()
    assert hub.people.post(f"/api/v1/batches/{batch}/approve", json={"digest": seen["digest"]}).status_code == 200
    assert hub.claim()["batch_id"] == batch


def test_a_cancelled_proposal_cannot_be_approved(hub: SmallHub) -> None:
    batch = propose(hub, fields()).json()["id"]
    hub.people.post(f"/api/v1/batches/{batch}/cancel")
    assert hub.people.post(f"/api/v1/batches/{batch}/approve").status_code == 409


def test_the_warning_of_a_forced_cancel_is_in_the_callers_language(hub: SmallHub) -> None:
    hub.batch(creation())
    command = hub.claim()["id"]
    answer = hub.people.post(
        f"/api/v1/commands/{command}/cancel", json={"force": True}, headers={"accept-language": "ru"}
    )
    assert "агент может выполнять" in answer.json()["warning"]


def auto_batches(hub: SmallHub) -> list[dict[str, Any]]:
    listed = hub.people.get("/api/v1/batches").json()["items"]
    return [item for item in listed if item["author"] == "auto"]


def test_an_old_mirror_is_read_anew_once_nothing_else_waits(hub: SmallHub) -> None:
    hub.people.put("/api/v1/settings", json={"auto_refresh_minutes": 10})
    fill(hub.service, *({"key": f"AURORA-{number}"} for number in range(1, 1_205)), missing=["AURORA-9999"])
    chores = Chores(hub.service)
    hub.clock.sleep(599)
    hub.claim()  # the agent is there
    assert chores.step(hub.clock.monotonic()) == hub.clock.monotonic() + LOOK_SECONDS
    assert auto_batches(hub) == []
    hub.clock.sleep(1)
    waiting = hub.batch(fields())
    chores.step(hub.clock.monotonic())
    assert auto_batches(hub) == []
    hub.people.post(f"/api/v1/batches/{waiting['id']}/cancel")
    chores.step(hub.clock.monotonic())
    chores.step(hub.clock.monotonic())
    (made,) = auto_batches(hub)
    commands = hub.people.get(f"/api/v1/batches/{made['id']}").json()["commands"]
    assert [len(command["params"]["keys"]) for command in commands] == [1_000, 204]


def test_a_refresh_that_failed_is_not_tried_again_at_once(hub: SmallHub) -> None:
    hub.people.put("/api/v1/settings", json={"auto_refresh_minutes": 10})
    fill(hub.service, {"key": "AURORA-1"})
    hub.clock.sleep(600)
    hub.claim()
    hub.service.renew_mirrors()
    hub.report(hub.claim()["id"], "failed")
    hub.clock.sleep(300)
    assert hub.service.renew_mirrors() == []
    hub.clock.sleep(300)
    hub.claim()
    assert len(hub.service.renew_mirrors()) == 1


def test_an_absent_agent_a_pause_and_a_claimed_command_put_it_off(hub: SmallHub) -> None:
    hub.people.put("/api/v1/settings", json={"auto_refresh_minutes": 1})
    fill(hub.service, {"key": "AURORA-1"})
    hub.clock.sleep(3_600)
    assert hub.service.renew_mirrors() == []  # nobody was seen for an hour
    hub.claim()
    hub.people.put("/api/v1/settings", json={"paused": True})
    assert hub.service.renew_mirrors() == []
    hub.people.put("/api/v1/settings", json={"paused": False})
    hub.batch(fields(), held=True)  # what waits for a person holds nothing up
    assert len(hub.service.renew_mirrors()) == 1
    hub.claim()
    hub.clock.sleep(60)
    assert hub.service.renew_mirrors() == []


def test_old_answers_are_forgotten_once_an_hour(hub: SmallHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hub.service.service.NEWEST_ANSWERS_KEPT", 0)
    chores = Chores(hub.service)
    chores.step(0.0)
    body = {"author": "anna", "title": "x", "commands": [fields()]}

    def batches_after_asking() -> int:
        hub.people.post("/api/v1/batches", json=body, headers={"idempotency-key": "k"})
        return len(hub.people.get("/api/v1/batches").json()["items"])

    assert [batches_after_asking(), batches_after_asking()] == [1, 1]
    hub.clock.sleep(31 * 86_400)
    chores.step(HOUSEKEEPING_SECONDS - 1)
    assert batches_after_asking() == 1
    chores.step(HOUSEKEEPING_SECONDS)
    assert batches_after_asking() == 2
