"""Things that go wrong on order, who is let in, and what the journal of requests says about it."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import httpx2
import pytest
from starlette.testclient import TestClient

from examples import jira
from examples.jira.app import create_app
from examples.jira.control import HANDLERS
from examples.jira.edits import ACTIONS
from examples.jira.faults import Fault
from examples.jira.http import Call
from tests.contracts.fake_jira_world import API, SETTINGS, HandClock, World

ISSUE = f"{API}/issue/AURORA-1533"
COMMENT = f"{ISSUE}/comment"


@pytest.fixture
def world() -> Iterator[World]:
    with World() as world:
        yield world


def comments(world: World) -> int:
    return int(world.get(COMMENT)["total"])


@pytest.mark.parametrize(("kind", "added"), [("drop_before_execute", 0), ("execute_then_drop", 1)])
def test_a_dropped_write_is_executed_or_not_and_the_client_cannot_tell(world: World, kind: str, added: int) -> None:
    before = comments(world)
    world.fault(kind, method="POST", path="/comment$")
    with pytest.raises(httpx2.TransportError) as dropped:
        world.client.post(COMMENT, json={"body": "x"})
    assert dropped.value.request.method == "POST"
    assert comments(world) == before + added
    lost = world.requests()[1]
    assert (lost["status"], lost["executed"], lost["fault"]) == (None, bool(added), kind)


@pytest.mark.parametrize("kind", ["drop_before_execute", "execute_then_drop"])
def test_a_drop_reaches_a_test_client_of_the_asgi_app_as_a_transport_error(kind: str) -> None:
    app = create_app(SETTINGS, HandClock())
    client: httpx2.Client = TestClient(app, headers={"authorization": "Bearer fake-jira-token"})
    assert client.post("/control/faults", json={"kind": kind}).status_code == 201
    with pytest.raises(httpx2.RemoteProtocolError):
        client.get(f"{API}/myself")
    assert client.get(f"{API}/myself").status_code == 200
    app.jira.close()


def test_a_fault_hits_a_request_by_its_number_once(world: World) -> None:
    world.fault("html", number=2, status=502)
    codes = [world.client.get(ISSUE).status_code for _ in range(3)]
    assert codes == [200, 502, 200]


def test_a_fault_lets_some_pass_and_hits_as_often_as_ordered(world: World) -> None:
    world.fault("html", path="/comment", skip=1, times=2)
    assert [world.client.get(COMMENT).status_code for _ in range(4)] == [200, 503, 503, 200]
    assert world.get("/control/faults")["faults"] == []


def test_a_proxy_page_says_nothing_about_what_jira_did(world: World) -> None:
    before = comments(world)
    world.fault("html", method="POST", executed=True, status=504)
    world.fault("html", method="POST", executed=False, status=504)
    pages = [world.client.post(COMMENT, json={"body": "x"}) for _ in range(2)]
    assert pages[0].content == pages[1].content
    assert pages[0].headers["content-type"].startswith("text/html")
    assert comments(world) == before + 1


def test_a_500_may_come_after_the_execution(world: World) -> None:
    before = comments(world)
    world.fault("error_after_execute", method="POST")
    assert world.post(COMMENT, {"body": "x"}, 500).json()["errorMessages"]
    assert comments(world) == before + 1


def test_a_truncated_answer_is_no_json(world: World) -> None:
    world.fault("truncate_json")
    answer = world.client.get(ISSUE)
    assert answer.status_code == 200
    with pytest.raises(ValueError):
        answer.json()


def test_a_delay_passes_on_the_clock_before_the_execution(world: World) -> None:
    world.fault("delay", seconds=90)
    world.post(COMMENT, {"body": "x"})
    assert world.clock.monotonic() == 90
    assert world.get(COMMENT)["comments"][-1]["created"].startswith("2026-10-03T07:01:30")


def test_a_429_carries_the_five_headers_and_executes_nothing(world: World) -> None:
    before = comments(world)
    world.fault("rate_limit", method="POST", html=True)
    refused = world.client.post(COMMENT, json={"body": "x"})
    assert refused.status_code == 429
    assert refused.headers["content-type"].startswith("text/html")
    assert (refused.headers["retry-after"], refused.headers["x-ratelimit-interval-seconds"]) == ("0", "60")
    assert {"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-fillrate"} <= set(refused.headers)
    assert comments(world) == before


def test_the_bucket_empties_and_fills_by_batches(world: World) -> None:
    world.switch(rate_limit={"limit": 2, "interval_seconds": 60, "fill_rate": 1})
    codes = [world.client.get(ISSUE) for _ in range(3)]
    assert [(one.status_code, one.headers["x-ratelimit-remaining"]) for one in codes] == [
        (200, "1"),
        (200, "0"),
        (429, "0"),
    ]
    assert codes[2].headers["retry-after"] == "60"
    world.clock.pass_time(61)
    assert [world.client.get(ISSUE).status_code for _ in range(2)] == [200, 429]


# who is let in
def test_without_a_log_in_only_the_server_speaks(world: World) -> None:
    nobody = world.client_of(None)
    assert nobody.get(f"{API}/serverInfo").status_code == 200
    assert nobody.get(f"{API}/myself").status_code == 401
    assert nobody.get(ISSUE).status_code == 401
    assert nobody.get(ISSUE).headers["x-ausername"] == "anonymous"
    assert nobody.post(COMMENT, json={"body": "x"}).status_code == 401
    assert nobody.post(f"{API}/search", json={"jql": "project = AURORA"}).status_code == 400


@pytest.mark.parametrize("token", ["wrong", "fake-jira-toke"])
def test_a_wrong_token_gets_a_401_page(world: World, token: str) -> None:
    refused = world.client_of(token).get(f"{API}/myself")
    assert (refused.status_code, refused.headers["content-type"][:9]) == (401, "text/html")
    assert refused.headers["x-seraph-loginreason"] == "AUTHENTICATED_FAILED"


@pytest.mark.parametrize(
    ("mode", "code", "kind"),
    [
        ("expired", 401, "text/html"),
        ("sso_200_html", 200, "text/html"),
        ("sso_302", 302, None),
        ("captcha", 403, "text/html"),
    ],
)
def test_the_modes_of_the_door(world: World, mode: str, code: int, kind: str | None) -> None:
    world.switch(auth_mode=mode)
    answer = world.client.post(COMMENT, json={"body": "x"})
    assert answer.status_code == code
    if kind:
        assert answer.headers["content-type"].startswith(kind)
    if mode == "captcha":
        assert "login-url=" in answer.headers["x-authentication-denied-reason"]
    assert not world.requests()[-1]["executed"]


def test_an_unknown_token_may_be_served_as_anonymous(world: World) -> None:
    world.switch(auth_mode="anonymous_downgrade")
    words = world.searched('project = "AURORA"', 400)["errorMessages"]
    assert words == ["The value 'AURORA' does not exist for the field 'project'."]
    assert world.client.get(f"{API}/myself").status_code == 401
    world.switch(anonymous_search="empty")
    answer = world.client.post(f"{API}/search", json={"jql": 'project = "AURORA" AND reporter = currentUser()'})
    assert (answer.status_code, answer.json()["total"], answer.headers["x-ausername"]) == (200, 0, "anonymous")


def basic(world: World, password: str) -> httpx2.Response:
    credentials = base64.b64encode(f"petrova:{password}".encode()).decode()
    return world.client.get(f"{API}/myself", headers={"authorization": f"Basic {credentials}"})


def test_three_wrong_passwords_lock_the_right_one_out_until_a_person_helps(world: World) -> None:
    assert basic(world, "secret").json()["name"] == "petrova"
    assert [basic(world, "wrong").status_code for _ in range(3)] == [401, 401, 401]
    locked = basic(world, "secret")
    assert (locked.status_code, locked.headers["x-seraph-loginreason"]) == (403, "AUTHENTICATION_DENIED")
    assert world.client.get(f"{API}/myself").status_code == 200
    world.post("/control/logins", {}, 204)
    assert basic(world, "secret").status_code == 200


def test_passwords_may_be_switched_off(world: World) -> None:
    world.switch(auth_mode="basic_disabled")
    assert basic(world, "secret").status_code == 403
    assert world.client.get(f"{API}/myself").status_code == 200


def test_a_write_that_looks_like_a_browser_fails_the_xsrf_check(world: World) -> None:
    browser = {"user-agent": "Mozilla/5.0 (X11)"}
    refused = world.client.post(COMMENT, json={"body": "x"}, headers=browser)
    assert (refused.status_code, refused.text) == (403, "XSRF check failed")
    assert world.client.get(COMMENT, headers=browser).status_code == 200
    passed = world.client.post(COMMENT, json={"body": "x"}, headers=browser | {"x-atlassian-token": "no-check"})
    assert passed.status_code == 201


# the journal and the switches
def test_the_journal_has_every_request_with_its_time_and_nothing_of_the_control_api(world: World) -> None:
    world.get(ISSUE)
    world.clock.pass_time(30)
    world.post(COMMENT, {"body": "текст"})
    world.get("/control/state")
    first, second = world.requests()
    assert (first["number"], first["method"], first["path"], first["executed"]) == (1, "GET", ISSUE, False)
    assert (second["number"], second["body"], second["user"]) == (2, '{"body":"текст"}', "svc_hub")
    assert second["monotonic"] - first["monotonic"] == 30
    assert second["wall"] - first["wall"] == 30
    assert "fake-jira-token" not in str(world.requests())
    assert [one["number"] for one in world.get("/control/requests?executed=true")["requests"]] == [2]
    assert world.get("/control/requests?since=2")["requests"] == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("switches", {"index_lag": 3}),
        ("switches", {"auth_mode": "nonsense"}),
        ("faults", {"kind": "explode"}),
        ("faults", {"kind": "delay", "path": "("}),
        ("edits", {"action": "explode"}),
        ("edits", {"action": "edit", "user": "nobody"}),
        ("edits", {"action": "edit", "fields": {}}),
        ("edits", {"action": "status", "key": "AURORA-1533", "status": "Нет такого"}),
    ],
)
def test_a_wrong_control_call_is_refused(world: World, path: str, body: object) -> None:
    world.post(f"/control/{path}", body, 422)


def test_switches_and_faults_go_back_to_the_beginning(world: World) -> None:
    world.switch(crlf=True)
    world.fault("delay", seconds=1)
    world.client.delete("/control/switches")
    world.client.delete("/control/faults")
    assert world.get("/control/switches")["crlf"] is False
    assert world.get("/control/faults")["faults"] == []


def test_the_instructions_name_every_fault_edit_and_control_call() -> None:
    text = (Path(jira.__file__).parent / "README.md").read_text(encoding="utf-8")
    kinds = get_args(Fault.model_fields["kind"].annotation)
    calls = {call.split()[1] for call in HANDLERS}
    missing = [word for word in (*kinds, *ACTIONS) if f"`{word}`" not in text]
    assert missing + [call for call in calls if call not in text] == []


def test_the_journal_shows_when_a_request_arrived_not_when_its_turn_came(world: World) -> None:
    arrived = world.jira.stamp()
    world.clock.pass_time(5)  # while another request was being served
    call = Call("GET", ISSUE, "", {"authorization": "Bearer fake-jira-token"}, b"")
    assert world.jira.serve(call, arrived).status == 200
    assert world.requests()[-1]["monotonic"] == arrived.monotonic
