"""Gaps of the seeds, by number, answered as the specification says: statuses, links, sprints."""

import itertools
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agent.site import Learnt, site_of
from examples.jira.app import JiraTransport
from examples.jira.faults import Fault
from tests.contracts.agent_world import WANTED, AgentWorld
from tests.contracts.reports_world import again, bodies, built, dies_after, killed, moments, sent
from tests.simulation.bridge import Bridge

KEY = "AURORA-1533"
WAITING, DEVELOPMENT, TESTING, DONE = "Ожидание разработки", "Разработка", "Тестирование", "Готово"
A, B = "AURORA-1533", "AURORA-1536"


@pytest.fixture
def world(tmp_path: Path) -> AgentWorld:
    return built(tmp_path)


def moved(world: AgentWorld, start: str, target: Any, **hint: str) -> dict[str, Any]:
    world.person("status", key=KEY, status=start)
    return world.report_of("ensure_status", key=KEY, target=target, **hint)


def transitions(world: AgentWorld) -> list[str]:
    return [json.loads(body)["transition"]["id"] for body in bodies(world, "POST", "/transitions")]


# --- statuses


@pytest.mark.parametrize(
    ("start", "path", "taken"),
    [
        (DONE, [DEVELOPMENT, DONE], []),  # at its end already
        (WAITING, [DEVELOPMENT, TESTING], ["11", "21"]),  # off the path: from its beginning
        (DEVELOPMENT, [WAITING, DEVELOPMENT, TESTING], ["21"]),  # in its middle: on from there
        (DEVELOPMENT, [DEVELOPMENT, WAITING, DEVELOPMENT, TESTING], ["21"]),  # twice in it: the last counts
        (TESTING, [DEVELOPMENT, DONE], ["22", "31"]),
    ],
)
def test_g23_a_path_is_walked_from_where_the_issue_stands(
    world: AgentWorld, start: str, path: list[str], taken: list[str]
) -> None:
    report = moved(world, start, path)
    assert report["status"] == "done", report
    assert transitions(world) == taken
    # The second and later looks bring the transitions along, so a path costs less than the budget of jira.md 2.6.
    assert report["jira_calls"] == (1 if not taken else 2 + 2 * len(taken))


def test_g23_a_first_step_that_is_not_there_fails_with_the_list_of_what_is(world: AgentWorld) -> None:
    report = moved(world, WAITING, [TESTING, DONE])
    assert report["status"] == "failed"
    for part in (f"из «{WAITING}» нет перехода в «{TESTING}»", "«Разработка» (Начать работу)", "«Отклонено»"):
        assert part in report["error"]
    assert transitions(world) == []


def test_g24_a_single_target_two_steps_away_is_not_guessed(world: AgentWorld) -> None:
    report = moved(world, WAITING, DONE)
    assert report["status"] == "failed"
    assert "доступные" in report["error"]
    assert transitions(world) == []


def test_g25_of_two_transitions_to_the_target_the_one_without_required_fields_then_the_lowest_id(
    world: AgentWorld,
) -> None:
    """9 needs a due date, 11 nothing; 31 has no screen, 35 needs a resolution."""
    assert moved(world, WAITING, DEVELOPMENT)["status"] == "done"
    assert moved(world, DEVELOPMENT, DONE)["status"] == "done"
    assert transitions(world) == ["11", "31"]


def test_g25_a_hidden_one_is_none(tmp_path: Path) -> None:
    world = built(tmp_path, transition_defaults={"duedate": "2026-12-31"})
    world.switch(hidden_transitions=["11"])
    assert moved(world, WAITING, DEVELOPMENT)["status"] == "done"
    assert transitions(world) == ["9"]


def test_g25_a_hint_chooses_among_the_transitions_to_the_target_and_is_nothing_elsewhere(tmp_path: Path) -> None:
    """35 needs a resolution, which is configured; 11 leads elsewhere and is no reason to fail."""
    world = built(tmp_path, transition_defaults={"resolution": "Готово", "duedate": "2026-12-31"})
    assert moved(world, DEVELOPMENT, DONE, transition_id="35")["status"] == "done"
    assert moved(world, DEVELOPMENT, DONE, transition_id="11")["status"] == "done"
    assert moved(world, WAITING, [DEVELOPMENT, DONE], transition_id="9")["status"] == "done"
    assert transitions(world) == ["35", "31", "9", "31"]


def test_g26_only_configured_defaults_fill_a_screen(tmp_path: Path) -> None:
    world = built(tmp_path, transition_defaults={"resolution": "Готово"})
    assert moved(world, TESTING, DONE)["status"] == "done"
    assert world.issue(KEY).resolution_id == "10000"
    world.switch(hidden_transitions=["11"])
    report = moved(world, WAITING, DEVELOPMENT)
    assert (report["status"], "duedate" in report["error"]) == ("failed", True)


def test_g27_a_transition_whose_answer_got_lost_is_judged_by_the_status(world: AgentWorld) -> None:
    world.person("status", key=KEY, status=WAITING)
    world.fault(Fault(kind="execute_then_drop", method="POST", path="/transitions$"))
    report = world.report_of("ensure_status", key=KEY, target=[DEVELOPMENT, DONE])
    assert report["status"] == "done"
    assert transitions(world) == ["11", "31"]


def test_g27_a_transition_that_did_not_happen_may_be_posted_again(world: AgentWorld) -> None:
    world.person("status", key=KEY, status=WAITING)
    world.fault(Fault(kind="drop_before_execute", method="POST", path="/transitions$"))
    report = world.report_of("ensure_status", key=KEY, target=DEVELOPMENT)
    assert report["status"] == "done"
    assert transitions(world) == ["11", "11"]
    assert len(world.written()) == 1


def test_g27_a_post_function_that_moves_on_is_seen(world: AgentWorld) -> None:
    """«Начать работу» really ends in «Тестирование»: judged by the status that is read again."""
    world.switch(redirects={"11": "10302"})
    report = moved(world, WAITING, [DEVELOPMENT, TESTING, DEVELOPMENT, DONE])
    assert report["status"] == "done"
    assert world.issue(KEY).status_id == "10303"


def test_g28_another_case_is_a_hint_and_no_match(world: AgentWorld) -> None:
    report = moved(world, WAITING, "разработка")
    assert report["status"] == "failed"
    assert "«Разработка»" in report["error"] and "регистр" in report["error"]
    assert transitions(world) == []


def test_g28_a_status_is_compared_by_id_where_the_name_is_known(tmp_path: Path) -> None:
    world = built(tmp_path, statuses={"В работе": DEVELOPMENT})
    assert moved(world, WAITING, "В работе")["status"] == "done"
    world.switch(locale="en")
    assert world.report_of("ensure_status", key=KEY, target="В работе")["jira_calls"] == 1


# --- links


def learnt(world: AgentWorld) -> Learnt:
    client = httpx2.Client(transport=JiraTransport(world.jira), base_url="http://jira", headers=world.access().headers)
    lists = {"fields": "field", "priorities": "priority", "issue_types": "issuetype"}
    read = {name: client.get(f"/rest/api/2/{path}").json() for name, path in lists.items()}
    links = client.get("/rest/api/2/issueLinkType").json()["issueLinkTypes"]
    return Learnt(myself=client.get("/rest/api/2/myself").json(), link_types=links, **read)


def test_g29_link_types_are_validated_and_symmetric_ones_known_as_such(world: AgentWorld) -> None:
    site = site_of(WANTED, learnt(world))
    assert [(one.logical, one.jira_id, one.symmetric) for one in site.link_types] == [
        ("блокирует начало", "10200", False),
        ("связанные", "10201", True),
    ]


def test_g29_an_inward_type_turns_the_ends_round(tmp_path: Path) -> None:
    world = built(tmp_path, link_types={"ждёт": ("Blocks", "inward")})
    world.report_of("ensure_link", source=A, target=B, link_type="ждёт")
    assert world.links(A, B) == [("10000", B, A)]
    assert world.report_of("ensure_link", source=A, target=B, link_type="ждёт")["jira_calls"] == 1


WISH = {"source": A, "target": B, "link_type": "блокирует начало"}


@pytest.mark.parametrize(
    ("there", "conflict"),
    [
        (("10200", B, A), True),  # the other way round
        (("10201", A, B), True),  # another managed type
        (("10002", A, B), False),  # a type that is none of ours
    ],
)
def test_g30_what_conflicts_and_what_does_not(world: AgentWorld, there: tuple[str, str, str], conflict: bool) -> None:
    world.person("link", type=there[0], first=there[1], second=there[2])
    report = world.report_of("ensure_link", **WISH)
    assert report["status"] == ("failed" if conflict else "done")
    assert (there in world.links(A, B)) is True
    assert world.report_of("ensure_link", **WISH, replace=True)["status"] == "done"
    left = world.links(A, B)
    assert ("10200", A, B) in left
    assert (there in left) is not conflict


def test_g30_a_symmetric_link_has_no_direction(world: AgentWorld) -> None:
    world.person("link", type="10201", first=B, second=A)
    assert world.report_of("ensure_link", source=A, target=B, link_type="связанные")["jira_calls"] == 1


def test_g30_a_link_with_itself_is_refused_at_the_hub(tmp_path: Path) -> None:
    bridge = Bridge(tmp_path)
    assert bridge.post_batch({"type": "ensure_link", **WISH, "target": A}).status_code == 422
    bridge.close()


@pytest.mark.parametrize("which", ["source", "target"])
def test_g30_a_link_to_an_issue_that_has_moved_is_recognised(world: AgentWorld, which: str) -> None:
    world.report_of("ensure_link", **WISH)
    world.person("move", key=WISH[which], project="BOREAS")
    report = world.report_of("ensure_link", **WISH)
    assert report["status"] == "done"
    assert len(world.written()) == 1


def test_g31_a_replacement_half_done_is_finished_after_a_crash(world: AgentWorld) -> None:
    world.person("link", type="10201", first=A, second=B)
    number = world.queue.add("ensure_link", **WISH, replace=True)
    dies_after(world, "DELETE", "/issueLink/")
    killed(world)
    again(world)
    world.run()
    assert world.queue.reports[number]["status"] == "done"
    assert [one["method"] for one in world.written()] == ["DELETE", "POST"]


def test_g31_a_post_of_unknown_outcome_is_decided_by_reading(world: AgentWorld) -> None:
    world.person("link", type="10201", first=A, second=B)
    world.fault(Fault(kind="execute_then_drop", method="POST", path="/issueLink$"))
    report = world.report_of("ensure_link", **WISH, replace=True)
    assert report["status"] == "done"
    assert [one["method"] for one in world.written()] == ["DELETE", "POST"]
    assert len(report["result"]["operations"]) == 2


def test_g31_a_post_refused_after_the_deletion_is_told_with_what_was_done(world: AgentWorld) -> None:
    world.person("link", type="10201", first=A, second=B)
    world.fault(Fault(kind="refuse", method="POST", path="/issueLink$", status=403, messages=("Нет права",)))
    report = world.report_of("ensure_link", **WISH, replace=True)
    assert (report["status"], "Нет права" in report["error"]) == ("failed", True)
    [operation] = report["result"]["operations"]
    assert operation.startswith("DELETE") and "«связанные»" in operation


def test_g31_a_link_a_person_deleted_meanwhile_counts_as_deleted(world: AgentWorld) -> None:
    world.person("link", type="10201", first=A, second=B)
    [link] = [one for one in world.jira.store.links() if one.type_id == "10201" and one.second == world.issue(B).id]
    world.fault(Fault(kind="edit", method="DELETE", edit={"action": "unlink", "id": link.id}))
    assert world.report_of("ensure_link", **WISH, replace=True)["status"] == "done"
    assert world.links(A, B) == [("10200", A, B)]


def test_g32_several_links_in_the_way_are_deleted_gap_by_gap_then_one_is_made(world: AgentWorld) -> None:
    world.person("link", type="10200", first=B, second=A)
    world.person("link", type="10201", first=A, second=B)
    report = world.report_of("ensure_link", **WISH, replace=True)
    assert (report["status"], report["jira_calls"]) == ("done", 4)
    assert [one["method"] for one in world.written()] == ["DELETE", "DELETE", "POST"]
    writes = [one["monotonic"] for one in world.written()]
    assert all(after - before >= 30 for before, after in itertools.pairwise(writes))
    assert world.links(A, B) == [("10200", A, B)]


# --- sprints


def test_g33_a_sprint_is_chosen_by_its_exact_name_and_digits_are_a_name_too(world: AgentWorld) -> None:
    [number] = world.person("save_sprint", name=" 9 ", state="future")
    assert world.report_of("ensure_sprint", key=KEY, sprint="9")["status"] == "done"
    assert world.issue(KEY).sprint_ids[-1] == number
    assert world.report_of("ensure_sprint", key=KEY, sprint={"id": 9})["status"] == "done"
    assert world.issue(KEY).sprint_ids[-1] == 9


@pytest.mark.parametrize("name", ["спринт 2", "Спринт", "Спринт 0"])
def test_g34_a_sprint_that_is_not_open_fails_naming_the_nearest_and_none_is_created(
    world: AgentWorld, name: str
) -> None:
    report = world.report_of("ensure_sprint", key=KEY, sprint=name)
    assert report["status"] == "failed"
    assert "«Спринт 2»" in report["error"] and "«Спринт 0»" not in report["error"].partition("ближайшие")[2]
    assert [one["method"] for one in world.requests()[-2:]] == ["GET", "GET"]
    assert len(world.jira.store.sprints()) == 4


def test_g35_closed_sprints_are_history_and_a_second_open_one_is_one_too_many(world: AgentWorld) -> None:
    issue = world.issue(KEY)
    issue.sprint_ids = [5, 9]
    with world.jira.store.transaction():
        world.jira.store.save_issue(issue, world.clock.wall())
    assert world.report_of("ensure_sprint", key=KEY, sprint="Спринт 2")["jira_calls"] == 1
    issue.sprint_ids = [5, 7, 9]
    with world.jira.store.transaction():
        world.jira.store.save_issue(issue, world.clock.wall())
    assert world.report_of("ensure_sprint", key=KEY, sprint="Спринт 2")["status"] == "done"
    assert world.issue(KEY).sprint_ids == [5, 9]


def test_g36_no_open_sprint_is_the_backlog(world: AgentWorld) -> None:
    issue = world.issue(KEY)
    issue.sprint_ids = [5]
    with world.jira.store.transaction():
        world.jira.store.save_issue(issue, world.clock.wall())
    assert world.report_of("ensure_sprint", key=KEY, sprint="backlog")["jira_calls"] == 1
    world.person("sprint", key=KEY, sprint=7)
    report = world.report_of("ensure_sprint", key=KEY, sprint="backlog")
    assert (report["status"], report["jira_calls"]) == ("done", 2)
    assert world.written()[-1]["path"] == "/rest/agile/1.0/backlog/issue"
    assert world.issue(KEY).sprint_ids == [5]


def test_g37_a_subtask_is_refused_in_jiras_words(world: AgentWorld) -> None:
    key = world.person("create", summary="Часть", type="subtask")
    report = world.report_of("ensure_sprint", key=key, sprint="Спринт 2")
    assert report["status"] == "failed"
    assert "HTTP 400: A sub-task goes where its parent goes" in report["error"]


@pytest.mark.parametrize("kanban", ["refuse", "empty"])
def test_g38_a_kanban_board_has_no_sprints(tmp_path: Path, kanban: str) -> None:
    world = built(tmp_path, board_id=14)
    world.switch(kanban_sprints=kanban)
    report = world.report_of("ensure_sprint", key=KEY, sprint="Спринт 2")
    assert report["status"] == "failed"
    assert "на доске 14 нет" in report["error"]
    assert world.written() == []


def test_g38_a_board_without_columns_says_so(tmp_path: Path) -> None:
    world = built(tmp_path, board_id=15)
    report = world.report_of("ensure_sprint", key=KEY, sprint="Спринт 2")
    assert (report["status"], "no columns" in report["error"]) == ("failed", True)


def test_no_write_of_a_path_is_closer_to_the_one_before_than_the_gap(world: AgentWorld) -> None:
    assert moved(world, WAITING, [DEVELOPMENT, TESTING])["status"] == "done"
    assert world.report_of("ensure_status", key=KEY, target=[DEVELOPMENT, DONE])["status"] == "done"
    posts = moments(world, "POST", "/transitions")
    assert len(posts) == 4 and all(b - a >= 30 for a, b in itertools.pairwise(posts))
    assert sent(world)[0] == f"GET {KEY}"
