"""Every endpoint the bridge uses: documented code, documented keys, an empty body where emptiness is the contract."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.contracts.fake_jira_world import AGILE, API, SETTINGS, World

KEY = "AURORA-1534"
NEW = {"project": {"key": "AURORA"}, "issuetype": {"id": "10001"}, "summary": "x"}
LINK = {"type": {"id": "10000"}, "inwardIssue": {"key": KEY}, "outwardIssue": {"key": "AURORA-1535"}}
JQL = 'project = "AURORA" AND (reporter = currentUser() OR creator = currentUser()) AND created >= -7d ORDER BY key'
COMMENT = {"self", "id", "author", "body", "updateAuthor", "created", "updated", "visibility"}
ERROR = {"errorMessages", "errors"}
PAGE = {"startAt", "maxResults", "total"}

# method, path, body, code, keys of the answer (None: an empty body)
DOCUMENTED: list[tuple[str, str, Any, int, set[str] | None]] = [
    ("POST", f"{API}/issue", {"fields": NEW}, 201, {"id", "key", "self"}),
    ("POST", f"{API}/issue", {"fields": NEW, "properties": [{"key": "a", "value": 1}]}, 201, {"id", "key", "self"}),
    ("POST", f"{API}/issue", {"fields": NEW | {"summary": ""}}, 400, ERROR),
    ("POST", f"{API}/issue", {"fields": NEW | {"customfield_1": 1}}, 400, ERROR),
    ("PUT", f"{API}/issue/{KEY}", {"fields": {"duedate": "2026-11-01"}}, 204, None),
    ("PUT", f"{API}/issue/{KEY}", {"update": {"labels": [{"add": "x"}]}}, 204, None),
    ("PUT", f"{API}/issue/{KEY}", {"fields": {"labels": ["a"]}, "update": {"labels": [{"add": "x"}]}}, 400, ERROR),
    ("PUT", f"{API}/issue/{KEY}", {"fields": {"duedate": "завтра"}}, 400, ERROR),
    ("PUT", f"{API}/issue/AURORA-9999", {"fields": {"duedate": None}}, 404, ERROR),
    ("POST", f"{API}/search", {"jql": JQL, "fields": ["summary"]}, 200, PAGE | {"expand", "issues"}),
    ("POST", f"{API}/search", {"jql": "key in (GONE-1)"}, 400, ERROR),
    (
        "POST",
        f"{API}/search",
        {"jql": "key in (GONE-1)", "validateQuery": False},
        200,
        PAGE | {"expand", "issues", "warningMessages"},
    ),
    ("POST", f"{API}/issue/{KEY}/comment", {"body": "x"}, 201, COMMENT),
    ("POST", f"{API}/issue/{KEY}/comment", {"body": ""}, 400, ERROR),
    ("POST", f"{API}/issue/AURORA-9999/comment", {"body": "x"}, 404, ERROR),
    ("PUT", f"{API}/issue/{KEY}/comment/{{own}}", {"body": "y"}, 200, COMMENT),
    ("PUT", f"{API}/issue/{KEY}/comment/{{foreign}}", {"body": "y"}, 400, ERROR),
    ("PUT", f"{API}/issue/{KEY}/comment/1", {"body": "y"}, 404, ERROR),
    ("GET", f"{API}/issue/{KEY}/comment?startAt=0&maxResults=1", None, 200, PAGE | {"comments"}),
    ("GET", f"{API}/issue/{KEY}/transitions", None, 200, {"expand", "transitions"}),
    ("GET", f"{API}/issue/AURORA-9999/transitions", None, 404, ERROR),
    ("POST", f"{API}/issue/AURORA-1533/transitions", {"transition": {"id": "11"}}, 204, None),
    ("POST", f"{API}/issue/AURORA-1533/transitions", {"transition": {"id": "41"}}, 400, ERROR),
    ("POST", f"{API}/issue/AURORA-1533/transitions", {}, 400, ERROR),
    ("POST", f"{API}/issueLink", LINK, 201, None),
    ("POST", f"{API}/issueLink", LINK | {"type": {"name": "нет такого"}}, 404, ERROR),
    ("POST", f"{API}/issueLink", LINK | {"outwardIssue": {"key": "AURORA-9999"}}, 404, ERROR),
    ("DELETE", f"{API}/issueLink/10001", None, 204, None),
    ("DELETE", f"{API}/issueLink/10001x", None, 404, ERROR),
    ("GET", f"{API}/issueLinkType", None, 200, {"issueLinkTypes"}),
    ("GET", f"{API}/issue/{KEY}?fields=summary", None, 200, {"expand", "id", "self", "key", "fields"}),
    ("GET", f"{API}/issue/{KEY.lower()}?fields=summary", None, 200, {"expand", "id", "self", "key", "fields"}),
    ("GET", f"{API}/issue/{KEY}?properties=x", None, 200, {"expand", "id", "self", "key", "fields", "properties"}),
    ("GET", f"{API}/issue/createmeta/NOPE/issuetypes", None, 400, ERROR),
    ("GET", f"{AGILE}/board/12", None, 200, {"id", "self", "name", "type"}),
    ("GET", f"{AGILE}/board/12/sprint?state=active,future", None, 200, {"maxResults", "startAt", "isLast", "values"}),
    ("GET", f"{AGILE}/board/99", None, 404, {"errorMessages"}),
    ("GET", f"{AGILE}/sprint/99", None, 404, {"errorMessages"}),
    ("POST", f"{AGILE}/sprint/9/issue", {"issues": [KEY]}, 204, None),
    ("POST", f"{AGILE}/sprint/9/issue", {"issues": [KEY] * 51}, 400, {"errorMessages"}),
    ("POST", f"{AGILE}/sprint/9/issue", {"issues": ["AURORA-9999"]}, 404, {"errorMessages"}),
    ("POST", f"{AGILE}/backlog/issue", {"issues": [KEY]}, 204, None),
    ("POST", f"{AGILE}/epic/AURORA-1530/issue", {"issues": [KEY]}, 204, None),
    ("POST", f"{AGILE}/epic/AURORA-1533/issue", {"issues": [KEY]}, 404, {"errorMessages"}),
]


@pytest.fixture
def world() -> Iterator[World]:
    with World() as world:
        yield world


@pytest.mark.parametrize(("method", "path", "body", "code", "keys"), DOCUMENTED)
def test_code_keys_and_emptiness_are_as_documented(
    world: World, method: str, path: str, body: Any, code: int, keys: set[str] | None
) -> None:
    own, foreign = (world.edit("comment", key=KEY, body="z", user=user) for user in ("svc_hub", "ivanov"))
    place = path.format(own=own, foreign=foreign)
    answer = world.client.request(method, place, json=body) if body is not None else world.client.request(method, place)
    assert answer.status_code == code, answer.text
    if keys is None:
        assert answer.content == b""
    else:
        assert answer.headers["content-type"] == "application/json;charset=UTF-8"
        assert set(answer.json()) <= keys
    assert {"x-arequestid", "x-ausername", "x-asessionid", "x-seraph-loginreason"} <= set(answer.headers)
    assert world.requests()[-1]["executed"] == (200 <= code < 300 and method != "GET" and not path.endswith("/search"))


def test_nobody_is_refused_with_a_page_and_a_wrong_token_too(world: World) -> None:
    for client in (world.client_of("wrong"), world.client_of(None)):
        answer = client.get(f"{API}/myself")
        assert answer.status_code == 401
    assert world.client_of("wrong").get(f"{API}/myself").headers["content-type"].startswith("text/html")


def test_240_issues_are_a_project_with_a_history() -> None:
    with World(replace(SETTINGS, issues=240)) as world:
        issues = world.jira.store.issues()
        assert len(issues) == 240
        assert max(Counter(issue.summary for issue in issues).values()) <= 2
        assert all(any("а" <= letter <= "я" for letter in issue.summary.lower()) for issue in issues)
        assert sum(issue.type_id == "10000" for issue in issues) == 24
        assert sum("epic_link" in issue.custom for issue in issues) > 100
        assert len(world.jira.store.links()) > 20
        sprints = {sprint.id: sprint.state for sprint in world.jira.store.sprints()}
        assert sum(state == "closed" for state in sprints.values()) > 10
        assert {number for issue in issues for number in issue.sprint_ids} <= set(sprints)
        assert {issue.assignee for issue in issues} > {"ivanov", "petrova", "sidorov"}
        assert len(world.found('project = "AURORA" ORDER BY key')) == 240
        # What is older than the demo's issues is finished, in a sprint that is over.
        old = [issue for issue in issues if issue.number < 1500]
        assert all(issue.resolution_id for issue in old)
        assert all(sprints[number] == "closed" for issue in old for number in issue.sprint_ids)
