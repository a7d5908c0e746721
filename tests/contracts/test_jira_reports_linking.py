"""Reports of other clients, by number: the direction of links, links twice, sprints that were not found."""

import json
from pathlib import Path

import pytest

from agent.site import SiteFault
from tests.contracts.agent_world import AgentWorld
from tests.contracts.reports_world import bodies, built, sent

A, B = "AURORA-1533", "AURORA-1536"
BLOCKS = {"link_types": {"блокирует": ("Blocks", "outward"), "связанные": ("Связь", "outward")}}


@pytest.fixture
def world(tmp_path: Path) -> AgentWorld:
    return built(tmp_path, **BLOCKS)


def shown(world: AgentWorld, key: str) -> list[tuple[str, str]]:
    """The links of an issue as `GET` shows them: (side, key of the other)."""
    import httpx2

    from examples.jira.app import JiraTransport

    client = httpx2.Client(transport=JiraTransport(world.jira), base_url="http://jira", headers=world.access().headers)
    links = client.get(f"/rest/api/2/issue/{key}?fields=issuelinks").json()["fields"]["issuelinks"]
    sides = ("outwardIssue", "inwardIssue")
    return [(side, link[side]["key"]) for link in links for side in sides if side in link]


def test_b08_the_source_goes_into_inward_issue_and_sees_the_target_as_outward(world: AgentWorld) -> None:
    report = world.report_of("ensure_link", source=A, target=B, link_type="блокирует")
    assert report["status"] == "done"
    assert json.loads(bodies(world, "POST", "/issueLink")[0]) == {
        "type": {"id": "10000"},
        "inwardIssue": {"key": A},
        "outwardIssue": {"key": B},
    }
    assert ("outwardIssue", B) in shown(world, A)
    assert ("inwardIssue", A) in shown(world, B)


def test_b09_the_text_of_one_direction_is_a_fault_of_the_configuration_and_nothing_is_posted(tmp_path: Path) -> None:
    with pytest.raises(SiteFault, match=r"link_types\.блокирует: 'is blocked by' is the text of one direction"):
        built(tmp_path, link_types={"блокирует": ("is blocked by", "outward")})


@pytest.mark.parametrize("mode", ["create", "ignore"])
@pytest.mark.parametrize("link_type", ["блокирует", "связанные"])
def test_b10_a_link_wished_three_times_is_posted_once(world: AgentWorld, mode: str, link_type: str) -> None:
    world.switch(link_duplicates=mode)
    reports = [world.report_of("ensure_link", source=A, target=B, link_type=link_type) for _ in range(3)]
    assert [report["status"] for report in reports] == ["done"] * 3
    assert sent(world).count("POST issueLink") == 1
    assert len(world.links(A, B)) == 1


def test_b10_two_equal_links_that_are_there_already_count_as_present(world: AgentWorld) -> None:
    for _ in range(2):
        world.person("link", first=A, second=B, type="10000")
    report = world.report_of("ensure_link", source=A, target=B, link_type="блокирует", replace=True)
    assert (report["status"], report["jira_calls"]) == ("done", 1)
    assert len(world.links(A, B)) == 2


def test_b12_the_120th_of_129_sprints_is_found_on_the_third_page(world: AgentWorld) -> None:
    """Two stand on the board already, and this server never shows more than 50 at once."""
    ids = world.person("save_sprint", name="Итерация {n}", count=126)
    target = ids[116]  # the 120th of all that are active or future
    report = world.report_of("ensure_sprint", key="AURORA-1537", sprint="Итерация 117")
    assert report["status"] == "done"
    pages = [one["query"] for one in world.requests() if one["path"].endswith("/board/12/sprint")]
    assert len(pages) == 3
    assert [page.partition("startAt=")[2].partition("&")[0] for page in pages] == ["0", "50", "100"]
    assert [one["path"] for one in world.written()] == [f"/rest/agile/1.0/sprint/{target}/issue"]
    assert world.issue("AURORA-1537").sprint_ids[-1] == target


def test_b13_two_open_sprints_of_one_name_fail_with_ids_and_states_and_nothing_is_written(world: AgentWorld) -> None:
    world.person("save_sprint", id=7, name="Спринт 2", state="active")
    report = world.report_of("ensure_sprint", key=B, sprint="Спринт 2")
    assert report["status"] == "failed"
    assert "id 7, active" in report["error"] and "id 9, future" in report["error"]
    assert world.written() == []


def test_b13_the_id_tells_two_sprints_of_one_name_apart(world: AgentWorld) -> None:
    world.person("save_sprint", id=7, name="Спринт 2", state="active")
    assert world.report_of("ensure_sprint", key=B, sprint={"id": 9})["status"] == "done"
    assert world.issue(B).sprint_ids[-1] == 9


def test_b14_a_sprint_of_two_boards_with_a_foreign_origin_is_taken_once(world: AgentWorld) -> None:
    world.person("save_sprint", id=7, name="Общий", state="active", boards=[12, 13], origin_board=3)
    report = world.report_of("ensure_sprint", key="AURORA-1538", sprint="Общий")
    assert report["status"] == "done"
    assert [one["path"] for one in world.written()] == ["/rest/agile/1.0/sprint/7/issue"]


NAMES = ["Спринт, [2]", "a,b=c,name", "[x], state]", "обычный", "ид, id", "goal=нет"]


@pytest.mark.parametrize("shape", ["string", "older string", "object"])
@pytest.mark.parametrize("name", NAMES)
def test_b15_every_shape_of_the_sprint_field_is_read_exactly(world: AgentWorld, shape: str, name: str) -> None:
    """Names with commas and brackets; the older string has its keys in another order, and fewer of them."""
    world.switch(sprint_field=shape)
    world.person("save_sprint", id=31, name=name, state="active")
    world.person("sprint", key=A, sprint=31)
    report = world.report_of("ensure_sprint", key=A, sprint=name)
    assert (report["status"], report["jira_calls"]) == ("done", 1)
    [state] = [one for one in world.report_of("refresh", keys=[A])["result"]["issues"] if one["key"] == A]
    assert (state["sprint_id"], state["sprint"]) == (31, name)


@pytest.mark.parametrize("shape", ["string", "older string", "object"])
def test_b15_a_closed_sprint_in_the_field_is_history(world: AgentWorld, shape: str) -> None:
    world.switch(sprint_field=shape)
    world.person("save_sprint", id=31, name="Спринт, [старый]", state="active")
    world.person("sprint", key=A, sprint=31)
    world.person("save_sprint", id=31, state="closed")
    report = world.report_of("ensure_sprint", key=A, sprint="backlog")
    assert (report["status"], report["jira_calls"]) == ("done", 1)
