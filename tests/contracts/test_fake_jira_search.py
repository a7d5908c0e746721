"""What the fake finds and what it refuses to look for, in Jira's words."""

from collections.abc import Iterator

import pytest

from examples.jira.settings import JiraSettings
from tests.contracts.fake_jira_world import API, World

OURS = 'project = "AURORA" AND (reporter = currentUser() OR creator = currentUser()) AND created >= -7d'


@pytest.fixture
def world() -> Iterator[World]:
    with World() as world:
        yield world


def test_the_query_of_the_agent_finds_own_recent_issues_only(world: World) -> None:
    assert world.found(OURS) == ["AURORA-1539"]
    key = world.create("Отчёт")
    assert world.found(OURS + " ORDER BY key") == ["AURORA-1539", key]
    world.clock.pass_time(8 * 86_400)
    assert world.found(OURS) == []


@pytest.mark.parametrize(
    ("jql", "words"),
    [
        ("project = AS", "'AS' is a reserved JQL word"),
        ('summary = "x"', "The operator '=' is not supported by the 'summary' field."),
        ('foo = "x"', "Field 'foo' does not exist or you do not have permission to view it."),
        ('project = "NOPE"', "The value 'NOPE' does not exist for the field 'project'."),
        ('reporter = "nobody"', "The value 'nobody' does not exist for the field 'reporter'."),
        ('status = "Готово"', "Field 'status' does not exist"),
        ("updated >= -1d", "Field 'updated' does not exist"),
        ('project != "AURORA"', "The operator '!=' is not supported by the 'project' field."),
        ("created <= -7d", "The operator '<=' is not supported by the 'created' field."),
        ("created >= 2026-10-01", "Date value '2026-10-01' for field 'created' is invalid."),
        ("reporter = ivanov", "The value 'ivanov' does not exist for the field 'reporter'."),
        ("reporter in (currentUser())", "The operator 'in' is not supported by the 'reporter' field."),
        ("key not in (AURORA-1533)", "The operator 'not in' is not supported by the 'key' field."),
        ('key in ("AURORA-1533", "GONE-2")', "An issue with key 'GONE-2' does not exist for field 'key'."),
        ("reporter = membersOf()", "Unable to find JQL function 'membersOf()'."),
        ("project ~ AURORA", "The operator '~' is not supported by the 'project' field."),
        ("created >= yesterday", "Date value 'yesterday' for field 'created' is invalid."),
        ("created >= 2026-13-01", "Date value '2026-13-01' for field 'created' is invalid."),
        ("project = AURORA labels = x", "Expecting either 'OR' or 'AND' but got 'labels'."),
        ("project AURORA", "Expecting operator but got 'AURORA'. The valid operators are '='"),
        ("project = [x]", "The character '[' is a reserved JQL character."),
        ('project = "AURORA', "The quoted string that starts here has not been completed."),
        ("project = AURORA AND", "Expecting a field name before the end of the query."),
        ("(project = AURORA", "Expecting ')' before the end of the query."),
        ("project = AURORA ORDER BY nothing", "Field 'nothing' does not exist"),
        ("assignee is EMPTY", "'EMPTY' is a reserved JQL word"),
        ('sprint = "Спринт 1"', "Field 'sprint' does not exist"),
        ("(" * 40 + "project = AURORA" + ")" * 40, "nested too deeply"),
    ],
)
def test_a_query_that_jira_would_not_take_is_refused(world: World, jql: str, words: str) -> None:
    refused = world.searched(jql, 400)
    assert words in refused["errorMessages"][0]
    assert refused["errors"] == {}


def test_quoted_reserved_words_and_escapes_are_taken(world: World) -> None:
    assert world.found('project = "AS"') == []
    assert world.found(r'labels = "a\"b\\c"') == []
    assert world.found("key in (aurora-1533, 'AURORA-1534') order by key desc") == ["AURORA-1534", "AURORA-1533"]


def test_without_validation_what_does_not_exist_is_dropped_with_a_warning(world: World) -> None:
    answer = world.searched("key in (AURORA-1533, GONE-2)", validateQuery=False)
    assert [issue["key"] for issue in answer["issues"]] == ["AURORA-1533"]
    assert answer["warningMessages"] == ["An issue with key 'GONE-2' does not exist for field 'key'."]


def test_without_validation_an_unparsable_query_is_still_refused(world: World) -> None:
    world.searched("key in (AURORA-1533", 400, validateQuery=False)


def test_an_unknown_key_of_the_body_is_refused(world: World) -> None:
    assert "Unrecognized field" in world.searched("key = AURORA-1533", 400, properties=["x"])["errorMessages"][0]


def test_the_cap_of_the_server_is_what_max_results_says(world: World) -> None:
    world.switch(search_cap=20)
    seen: list[str] = []
    pages = 0
    while True:
        page = world.searched("project = AURORA ORDER BY key", startAt=len(seen), maxResults=100)
        assert page["maxResults"] == 20
        seen += [issue["key"] for issue in page["issues"]]
        pages += 1
        if len(seen) >= page["total"]:
            break
    assert (pages, len(set(seen)), len(seen)) == (3, 41, 41)


def test_search_lags_and_reading_does_not(world: World) -> None:
    world.switch(index_lag_seconds=20)
    key = world.create("Отчёт")
    assert world.fields(key)["summary"] == "Отчёт"
    assert key not in world.found(OURS)
    world.clock.pass_time(19)
    assert key not in world.found(OURS)
    world.clock.pass_time(1)
    assert key in world.found(OURS)


def test_two_nodes_need_not_agree(world: World) -> None:
    world.switch(second_node_lag_seconds=60)
    key = world.create("Отчёт")
    shown = [key in world.found(OURS) for _ in range(4)]
    assert shown.count(True) == 2 and shown[0] is not shown[1]
    nodes = {world.client.get(f"{API}/myself").headers["x-anodeid"] for _ in range(2)}
    assert nodes == {"node1", "node2"}
    world.clock.pass_time(60)
    assert all(key in world.found(OURS) for _ in range(4))


def test_a_stale_index_matches_the_old_state_and_shows_the_new_one(world: World) -> None:
    world.switch(index_lag_seconds=20)
    world.put(f"{API}/issue/AURORA-1533", {"update": {"labels": [{"add": "новая"}]}})
    assert world.found("labels = новая") == []
    shown = world.searched("key = AURORA-1533", fields=["labels"])["issues"][0]["fields"]
    assert "новая" in shown["labels"]
    world.clock.pass_time(20)
    assert world.found("labels = новая") == ["AURORA-1533"]


def test_a_deleted_issue_leaves_a_hole_until_the_index_knows(world: World) -> None:
    world.edit("delete", key="AURORA-1533")
    assert world.client.get(f"{API}/issue/AURORA-1533").status_code == 404
    assert "AURORA-1533" not in world.found("project = AURORA")


def test_an_archived_issue_vanishes_from_search_and_stays_readable(world: World) -> None:
    world.edit("archive", key="AURORA-1533")
    assert world.found("key = AURORA-1533") == []
    assert world.fields("AURORA-1533")["summary"]
    refused = world.put(f"{API}/issue/AURORA-1533", {"fields": {"duedate": None}}, 400)
    assert "archived" in refused.json()["errorMessages"][0]


def test_a_moved_issue_answers_to_its_old_key_with_the_new_one(world: World) -> None:
    new = world.edit("move", key="AURORA-1533", project="BOREAS")
    answer = world.client.get(f"{API}/issue/aurora-1533?fields=summary")
    assert (answer.status_code, answer.json()["key"]) == (200, new)
    assert world.found("key in (AURORA-1533)") == [new]


def test_a_total_that_lies_ends_in_an_empty_page(world: World) -> None:
    world.switch(total_offset=80)
    page = world.searched("project = AURORA", startAt=41, maxResults=100)
    assert (page["total"], page["issues"]) == (121, [])


def test_fields_are_shown_as_asked(world: World) -> None:
    one = world.searched("key = AURORA-1533", fields=["summary", "duedate", "unknown"])["issues"][0]
    assert set(one["fields"]) == {"summary", "duedate"}
    assert "comment" not in world.searched("key = AURORA-1533")["issues"][0]["fields"]
    assert "comment" in world.fields("AURORA-1533")
    minus = world.get(f"{API}/issue/AURORA-1533?fields=*all,-comment")["fields"]
    assert "comment" not in minus and "summary" in minus


def test_relative_periods_mean_minutes_without_a_unit_and_add_up(world: World) -> None:
    key = world.create("Отчёт")
    world.clock.pass_time(3600 + 120)
    assert key not in world.found("created >= -60")
    assert key in world.found("created >= '-1h 5m'")


def test_another_main_project_is_searched_by_its_own_key() -> None:
    with World(JiraSettings(project="COMET")) as world:
        assert len(world.found("project = COMET")) == 41
        world.searched("project = AURORA", 400)
