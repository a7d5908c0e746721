"""Key sets and status codes of the fake against what the Data Center documentation names."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from examples.jira.settings import JiraSettings
from tests.contracts.fake_jira_world import AGILE, API, SETTINGS, World

# Top-level keys as the OpenAPI beans of Jira 9.12 and Jira Software have them.
USER = {
    "self",
    "name",
    "key",
    "emailAddress",
    "avatarUrls",
    "displayName",
    "active",
    "timeZone",
    "locale",
    "deleted",
    "expand",
}
ISSUE = {"expand", "id", "self", "key", "fields", "names", "properties", "transitions"}
NAMED = {"self", "description", "iconUrl", "name", "id"}
SPRINT = {
    "id",
    "self",
    "state",
    "name",
    "startDate",
    "endDate",
    "completeDate",
    "activatedDate",
    "originBoardId",
    "goal",
    "synced",
    "autoStartStop",
}
COMMENT = {"self", "id", "author", "body", "updateAuthor", "created", "updated", "visibility"}
SERVER = {
    "baseUrl",
    "version",
    "versionNumbers",
    "deploymentType",
    "buildNumber",
    "buildDate",
    "serverTime",
    "scmInfo",
    "serverTitle",
}
PAGE = {"maxResults", "startAt", "total", "isLast", "values"}
FIELD_META = {
    "required",
    "schema",
    "name",
    "fieldId",
    "autoCompleteUrl",
    "hasDefaultValue",
    "operations",
    "allowedValues",
    "defaultValue",
}


@pytest.fixture
def world() -> Iterator[World]:
    with World() as world:
        yield world


BEANS = [
    (f"{API}/serverInfo", "", SERVER),
    (f"{API}/myself", "", USER),
    (
        f"{API}/field",
        "0",
        {"id", "name", "custom", "orderable", "navigable", "searchable", "clauseNames", "schema"},
    ),
    (f"{API}/priority", "0", NAMED | {"statusColor"}),
    (f"{API}/issuetype", "0", NAMED | {"subtask", "avatarId"}),
    (f"{API}/status", "0", NAMED | {"statusCategory"}),
    (f"{API}/resolution", "0", NAMED),
    (f"{API}/issueLinkType", "", {"issueLinkTypes"}),
    (f"{API}/issueLinkType", "issueLinkTypes 0", {"id", "name", "inward", "outward", "self"}),
    (f"{API}/issue/AURORA-1533", "", ISSUE),
    (f"{API}/issue/AURORA-1533?expand=transitions", "", ISSUE),
    (f"{API}/issue/AURORA-1537", "fields issuelinks 0", {"id", "self", "type", "inwardIssue", "outwardIssue"}),
    (f"{API}/issue/AURORA-1533/comment", "", {"startAt", "maxResults", "total", "comments"}),
    (f"{API}/issue/AURORA-1533/comment", "comments 0", COMMENT),
    (f"{API}/issue/AURORA-1533/transitions", "", {"expand", "transitions"}),
    (
        f"{API}/issue/AURORA-1533/transitions?expand=transitions.fields",
        "transitions 0",
        {"id", "name", "description", "opsbarSequence", "to", "fields"},
    ),
    (
        f"{API}/search?jql=project%3DAURORA",
        "",
        {"expand", "startAt", "maxResults", "total", "issues", "warningMessages", "names", "schema"},
    ),
    (f"{API}/issue/createmeta/AURORA/issuetypes", "", PAGE),
    (f"{API}/issue/createmeta/AURORA/issuetypes/10001", "", PAGE),
    (f"{API}/issue/createmeta/AURORA/issuetypes/10001", "values 0", FIELD_META),
    (f"{AGILE}/board", "values 0", {"id", "self", "name", "type"}),
    (f"{AGILE}/board/12/sprint", "", {"maxResults", "startAt", "isLast", "values", "total"}),
    (f"{AGILE}/board/12/sprint", "values 0", SPRINT),
]


@pytest.mark.parametrize(
    ("path", "inside", "keys"),
    BEANS,
)
def test_every_bean_has_only_documented_keys(world: World, path: str, inside: str, keys: set[str]) -> None:
    bean = world.get(path)
    for step in inside.split():
        bean = bean[int(step)] if step.isdigit() else bean[step]
    assert bean
    assert set(bean) <= keys


CALLS = [
    (
        "POST",
        f"{API}/issue",
        {"fields": {"project": {"key": "AURORA"}, "issuetype": {"id": "10001"}, "summary": "x"}},
        201,
    ),
    ("PUT", f"{API}/issue/AURORA-1533", {"fields": {"duedate": None}}, 204),
    ("POST", f"{API}/issue/AURORA-1533/comment", {"body": "x"}, 201),
    ("POST", f"{API}/issue/AURORA-1533/transitions", {"transition": {"id": "11"}}, 204),
    (
        "POST",
        f"{API}/issueLink",
        {"type": {"id": "10000"}, "inwardIssue": {"key": "AURORA-1533"}, "outwardIssue": {"key": "AURORA-1535"}},
        201,
    ),
    ("DELETE", f"{API}/issueLink/10001", None, 204),
    ("POST", f"{AGILE}/sprint/9/issue", {"issues": ["AURORA-1533"]}, 204),
    ("POST", f"{AGILE}/backlog/issue", {"issues": ["AURORA-1533"]}, 204),
    ("POST", f"{AGILE}/epic/AURORA-1530/issue", {"issues": ["AURORA-1533"]}, 204),
    ("DELETE", f"{API}/issueLink/99", None, 404),
    ("GET", f"{API}/issue/AURORA-9999", None, 404),
    ("GET", f"{API}/issue/createmeta", None, 404),
    ("GET", f"{API}/no/such/route", None, 404),
    ("DELETE", f"{API}/field", None, 405),
    ("GET", f"{AGILE}/board/99/sprint", None, 404),
    ("GET", f"{AGILE}/board/14/sprint", None, 400),
    ("GET", f"{AGILE}/board/15/sprint", None, 422),
    ("POST", f"{AGILE}/sprint/5/issue", {"issues": ["AURORA-1533"]}, 400),
    ("POST", f"{AGILE}/sprint/99/issue", {"issues": ["AURORA-1533"]}, 404),
    ("POST", f"{API}/issue/AURORA-1533/transitions", {"transition": {"id": "abc"}}, 500),
    ("POST", f"{API}/issue/AURORA-1533/transitions", {"transition": {"id": "31"}}, 400),
    (
        "POST",
        f"{API}/issueLink",
        {
            "type": {"name": "Нет такой"},
            "inwardIssue": {"key": "AURORA-1533"},
            "outwardIssue": {"key": "AURORA-1535"},
        },
        404,
    ),
    ("PUT", f"{API}/issue/AURORA-1533?notifyUsers=false", {"fields": {"duedate": None}}, 403),
    ("POST", f"{API}/issue/AURORA-1533/comment", {"body": " "}, 400),
]


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    CALLS,
)
def test_every_call_answers_with_the_documented_code(
    world: World, method: str, path: str, body: object, code: int
) -> None:
    answer = world.client.request(method, path, json=body) if body is not None else world.client.request(method, path)
    assert answer.status_code == code, answer.text
    if code == 204 or (code == 201 and "issueLink" in path):
        assert answer.content == b""
    if code >= 400:
        assert set(answer.json()) <= {"errorMessages", "errors", "message", "status-code"}
    if path.startswith(AGILE) and code >= 400:
        assert "errors" not in answer.json()
    executed = [request["executed"] for request in world.requests()]
    assert executed == [200 <= code < 300]


def test_a_body_of_another_type_is_415_and_broken_json_400(world: World) -> None:
    assert world.client.post(f"{API}/issue", content=b"x", headers={"content-type": "text/plain"}).status_code == 415
    broken = world.client.post(f"{API}/issue", content=b"{", headers={"content-type": "application/json"})
    assert broken.status_code == 400
    assert broken.json()["errors"] == {}


def test_ids_are_strings_but_those_of_sprints_and_boards(world: World) -> None:
    issue = world.get(f"{API}/issue/AURORA-1537")
    link = issue["fields"]["issuelinks"][0]
    for text in (issue["id"], link["id"], link["type"]["id"], issue["fields"]["status"]["id"]):
        assert isinstance(text, str)
    assert isinstance(world.get(f"{AGILE}/board/12/sprint")["values"][0]["id"], int)


def test_old_and_new_paths_of_create_metadata_follow_the_version(world: World) -> None:
    new = f"{API}/issue/createmeta/AURORA/issuetypes/10000"
    old = f"{API}/issue/createmeta?projectKeys=AURORA&expand=projects.issuetypes.fields"
    required = {field["fieldId"] for field in world.get(new)["values"] if field["required"]}
    assert required == {"project", "issuetype", "summary", "customfield_10581"}
    assert world.client.get(old).json()["errorMessages"] == ["Issue Does Not Exist"]
    world.switch(version="8.3.4")
    assert world.client.get(new).status_code == 404
    assert "summary" in world.get(old)["projects"][0]["issuetypes"][0]["fields"]


def test_times_carry_an_offset_without_a_colon(world: World) -> None:
    assert world.get(f"{API}/serverInfo")["serverTime"] == "2026-10-03T07:00:00.000+0300"
    created = world.fields("AURORA-1533")["created"]
    assert created.endswith("+0300") and created[19] == "."


def test_the_field_ids_of_another_server_differ() -> None:
    with World(JiraSettings(first_custom_field=11900)) as other:
        epic_links = [
            one["id"] for one in other.get(f"{API}/field") if one["schema"].get("custom", "").endswith(":gh-epic-link")
        ]
        assert epic_links == ["customfield_11900"]
        assert "customfield_10580" not in other.fields("AURORA-1533")


def test_names_follow_the_locale_and_ids_do_not(world: World) -> None:
    before = world.fields("AURORA-1533")["status"]
    world.switch(locale="en")
    after = world.fields("AURORA-1533")["status"]
    assert (before["name"], after["name"]) == ("Ожидание разработки", "Waiting for development")
    assert before["id"] == after["id"]


def test_a_number_of_issues_is_planted_the_same_way_each_time() -> None:
    settings = replace(SETTINGS, issues=220)
    with World(settings) as one, World(settings) as two:
        assert len(one.found('project = "AURORA"')) == 220
        assert one.get("/control/state") == two.get("/control/state")
