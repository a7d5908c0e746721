"""Writes to the fake: fields, labels, links, transitions, comments, sprints, and their refusals."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contracts.fake_jira_world import AGILE, API, World

EPIC_LINK, EPIC_NAME, SPRINT = "customfield_10580", "customfield_10581", "customfield_10582"
ISSUE = f"{API}/issue/AURORA-1533"


@pytest.fixture
def world() -> Iterator[World]:
    with World() as world:
        yield world


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("summary", "a\nb", "contains newline characters"),
        ("summary", "я" * 256, "can't exceed 255"),
        ("summary", "📌" * 128, "can't exceed 255"),
        ("summary", "  ", "You must specify a summary"),
        ("description", "я" * 32_768, "exceeds the allowed limit of 32,767 characters"),
        ("labels", ["a b"], "The label 'a b' contains spaces which is invalid."),
        ("labels", "a", "data was not an array"),
        ("assignee", {"name": "Иванов Иван"}, "User 'Иванов Иван' does not exist."),
        ("assignee", {"name": "JIRAUSER10101"}, "User 'JIRAUSER10101' does not exist."),
        ("assignee", {"accountId": "1"}, "expected Object containing a 'name' property"),
        ("priority", {"name": "High"}, "Priority name 'High' is not valid"),
        ("priority", {"id": "99"}, "The priority selected is invalid."),
        ("priority", "3", "Could not find valid 'id' or 'name' in priority object."),
        ("duedate", "23.10.2026", "Error parsing date string"),
        ("duedate", "2026-02-30", "Error parsing date string"),
        ("customfield_10585", "2026-10-13T09:00:00.000+03:00", "yyyy-MM-dd'T'HH:mm:ss.SSSZ"),
        (EPIC_LINK, {"key": "AURORA-1530"}, "String value expected as the Epic Key"),
        (EPIC_LINK, "AURORA-1531", "must be of type 'Epic'"),
        (EPIC_NAME, "x", "cannot be set. It is not on the appropriate screen, or unknown."),
        ("resolution", {"id": "10000"}, "cannot be set. It is not on the appropriate screen, or unknown."),
        ("nonsense", 1, "Field 'nonsense' cannot be set. It is not on the appropriate screen, or unknown."),
    ],
)
def test_a_wrong_value_is_refused_by_name_and_nothing_changes(world: World, field: str, value: Any, words: str) -> None:
    before = world.get(ISSUE)
    edited = world.put(
        ISSUE, {"fields": {field: value, "duedate": value} if field == "duedate" else {field: value}}, 400
    )
    assert words in edited.json()["errors"][field]
    named = {"project": {"key": "AURORA"}, "issuetype": {"name": "Задача"}, "summary": "x"}
    created = world.post(f"{API}/issue", {"fields": named | {field: value}}, 400)
    assert words in created.json()["errors"][field]
    assert world.get(ISSUE) == before
    assert not any(request["executed"] for request in world.requests())


def test_255_units_of_summary_are_taken(world: World) -> None:
    assert world.fields(world.create("📌" * 127 + "я"))["summary"].endswith("я")


def test_null_clears_and_empty_is_null(world: World) -> None:
    world.put(ISSUE, {"fields": {"duedate": None, "assignee": None, "description": ""}})
    fields = world.fields("AURORA-1533")
    assert (fields["duedate"], fields["assignee"], fields["description"]) == (None, None, None)


def test_labels_are_added_and_removed_beside_those_of_other_people(world: World) -> None:
    world.put(ISSUE, {"fields": {"labels": ["a", "b"]}})
    world.edit("edit", key="AURORA-1533", fields={"labels": ["a", "b", "c"]})
    world.put(ISSUE, {"update": {"labels": [{"add": "x"}, {"remove": "a"}]}})
    assert sorted(world.fields("AURORA-1533")["labels"]) == ["b", "c", "x"]


def test_a_field_both_in_fields_and_in_update_is_refused(world: World) -> None:
    body = {"fields": {"labels": []}, "update": {"labels": [{"add": "x"}]}}
    assert "both" in world.put(ISSUE, body, 400).json()["errors"]["labels"]


def test_an_epic_needs_its_name_and_a_task_its_summary(world: World) -> None:
    epic = {"project": {"key": "AURORA"}, "issuetype": {"id": "10000"}, "summary": "Эпик"}
    assert world.post(f"{API}/issue", {"fields": epic}, 400).json()["errors"] == {EPIC_NAME: "Epic Name is required."}
    key = world.post(f"{API}/issue", {"fields": epic | {EPIC_NAME: "Эпик"}}).json()["key"]
    assert world.fields(world.create(**{EPIC_LINK: key}))[EPIC_LINK] == key
    task = {"project": {"key": "AURORA"}, "issuetype": {"id": "10001"}}
    assert "summary" in world.post(f"{API}/issue", {"fields": task}, 400).json()["errors"]


def test_the_epic_link_may_be_off_the_create_screen(world: World) -> None:
    world.switch(epic_link_on_create=False)
    named = {"project": {"key": "AURORA"}, "issuetype": {"id": "10001"}, "summary": "x", EPIC_LINK: "AURORA-1530"}
    assert "cannot be set" in world.post(f"{API}/issue", {"fields": named}, 400).json()["errors"][EPIC_LINK]
    shown = [one["fieldId"] for one in world.get(f"{API}/issue/createmeta/AURORA/issuetypes/10001")["values"]]
    assert EPIC_LINK not in shown
    key = world.create()
    world.put(f"{API}/issue/{key}", {"fields": {EPIC_LINK: "AURORA-1530"}})
    assert world.fields(key)[EPIC_LINK] == "AURORA-1530"


def test_properties_given_at_creation_are_read_back(world: World) -> None:
    named = {"project": {"key": "AURORA"}, "issuetype": {"id": "10001"}, "summary": "x"}
    body = {"fields": named, "properties": [{"key": "hub.cmd", "value": {"id": 40}}]}
    key = world.post(f"{API}/issue", body).json()["key"]
    assert world.get(f"{API}/issue/{key}?fields=summary&properties=hub.cmd")["properties"] == {"hub.cmd": {"id": 40}}
    assert "properties" not in world.get(f"{API}/issue/{key}?fields=summary")
    assert world.get(f"{API}/issue/{key}/properties/hub.cmd")["value"] == {"id": 40}


def test_texts_are_rewritten_as_the_switches_say(world: World) -> None:
    world.switch(crlf=True, strip_trailing=True)
    key = world.create(" Отчёт ", description="a  \nb ")
    assert (world.fields(key)["summary"], world.fields(key)["description"]) == ("Отчёт", "a\r\nb")


def test_an_emoji_breaks_a_server_whose_database_cannot_hold_it(world: World) -> None:
    world.switch(four_byte_characters=False)
    world.put(ISSUE, {"fields": {"description": "📌"}}, 500)


def test_an_assignee_may_be_ignored_on_create(world: World) -> None:
    world.switch(assignee_ignored_on_create=True)
    key = world.create(assignee={"name": "petrova"})
    assert world.fields(key)["assignee"] is None
    world.put(f"{API}/issue/{key}", {"fields": {"assignee": {"name": "petrova"}}})
    assert world.fields(key)["assignee"]["name"] == "petrova"


# links
def link(world: World, first: str, second: str, name: str = "Blocks", code: int = 201) -> None:
    body = {"type": {"name": name}, "inwardIssue": {"key": first}, "outwardIssue": {"key": second}}
    world.post(f"{API}/issueLink", body, code)


def test_the_inward_issue_of_the_post_is_the_one_that_blocks(world: World) -> None:
    a, b = world.create("a"), world.create("b")
    link(world, a, b)
    seen_from_a, seen_from_b = world.fields(a)["issuelinks"][0], world.fields(b)["issuelinks"][0]
    assert (seen_from_a["outwardIssue"]["key"], seen_from_a["type"]["outward"]) == (b, "blocks")
    assert (seen_from_b["inwardIssue"]["key"], seen_from_b["type"]["inward"]) == (a, "is blocked by")
    assert "inwardIssue" not in seen_from_a and "outwardIssue" not in seen_from_b
    assert seen_from_a["id"] == seen_from_b["id"]


def test_the_planted_link_leads_from_1537_to_1538(world: World) -> None:
    seen = world.fields("AURORA-1537")["issuelinks"][0]
    assert (seen["type"]["outward"], seen["outwardIssue"]["key"]) == ("блокирует начало", "AURORA-1538")


@pytest.mark.parametrize(("mode", "links"), [("create", 2), ("ignore", 1)])
def test_the_same_link_twice_is_201_and_a_second_link_or_none(world: World, mode: str, links: int) -> None:
    world.switch(link_duplicates=mode)
    a, b = world.create("a"), world.create("b")
    link(world, a, b)
    link(world, a, b)
    assert len(world.fields(a)["issuelinks"]) == links


def test_a_link_deleted_twice_is_404(world: World) -> None:
    number = world.fields("AURORA-1537")["issuelinks"][0]["id"]
    assert world.client.delete(f"{API}/issueLink/{number}").status_code == 204
    assert world.client.delete(f"{API}/issueLink/{number}").status_code == 404
    assert world.fields("AURORA-1538")["issuelinks"] == []


def test_an_issue_is_not_linked_to_itself_and_not_at_all_when_linking_is_off(world: World) -> None:
    link(world, "AURORA-1533", "AURORA-1533", code=400)
    world.switch(linking=False)
    link(world, "AURORA-1533", "AURORA-1535", code=404)
    assert world.client.get(f"{API}/issueLinkType").status_code == 404


# transitions
def transition(world: World, key: str, number: str, code: int = 204, **body: Any) -> Any:
    return world.post(f"{API}/issue/{key}/transitions", {"transition": {"id": number}, **body}, code)


def test_the_path_of_the_seeds_leads_from_waiting_to_done(world: World) -> None:
    transition(world, "AURORA-1533", "11")
    transition(world, "AURORA-1533", "31")
    assert world.fields("AURORA-1533")["status"]["name"] == "Готово"


def test_two_transitions_lead_to_one_target_and_the_lower_id_asks_for_a_field(world: World) -> None:
    shown = world.get(f"{ISSUE}/transitions?expand=transitions.fields")["transitions"]
    to_development = {one["id"]: one["fields"] for one in shown if one["to"]["name"] == "Разработка"}
    assert set(to_development) == {"9", "11"}
    assert to_development["9"]["duedate"]["required"]
    assert to_development["11"] == {}
    assert "fields" not in world.get(f"{ISSUE}/transitions")["transitions"][0]


@pytest.mark.parametrize("listed", [True, False])
def test_a_missing_required_field_moves_nothing(world: World, listed: bool) -> None:
    world.switch(resolution_listed=listed)
    shown = world.get(f"{ISSUE}/transitions?expand=transitions.fields")["transitions"]
    assert [("resolution" in one["fields"]) for one in shown if one["id"] == "41"] == [listed]
    refused = transition(world, "AURORA-1533", "41", 400)
    assert "is required." in refused.json()["errorMessages"][0]
    assert world.fields("AURORA-1533")["status"]["name"] == "Ожидание разработки"
    transition(world, "AURORA-1533", "41", fields={"resolution": {"name": "Не будет исправлено"}})
    assert world.fields("AURORA-1533")["resolution"]["id"] == "10001"


def test_a_field_that_is_not_on_the_screen_is_refused(world: World) -> None:
    refused = transition(world, "AURORA-1533", "11", 400, fields={"resolution": {"id": "10000"}})
    assert "cannot be set" in refused.json()["errors"]["resolution"]


def test_a_hidden_transition_is_neither_shown_nor_taken(world: World) -> None:
    world.switch(hidden_transitions=["11"])
    assert "11" not in [one["id"] for one in world.get(f"{ISSUE}/transitions")["transitions"]]
    transition(world, "AURORA-1533", "11", 400)


def test_a_post_function_may_lead_elsewhere(world: World) -> None:
    world.switch(redirects={"11": "10302"})
    transition(world, "AURORA-1533", "11")
    assert world.fields("AURORA-1533")["status"]["name"] == "Тестирование"


def test_a_transition_may_bear_the_name_of_another_status(world: World) -> None:
    world.edit("status", key="AURORA-1533", status="Приостановлено")
    shown = world.get(f"{ISSUE}/transitions")["transitions"]
    assert [(one["name"], one["to"]["name"]) for one in shown] == [("Готово", "Разработка")]


# comments
def test_120_comments_come_in_pages_of_the_cap(world: World) -> None:
    key = world.create()
    world.edit("comment", key=key, body="№{n}", count=120, user="petrova")
    world.switch(comment_cap=50)
    sizes, seen = [], 0
    while seen < 120:
        page = world.get(f"{API}/issue/{key}/comment?startAt={seen}&maxResults=1000")
        sizes.append((page["maxResults"], len(page["comments"]), page["total"]))
        seen += len(page["comments"])
    assert sizes == [(50, 50, 120), (50, 50, 120), (50, 20, 120)]


def test_only_the_author_edits_a_comment(world: World) -> None:
    mine = world.post(f"{ISSUE}/comment", {"body": "моё"}).json()["id"]
    theirs = world.edit("comment", key="AURORA-1533", body="чужое", user="petrova")
    assert world.put(f"{ISSUE}/comment/{mine}", {"body": "новое"}, 200).json()["body"] == "новое"
    assert "permission" in world.put(f"{ISSUE}/comment/{theirs}", {"body": "x"}, 400).json()["errorMessages"][0]


def test_a_visibility_left_out_of_an_edit_is_lost(world: World) -> None:
    body = {"body": "x", "visibility": {"type": "role", "value": "Developers"}}
    number = world.post(f"{ISSUE}/comment", body).json()["id"]
    assert world.put(f"{ISSUE}/comment/{number}", body, 200).json()["visibility"]["value"] == "Developers"
    assert "visibility" not in world.put(f"{ISSUE}/comment/{number}", {"body": "x"}, 200).json()


def test_a_comment_restricted_to_others_is_not_there(world: World) -> None:
    before = world.get(f"{ISSUE}/comment")["total"]
    world.edit("comment", key="AURORA-1533", body="x", user="petrova", visibility={"type": "role", "value": "Admins"})
    assert world.get(f"{ISSUE}/comment")["total"] == before


# sprints
def test_129_sprints_need_three_pages_whatever_is_asked(world: World) -> None:
    world.edit("save_sprint", name="Спринт {n}-й", count=126)
    found: list[int] = []
    for start in (0, 50, 100):
        page = world.get(f"{AGILE}/board/12/sprint?state=active,future&startAt={start}&maxResults=100")
        assert page["maxResults"] == 50 and "total" not in page
        assert page["isLast"] == (start == 100)
        found += [one["id"] for one in page["values"]]
    assert len(found) == 129
    assert found == sorted(found)


@pytest.mark.parametrize("shape", ["string", "object"])
def test_an_issue_keeps_its_closed_sprints_in_both_shapes(world: World, shape: str) -> None:
    world.switch(sprint_field=shape)
    world.edit("sprint", key="AURORA-1533", sprint=None)
    world.edit("sprint", key="AURORA-1533", sprint=7)
    world.edit("save_sprint", id=7, state="closed")
    world.post(f"{AGILE}/sprint/11/issue", {"issues": ["AURORA-1533"]}, 204)
    entries = world.fields("AURORA-1533")[SPRINT]
    if shape == "object":
        assert [(one["id"], one["state"]) for one in entries][-2:] == [(7, "closed"), (11, "future")]
    else:
        assert "[id=7,rapidViewId=12,state=CLOSED,name=Спринт 1," in entries[-2]
        assert "name=Общий спринт, [обе команды],startDate=<null>" in entries[-1]
    world.post(f"{AGILE}/backlog/issue", {"issues": ["AURORA-1533"]}, 204)
    assert world.fields("AURORA-1533")[SPRINT] == entries[:-1]


def test_a_sprint_may_belong_to_two_boards_and_bear_a_name_twice(world: World) -> None:
    neighbours = world.get(f"{AGILE}/board/13/sprint")["values"]
    assert [(one["id"], one["originBoardId"]) for one in neighbours] == [(11, 13)]
    world.edit("save_sprint", name="Спринт 2")
    names = [one["name"] for one in world.get(f"{AGILE}/board/12/sprint?state=active,future")["values"]]
    assert names.count("Спринт 2") == 2


def test_a_kanban_board_may_also_answer_with_an_empty_list(world: World) -> None:
    world.switch(kanban_sprints="empty")
    assert world.get(f"{AGILE}/board/14/sprint")["values"] == []
