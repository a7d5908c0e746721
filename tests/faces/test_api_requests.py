"""Who may speak to the API, what a body may be, and the one shape of everything that goes wrong."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from hub.api.bodies import MAX_BODY, MAX_DEPTH, parsed
from hub.api.problems import language_of
from hub.errors import Refusal
from protocol.errors import CODES, Problem
from tests.faces.small_hub import TOKEN, SmallHub, creation, fields


@pytest.fixture(scope="module")
def hub() -> Iterator[SmallHub]:
    made = SmallHub()
    yield made
    made.close()


def problem_of(answer: Any) -> Problem:
    """The body is a Problem of a known code that fits the status, whatever happened."""
    problem = Problem.model_validate_json(answer.content)
    assert CODES[problem.code] == answer.status_code
    assert problem.title
    assert problem.detail
    assert answer.headers["content-type"] == "application/json"
    return problem


@pytest.mark.parametrize("authorization", [None, "", TOKEN, "Bearer", "Bearer wrong", f"Basic {TOKEN}", "Bearer ключ"])
def test_without_the_right_token_nothing_is_told(hub: SmallHub, authorization: str | None) -> None:
    given = [] if authorization is None else [(b"authorization", authorization.encode())]
    answer = TestClient(hub.app).get("/api/v1/status", headers=given)
    assert problem_of(answer).code == "unauthorised"
    assert answer.headers["www-authenticate"] == "Bearer"


def test_health_needs_no_token_but_the_right_host(hub: SmallHub) -> None:
    assert hub.people.get("/api/v1/health", headers={"authorization": ""}).json() == {"status": "ok"}
    assert hub.people.get("/api/v1/health", headers={"host": "evil.example"}).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "testserver:1"},
        {"host": ""},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "https://testserver"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/status", "/api/v1/events", "/api/v1/openapi.json"])
def test_a_foreign_page_is_refused_with_the_right_token_too(hub: SmallHub, headers: dict[str, str], path: str) -> None:
    assert problem_of(hub.people.get(path, headers=headers)).code == "forbidden"


@pytest.mark.parametrize("headers", [{"origin": "http://testserver"}, {"sec-fetch-site": "same-origin"}])
def test_the_hubs_own_page_is_let_in(hub: SmallHub, headers: dict[str, str]) -> None:
    assert hub.people.get("/api/v1/status", headers=headers).status_code == 200


def test_the_relay_reaches_the_agents_routes_and_no_other(hub: SmallHub) -> None:
    for method, path in (("GET", "/api/v1/status"), ("POST", "/api/v1/batches"), ("PUT", "/api/v1/settings")):
        assert problem_of(hub.agent.request(method, path)).code == "not_found"


def test_what_is_not_there_and_what_cannot_be_done_have_the_same_shape(hub: SmallHub) -> None:
    assert problem_of(hub.people.get("/nowhere")).code == "not_found"
    assert problem_of(hub.people.delete("/api/v1/status")).code == "method_not_allowed"
    assert problem_of(hub.people.get("/api/v1/batches/99")).code == "not_found"
    assert problem_of(hub.people.get("/api/v1/commands/abc")).field == "command_id"
    assert problem_of(hub.people.get("/api/v1/commands?status=lost&limit=0")).errors[1].field == "limit"
    assert problem_of(hub.people.get("/api/v1/issues/nonsense")).field == "key"
    assert problem_of(hub.agent.post("/api/v1/agent/claim?wait=900", json={})).field == "wait"


def test_a_refusal_speaks_the_callers_language_and_its_code_does_not_change(hub: SmallHub) -> None:
    body = {"author": "a", "title": "t", "commands": [creation("new:1", "Отчёт"), creation("new:2", "Отчёт")]}
    said = {
        language: problem_of(hub.people.post("/api/v1/batches", json=body, headers={"accept-language": language}))
        for language in ("en", "ru")
    }
    assert said["en"].detail == "commands[1].summary: two issues of the batch are called «Отчёт»"
    assert said["ru"].detail == "commands[1].summary: в пакете две задачи с темой «Отчёт»"
    assert said["en"].code == said["ru"].code


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("ru", "ru"),
        ("ru-RU,en;q=0.5", "ru"),
        ("en;q=0.9, ru;q=0.8", "en"),
        ("de, ru;q=0.1", "ru"),
        ("*", "en"),
        ("ru;q=x", "en"),
        ("ru;q=0", "en"),
    ],
)
def test_the_language_is_the_one_the_caller_likes_best(header: str, language: str) -> None:
    assert language_of(header) == language


def post_raw(hub: SmallHub, raw: bytes, content_type: str = "application/json") -> Problem:
    return problem_of(hub.people.post("/api/v1/batches", content=raw, headers={"content-type": content_type}))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"author":"a","author":"b","title":"t","commands":[]}',
        b'{"author":"a","title":"t","commands":[NaN]}',
        b'{"author":"a","title":"t","commands":[Infinity]}',
        b'{"author":"a","title":"t","commands":[99999999999999999999]}',
        b'{"author":"a","title":"t","commands":[' + b"9" * 5_000 + b"]}",
        b'{"author":"a","title":"t","commands":["\\ud800"]}',
        b'{"author":"a","title":"t","commands":' + b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1) + b"}",
        b"[" * 100_000,
        b'{"author":"a","title":"t","commands":[],"more":1}',
        b'{"author":"","title":"t","commands":[{}]}',
    ],
)
def test_a_hostile_body_is_refused_as_invalid(hub: SmallHub, raw: bytes) -> None:
    assert post_raw(hub, raw).code == "invalid"


def test_a_form_is_no_way_in(hub: SmallHub) -> None:
    raw = json.dumps({"author": "a", "title": "t", "commands": [fields()]}).encode()
    assert post_raw(hub, raw, "text/plain").field == "content-type"
    assert post_raw(hub, raw, "application/x-www-form-urlencoded").field == "content-type"


def test_a_body_beyond_the_limit_is_refused_before_it_is_read(hub: SmallHub) -> None:
    headers = {"content-type": "application/json", "content-length": str(MAX_BODY + 1)}
    answer = hub.people.post("/api/v1/batches", content=iter([b" " * 1024]), headers=headers)
    assert problem_of(answer).code == "too_large"


@given(st.binary(max_size=200))
def test_no_bytes_get_anything_else_than_a_value_or_a_refusal(raw: bytes) -> None:
    try:
        parsed(raw)
    except Refusal as refusal:
        assert refusal.code == "invalid"


def test_an_unknown_setting_is_refused_and_a_wrong_gap_changes_nothing(hub: SmallHub) -> None:
    assert problem_of(hub.people.put("/api/v1/settings", json={"pacin": {}})).field == "pacin"
    wanted = {"pacing": {"ensure_isue": 5, "refresh": -1}, "project": "AURORA"}
    problem = problem_of(hub.people.put("/api/v1/settings", json=wanted))
    assert [fault.field for fault in problem.errors] == ["pacing.ensure_isue", "pacing.refresh"]
    assert hub.people.get("/api/v1/settings").json()["project"] is None


def test_lists_come_in_pages_that_join_without_a_gap(hub: SmallHub) -> None:
    for number in range(5):
        hub.people.put(f"/api/v1/notes/PAGES-{number}", json={"text": "x"})
        hub.batch(fields(f"PAGES-{number}"))
    for path, name in (("/api/v1/notes", "key"), ("/api/v1/batches", "id"), ("/api/v1/commands", "id")):
        whole = [item[name] for item in hub.people.get(path, params={"limit": 1000}).json()["items"]]
        found: list[Any] = []
        cursor = None
        for _ in range(len(whole)):
            page = hub.people.get(path, params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
            found += [item[name] for item in page["items"]]
            cursor = page["cursor"]
            if cursor is None:
                break
        assert found == whole


def test_commands_are_found_by_status_type_key_and_batch(hub: SmallHub) -> None:
    batch = hub.batch(fields("FIND-1"), fields("FIND-11"))

    def found(**params: Any) -> list[str]:
        items = hub.people.get("/api/v1/commands", params={"batch": batch["id"], **params}).json()["items"]
        return [item["type"] for item in items]

    assert found(key="FIND-1") == ["refresh", "ensure_fields"]
    assert found(type="refresh") == ["refresh"]
    assert found(status="done") == []
    assert found(text="FIND-11") == ["refresh", "ensure_fields"]


def test_the_openapi_document_names_every_route(hub: SmallHub) -> None:
    paths = hub.people.get("/api/v1/openapi.json").json()["paths"]
    assert {"/api/v1/batches", "/api/v1/agent/claim", "/api/v1/commands/{command_id}/retry"} <= set(paths)
