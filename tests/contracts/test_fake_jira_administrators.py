"""What administrators and plug-ins do to a Jira: required fields, rewriting, security levels, maintenance."""

from collections.abc import Iterator

import pytest

from tests.contracts.fake_jira_world import AGILE, API, World

ISSUE = f"{API}/issue/AURORA-1538"


@pytest.fixture
def world() -> Iterator[World]:
    with World() as world:
        yield world


def test_a_field_made_required_is_named_in_the_metadata_and_in_the_refusal(world: World) -> None:
    world.switch(required_on_create=["duedate"])
    shown = world.get(f"{API}/issue/createmeta/AURORA/issuetypes/10001")["values"]
    assert "duedate" in [one["fieldId"] for one in shown if one["required"]]
    named = {"project": {"key": "AURORA"}, "issuetype": {"id": "10001"}, "summary": "x"}
    refused = world.post(f"{API}/issue", {"fields": named}, 400).json()
    assert refused["errors"] == {"duedate": "Срок исполнения is required."}
    world.create(duedate="2026-10-23")


def test_a_plug_in_may_rewrite_every_text(world: World) -> None:
    world.switch(text_replacements={"--": "—"})
    world.put(ISSUE, {"fields": {"description": "a -- b"}})
    assert world.fields("AURORA-1538")["description"] == "a — b"
    assert world.post(f"{ISSUE}/comment", {"body": "c -- d"}).json()["body"] == "c — d"


def test_a_restricted_issue_is_404_everywhere_and_its_links_are_not_shown(world: World) -> None:
    world.edit("restrict", key="AURORA-1538")
    assert world.client.get(ISSUE).status_code == 404
    assert world.put(ISSUE, {"fields": {"duedate": None}}, 404).json()["errorMessages"] == ["Issue Does Not Exist"]
    assert world.fields("AURORA-1537")["issuelinks"] == []
    assert "AURORA-1538" not in world.found("project = AURORA")
    world.searched("key = AURORA-1538", 400)
    world.post(f"{AGILE}/backlog/issue", {"issues": ["AURORA-1538"]}, 404)
    assert world.client_of("petrova-token").get(ISSUE).status_code == 200


def test_in_maintenance_everything_is_a_503_page_and_afterwards_as_before(world: World) -> None:
    world.switch(maintenance=True)
    for path in (f"{API}/serverInfo", ISSUE):
        answer = world.client.get(path)
        assert (answer.status_code, answer.headers["content-type"][:9]) == (503, "text/html")
    world.switch(maintenance=False)
    assert world.client.get(ISSUE).status_code == 200


def test_a_refusal_on_order_speaks_as_jira_and_executes_nothing(world: World) -> None:
    world.fault("refuse", status=403, messages=["You do not have permission."], method="PUT")
    refused = world.put(ISSUE, {"fields": {"duedate": None}}, 403)
    assert refused.json() == {"errorMessages": ["You do not have permission."], "errors": {}}
    assert not world.requests()[-1]["executed"]
    world.put(ISSUE, {"fields": {"duedate": None}})


def test_a_link_may_be_deleted_and_its_replacement_refused(world: World) -> None:
    number = world.fields("AURORA-1537")["issuelinks"][0]["id"]
    world.fault("html", method="POST", path="issueLink", status=502)
    assert world.client.delete(f"{API}/issueLink/{number}").status_code == 204
    ends = {"inwardIssue": {"key": "AURORA-1537"}, "outwardIssue": {"key": "AURORA-1538"}}
    world.post(f"{API}/issueLink", {"type": {"id": "10201"}, **ends}, 502)
    assert world.fields("AURORA-1537")["issuelinks"] == []


def test_a_closed_project_forbids_edits_in_json(world: World) -> None:
    world.switch(read_only_project=True)
    assert world.put(ISSUE, {"fields": {"duedate": None}}, 403).json()["errorMessages"]


def test_a_sub_task_is_not_moved_to_a_sprint_alone(world: World) -> None:
    key = world.edit("create", summary="Часть", type="subtask")
    world.post(f"{AGILE}/sprint/9/issue", {"issues": [key]}, 400)


def test_an_assignee_cleared_may_come_back_as_the_default(world: World) -> None:
    world.switch(assignee_null_reverts=True)
    world.put(ISSUE, {"fields": {"assignee": None}})
    assert world.fields("AURORA-1538")["assignee"]["name"] == "ivanov"


def test_a_name_a_user_sees_translated_is_not_taken_in_a_write(world: World) -> None:
    world.switch(locale="en")
    assert world.get(f"{API}/priority")[1]["name"] == "High"
    world.put(ISSUE, {"fields": {"priority": {"name": "High"}}}, 400)
    world.put(ISSUE, {"fields": {"priority": {"name": "Высокий"}}})
    assert world.fields("AURORA-1538")["priority"]["name"] == "High"


def test_a_person_may_edit_between_our_reading_and_our_writing(world: World) -> None:
    world.put(ISSUE, {"fields": {"labels": ["a", "b"]}})
    edit = {"action": "edit", "key": "AURORA-1538", "fields": {"labels": ["a", "b", "c"]}, "user": "petrova"}
    world.fault("edit", method="PUT", edit=edit)
    world.fields("AURORA-1538")
    world.put(ISSUE, {"update": {"labels": [{"add": "x"}, {"remove": "a"}]}})
    assert world.fields("AURORA-1538")["labels"] == ["b", "c", "x"]


@pytest.mark.parametrize("kind", ["priority", "issuetype", "status", "resolution"])
def test_every_entry_of_a_list_is_found_by_its_id(world: World, kind: str) -> None:
    for entry in world.get(f"{API}/{kind}"):
        assert world.get(f"{API}/{kind}/{entry['id']}") == entry
    assert world.client.get(f"{API}/{kind}/999").status_code == 404
