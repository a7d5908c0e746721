"""Sprints, creations, readings and queries: what the agent makes of what Jira shows, and the law where it writes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.differences import CannotReach
from agent.differences.issue import Candidate, differing, issue_difference, left_out, namesakes, ours
from agent.differences.refresh import chunks, is_last_page, issue_state, neighbours
from agent.differences.sprint import Sprint, sprint_difference, sprint_from_text, sprints_of
from agent.jql import ordered, own_recent_issues, quoted, these_keys
from agent.site import Site
from agent.writes import (
    CreateIssue,
    EditIssue,
    MoveToSprint,
    request_of,
)
from protocol.commands import EnsureIssue, EnsureSprint
from protocol.issues import IssueState
from tests.rules.agent_site import SITE

# --- sprints

REAL = (
    "com.atlassian.greenhopper.service.sprint.Sprint@1f2b[id=7,rapidViewId=12,state=ACTIVE,name=Спринт 1,"
    "startDate=2026-10-01T09:00:00.000+03:00,endDate=<null>,completeDate=<null>,activatedDate=<null>,sequence=7,goal=]"
)
OTHER = "com.atlassian.greenhopper.service.sprint.Sprint@9[completeDate=<null>,name=A, [B], id of C,state=FUTURE,id=9]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (REAL, Sprint(7, "Спринт 1", "active")),
        (OTHER, Sprint(9, "A, [B], id of C", "future")),
        ("Sprint@1[id=3,state=CLOSED,name=<null>]", Sprint(3, "", "closed")),
        ("Sprint@1[id=3,rapidViewId=1,state=CLOSED,name=x=y, goal, z,goal=a,b]", Sprint(3, "x=y, goal, z", "closed")),
        ("Sprint@1[name=no id]", None),
        ("no brackets", None),
    ],
)
def test_a_sprint_string_is_cut_only_at_known_keys(text: str, expected: Sprint | None) -> None:
    assert sprint_from_text(text) == expected


@given(st.integers(1, 10**6), st.text(st.sampled_from("аb,[]= №1"), max_size=12), st.sampled_from(["ACTIVE", "FUTURE"]))
def test_any_name_survives_both_shapes(number: int, name: str, state: str) -> None:
    text = f"com.atlassian.Sprint@a[id={number},rapidViewId=1,state={state},name={name},goal=<null>,synced=false]"
    as_object = {"id": number, "name": name, "state": state.lower()}
    assert sprints_of([text]) == sprints_of([as_object]) == (Sprint(number, name, state.lower()),)


@given(st.text(max_size=60))
def test_no_string_breaks_the_sprint_parser(text: str) -> None:
    sprint_from_text(text)


def test_closed_sprints_are_history_and_shared_ones_count_once() -> None:
    field = [REAL, "Sprint@1[id=5,state=CLOSED,name=Спринт 0]", REAL]
    assert [sprint.id for sprint in sprints_of(field)] == [7]
    assert sprints_of(None) == ()


BOARD = [
    Sprint(7, "Спринт 1", "active"),
    Sprint(9, "Спринт 2", "future"),
    Sprint(11, "Спринт 2 ", "future"),
    Sprint(5, "Спринт 0", "closed"),
]


@given(
    st.sampled_from(["Спринт 1", "backlog", {"id": 7}, {"id": 9}]),
    st.lists(st.sampled_from(BOARD[:3]), max_size=2, unique=True),
)
def test_law_of_sprints(sprint: Any, current: list[Sprint]) -> None:
    want = EnsureSprint(key="AURORA-1", sprint=sprint)
    after = current
    for write in sprint_difference(want, "AURORA-1", current, BOARD):
        assert isinstance(write, MoveToSprint)
        after = [one for one in BOARD if one.id == write.sprint_id]
    assert sprint_difference(want, "AURORA-1", after, BOARD) == ()


@pytest.mark.parametrize(
    ("sprint", "said"),
    [
        ("Спринт 2", r"id 9, future.*id 11, future"),
        ("Спринт 0", "ближайшие"),
        ({"id": 5}, "нет активного или будущего спринта с id 5"),
    ],
)
def test_a_sprint_that_cannot_be_told_fails_saying_what_there_is(sprint: Any, said: str) -> None:
    with pytest.raises(CannotReach, match=said):
        sprint_difference(EnsureSprint(key="AURORA-1", sprint=sprint), "AURORA-1", [], BOARD)


# --- issues


def candidate(number: int, summary: str, identity: str | None = None, type_id: str = "3") -> Candidate:
    state = IssueState(key=f"AURORA-{number}", jira_id=str(number), summary=summary)
    return Candidate(state, type_id, identity)


WISH = EnsureIssue(temp_key="new:1", summary="Отчёт")
found_issues = st.lists(
    st.builds(
        candidate,
        st.integers(1, 99),
        st.sampled_from(["Отчёт", " Отчёт ", "отчёт", "Отчёт за май"]),
        st.sampled_from([None, "jh:a:1", "jh:a:2"]),
        st.sampled_from(["3", "5"]),
    ),
    max_size=5,
)


@given(found_issues, st.sampled_from([None, "jh:a:1"]), st.booleans())
def test_law_of_creation(there: list[Candidate], identity: str | None, tried: bool) -> None:
    found = ours(identity, namesakes(SITE, WISH, there), tried=tried)
    writes = issue_difference(SITE, WISH, identity, found)
    after = list(there)
    for write in writes:
        assert isinstance(write, CreateIssue)
        after.append(candidate(100, str(write.fields["summary"]), write.identity))
    again = ours(identity, namesakes(SITE, WISH, after), tried=True)
    assert again is not None
    assert issue_difference(SITE, WISH, identity, again) == ()


def test_an_issue_of_another_identity_is_never_ours() -> None:
    same = namesakes(SITE, WISH, [candidate(1, "Отчёт", "jh:a:2")])
    assert ours("jh:a:1", same, tried=False) is None


def test_without_any_identity_the_oldest_by_the_seeds_rule_is_ours_and_says_so() -> None:
    found = ours("jh:a:1", namesakes(SITE, WISH, [candidate(10, "Отчёт"), candidate(9, " Отчёт ")]), tried=False)
    assert found is not None
    assert (found.candidate.state.key, found.existed_before, found.also_found) == ("AURORA-9", True, ("AURORA-10",))


def test_own_identity_beats_an_older_namesake() -> None:
    found = ours(
        "jh:a:1", namesakes(SITE, WISH, [candidate(9, "Отчёт"), candidate(10, "Отчёт", "jh:a:1")]), tried=False
    )
    assert found is not None
    assert (found.candidate.state.key, found.existed_before) == ("AURORA-10", False)


@pytest.mark.parametrize("summary", ["Отчёт за май", "отчёт", "От чёт"])
def test_a_summary_is_compared_exactly(summary: str) -> None:
    assert namesakes(SITE, WISH, [candidate(1, summary)]) == ()


def test_a_creation_carries_identity_epic_name_and_defaults() -> None:
    site = Site(
        project="AURORA",
        user_name="s",
        epic_name_field="customfield_2",
        issue_types=SITE.issue_types,
        create_defaults={"components": [{"name": "X"}]},
        identity_label=True,
    )
    [write] = issue_difference(
        site, EnsureIssue(temp_key="new:1", issue_type="epic", summary="Э", labels=("a",)), "jh:a:1", None
    )
    assert request_of(write).body == {
        "fields": {
            "components": [{"name": "X"}],
            "project": {"key": "AURORA"},
            "issuetype": {"id": "5"},
            "summary": "Э",
            "customfield_2": "Э",
            "labels": ["a", "jh:a:1"],
        },
        "properties": [{"key": "hub.cmd", "value": {"identity": "jh:a:1"}}],
    }


def test_what_a_creation_leaves_out_follows_by_an_edit() -> None:
    site = Site(project="AURORA", user_name="s", epic_link_field="c", epic_mode="edit", issue_types=SITE.issue_types)
    want = EnsureIssue(temp_key="new:1", summary="Отчёт", epic_key="AURORA-7")
    [create] = issue_difference(site, want, None, None)
    assert isinstance(create, CreateIssue)
    assert "c" not in create.fields
    [edit] = left_out(site, want, IssueState(key="AURORA-9"))
    assert edit == EditIssue("AURORA-9", {"c": "AURORA-7"})
    assert left_out(site, want, IssueState(key="AURORA-9", epic_key="AURORA-7")) == ()


def test_what_differs_on_a_found_issue_is_told_not_written() -> None:
    want = EnsureIssue(temp_key="new:1", summary="Отчёт", duedate="2026-01-01", priority="High")
    state = IssueState(key="AURORA-9", priority="Высокий", duedate="2026-02-02")
    assert differing(SITE, want, state) == ("duedate",)


# --- refresh


def test_a_state_names_links_by_their_logical_type_and_direction() -> None:
    issue = {
        "id": "1",
        "key": "AURORA-1",
        "fields": {
            "issuelinks": [
                {
                    "id": "7",
                    "type": {"id": "10", "name": "Blocks", "inward": "a", "outward": "b"},
                    "inwardIssue": {"key": "AURORA-2"},
                },
                {
                    "id": "8",
                    "type": {"id": "11", "name": "Part", "inward": "a", "outward": "b"},
                    "outwardIssue": {"key": "AURORA-3"},
                },
                {
                    "id": "9",
                    "type": {"id": "99", "name": "Cloners", "inward": "x", "outward": "x"},
                    "outwardIssue": {"key": "AURORA-4"},
                },
            ]
        },
    }
    links = issue_state(SITE, issue).links
    assert [(one.source, one.target, one.link_type, one.managed, one.symmetric) for one in links] == [
        ("AURORA-2", "AURORA-1", "блокирует", True, False),
        ("AURORA-3", "AURORA-1", "часть", True, False),
        ("AURORA-1", "AURORA-4", "Cloners", False, True),
    ]


def test_the_active_sprint_is_shown_before_a_future_one() -> None:
    issue = {
        "id": "1",
        "key": "AURORA-1",
        "fields": {
            "customfield_3": [
                {"id": 9, "name": "Спринт 2", "state": "future"},
                {"id": 7, "name": "Спринт 1", "state": "active"},
            ]
        },
    }
    state = issue_state(SITE, issue)
    assert (state.sprint, state.sprint_id) == ("Спринт 1", 7)


def test_neighbours_are_one_hop_away_and_capped() -> None:
    links = tuple({"source": "AURORA-1", "target": f"AURORA-{n}", "link_type": "x"} for n in range(2, 700))
    state = IssueState.model_validate({"key": "AURORA-1", "links": links})
    keys, truncated = neighbours({"AURORA-1": state})
    assert len(keys) == 500
    assert truncated
    assert "AURORA-1" not in keys


def test_pages_end_by_what_came_not_by_what_was_said() -> None:
    assert is_last_page(0, 0, 200)
    assert is_last_page(40, 15, 55)
    assert not is_last_page(0, 20, 55)
    assert not is_last_page(0, 20, None)
    assert [len(chunk) for chunk in chunks([str(n) for n in range(205)])] == [100, 100, 5]


# --- JQL


@pytest.mark.parametrize(
    ("literal", "expected"),
    [("AS", '"AS"'), ('a"b', '"a\\"b"'), ("a\\b", '"a\\\\b"'), ("[x] + -", '"[x] + -"')],
)
def test_every_literal_is_quoted(literal: str, expected: str) -> None:
    assert quoted(literal) == expected


@given(st.text(max_size=20))
def test_a_quoted_literal_ends_only_at_its_last_quote(literal: str) -> None:
    inside = quoted(literal)[1:-1]
    assert '"' not in inside.replace("\\\\", "").replace('\\"', "")


@pytest.mark.parametrize(
    ("age", "days_"), [(0, 7), (6 * 86_400, 7), (6.1 * 86_400, 8), (8 * 86_400, 9), (30 * 86_400, 31)]
)
def test_the_window_grows_with_the_age_of_the_delivery(age: float, days_: int) -> None:
    assert f"created >= -{days_}d" in own_recent_issues("AURORA", age)


def test_queries_are_ordered_and_name_the_project_quoted() -> None:
    assert own_recent_issues("AS", 0) == (
        'project = "AS" AND (reporter = currentUser() OR creator = currentUser()) AND created >= -7d ORDER BY key'
    )
    assert these_keys(["A-1", "A-2"]) == 'key in ("A-1", "A-2") ORDER BY key'
    assert ordered("project = X order BY rank") == "project = X order BY rank"
    assert ordered("project = X") == "project = X ORDER BY key"
