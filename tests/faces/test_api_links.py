"""Several links in one hub: each has its queue, agent, settings and mirror, and holds up no other."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from hub.api import create_agent_app, create_app
from hub.api.serving import Served
from tests.contracts.postgres_server import fresh_database
from tests.faces.small_hub import ENGINES, TOKEN, SmallHub, creation, fields, hub_on, reading

Clients = dict[str, TestClient]


@pytest.fixture(params=ENGINES)
def hub(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallHub]:
    with hub_on(request.param, request, tmp_path) as made:
        yield made


@pytest.fixture
def agents(hub: SmallHub) -> Iterator[Clients]:
    """The relay's apps of two links, each with the agent behind it."""
    with agents_of(hub, "main", "second") as found:
        yield found


@contextmanager
def agents_of(hub: SmallHub, *links: str) -> Iterator[Clients]:
    with ExitStack() as stack:
        apps = {link: create_agent_app(hub.context, link=link) for link in links}
        yield {link: stack.enter_context(TestClient(app, base_url="http://relay")) for link, app in apps.items()}


def people_of(hub: SmallHub, served: Served) -> TestClient:
    app = create_app(hub.context, token=TOKEN, hosts=["testserver"], served=served)
    return TestClient(app, headers={"authorization": f"Bearer {TOKEN}"}, base_url="http://testserver")


def batch(hub: SmallHub, link: str, *commands: dict[str, Any]) -> dict[str, Any]:
    body = {"author": "anna", "title": link, "commands": list(commands)}
    answer = hub.people.post("/api/v1/batches", params={"link": link}, json=body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def claim(agent: TestClient, session: str) -> Any:
    answer = agent.post("/api/v1/agent/claim?wait=0", json={"agent_version": 3, "session": session, "host": session})
    return answer.json() if answer.status_code == 200 else answer.status_code


def test_one_command_is_in_flight_on_each_link_and_two_at_once_over_both(hub: SmallHub, agents: Clients) -> None:
    ours, theirs = batch(hub, "main", fields(), fields("AURORA-2")), batch(hub, "second", fields("BETA-1"))
    first, other = claim(agents["main"], "a"), claim(agents["second"], "b")
    assert (first["batch_id"], other["batch_id"]) == (ours["id"], theirs["id"])
    assert other["params"]["key"] == "BETA-1"
    again = claim(agents["main"], "a")
    assert (again["id"], again["delivery"]) == (first["id"], 2)
    current = {
        link: [item["id"] for item in hub.people.get("/api/v1/status", params={"link": link}).json()["current"]]
        for link in agents
    }
    assert current == {"main": [first["id"]], "second": [other["id"]]}


def test_no_command_goes_to_the_agent_of_another_link_and_none_takes_its_report(hub: SmallHub, agents: Clients) -> None:
    theirs = batch(hub, "second", creation())
    number = theirs["commands"][0]["id"]
    assert claim(agents["main"], "a") == 204
    assert claim(agents["second"], "b")["id"] == number
    assert agents["main"].get(f"/api/v1/agent/commands/{number}").status_code == 404
    said = {"status": "done", "result": {"key": "BETA-7"}}
    assert agents["main"].put(f"/api/v1/agent/commands/{number}/result", json=said).status_code == 404
    assert agents["second"].put(f"/api/v1/agent/commands/{number}/result", json=said).status_code == 200
    assert claim(agents["main"], "a") == 204
    # The relay's app is of one link, whatever is asked of it.
    named = agents["main"].get(f"/api/v1/agent/commands/{number}", params={"link": "second"})
    assert named.status_code == 404


def test_each_link_has_its_own_agent_pause_and_gaps(hub: SmallHub, agents: Clients) -> None:
    for link in agents:
        batch(hub, link, fields())
    second = {"link": "second"}
    changed = hub.people.put(
        "/api/v1/settings", params=second, json={"pacing": {"ensure_fields": 7}, "project": "BETA"}
    )
    assert (changed.json()["pacing"]["ensure_fields"], changed.json()["project"]) == (7, "BETA")
    assert hub.people.get("/api/v1/settings").json()["project"] is None
    assert claim(agents["main"], "a")["pause_seconds"] == 120
    assert claim(agents["second"], "b")["pause_seconds"] == 7
    assert claim(agents["second"], "a") == 409  # the agent of one link is a stranger on the other
    hub.people.put("/api/v1/settings", params=second, json={"paused": True})
    assert claim(agents["second"], "b") == 503
    assert claim(agents["main"], "a")["delivery"] == 2
    hosts = [hub.people.get("/api/v1/status", params={"link": link}).json()["agent"]["host"] for link in agents]
    assert hosts == ["a", "b"]


def test_what_one_link_shows_is_none_of_the_other(hub: SmallHub, agents: Clients) -> None:
    made = batch(hub, "second", {"type": "refresh", "keys": ["BETA-1"]})
    number = claim(agents["second"], "b")["id"]
    said = {"status": "done", "result": reading({"key": "BETA-1", "summary": "Отчёт"})}
    assert agents["second"].put(f"/api/v1/agent/commands/{number}/result", json=said).status_code == 200
    hub.people.put("/api/v1/notes/BETA-1", params={"link": "second"}, json={"text": "ждём"})
    for path in (
        "issues/BETA-1",
        "notes/BETA-1",
        f"batches/{made['id']}",
        f"commands/{number}",
        f"batches/{made['id']}/plan",
    ):
        assert hub.people.get(f"/api/v1/{path}", params={"link": "second"}).status_code == 200
        assert hub.people.get(f"/api/v1/{path}").status_code == 404
    for path in ("issues", "notes", "batches", "commands"):
        assert hub.people.get(f"/api/v1/{path}").json()["items"] == []
    cancel = hub.people.post(f"/api/v1/batches/{made['id']}/cancel", json={})
    assert cancel.status_code == 404


def test_the_only_link_need_not_be_named_and_of_several_one_must_be(hub: SmallHub) -> None:
    relay = {"share": "ok", "latency_seconds": 0.25, "share_profile": {"file_system": "fuse.sshfs"}}
    with people_of(hub, Served({"far": lambda: relay}, "far")) as people:
        status = people.get("/api/v1/status").json()
        assert status["agent"]["relay_latency_seconds"] == 0.25
        assert status["agent"]["share_profile"]["file_system"] == "fuse.sshfs"
        assert (status["link"], status["links"], status["relay"]) == ("far", ["far"], relay)
    with people_of(hub, Served({"east": dict, "south": dict}, None)) as people:
        refused = people.get("/api/v1/status")
        assert (refused.status_code, refused.json()["field"]) == (422, "link")
        assert "east, south" in refused.json()["detail"]
        assert people.get("/api/v1/status?link=south").json()["link"] == "south"
        typo = people.get("/api/v1/status?link=suoth")
        assert (typo.status_code, typo.json()["errors"][0]["hint"]) == (422, "did you mean south?")


def test_a_scrape_tells_the_relays_of_all_links_apart(hub: SmallHub) -> None:
    with people_of(hub, Served({"east": lambda: {"share": "ok"}, "south": lambda: {"share": "lost"}}, None)) as people:
        told = people.get("/metrics").text.splitlines()
    assert 'jira_hub_relay_share_ok{link="east"} 1' in told
    assert 'jira_hub_relay_share_ok{link="south"} 0' in told


def test_two_hubs_on_one_database_serve_a_link_each_and_take_batches_for_both(postgres_url: str) -> None:
    with fresh_database(postgres_url) as url, closing(SmallHub(url)) as one, closing(SmallHub(url)) as two:
        one.service.serve_link("main", {})
        two.service.serve_link("second", {"project": "BETA"})
        with (
            people_of(one, Served({"main": dict}, "main", with_others=True)) as people,
            agents_of(one, "main") as here,
            agents_of(two, "second") as there,
        ):
            for link, key in (("main", "AURORA-1"), ("second", "BETA-1")):
                body = {"author": "anna", "title": link, "commands": [fields(key)]}
                assert people.post("/api/v1/batches", params={"link": link}, json=body).status_code == 201
            assert people.get("/api/v1/status?link=second").json()["relay"] is None
            assert claim(here["main"], "a")["params"]["key"] == "AURORA-1"
            assert claim(there["second"], "b")["params"]["key"] == "BETA-1"
            typo = people.get("/api/v1/status?link=secnod")
            assert (typo.status_code, typo.json()["errors"][0]["hint"]) == (422, "did you mean second?")
