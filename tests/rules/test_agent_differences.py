"""Every difference, and the one law of them all: after the writes nothing differs any more."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.differences import CannotReach, Conflict
from agent.differences.comment import Comment, comment_difference
from agent.differences.fields import fields_difference
from agent.differences.link import Link, link_difference, managed_links
from agent.differences.status import Status, Transition, status_difference, transition_from
from agent.site import Site
from agent.writes import (
    AddComment,
    CreateLink,
    DeleteLink,
    EditComment,
    EditIssue,
    SetEpic,
    Transit,
    Write,
    request_of,
)
from protocol.commands import EnsureComment, EnsureFields, EnsureLink, EnsureStatus
from protocol.issues import IssueState
from protocol.text import normalised_text
from tests.rules.agent_site import AGILE, BLOCKS, SITE

days = st.dates().map(str)
labels = st.lists(st.sampled_from("abcAd"), max_size=3).map(tuple)
texts = st.text(st.sampled_from("аб \n\r\t"), max_size=8)


# --- fields


@st.composite
def field_wishes(draw: st.DrawFn) -> EnsureFields:
    given_ = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "summary": st.sampled_from(["Отчёт", "отчёт"]),
                "description": st.none() | texts,
                "priority": st.sampled_from(["Высокий", "High", "Средний"]),
                "duedate": st.none() | days,
                "planned_start": st.none() | days,
                "planned_end": st.none() | days,
                "epic_key": st.none() | st.sampled_from(["AURORA-7", "AURORA-8"]),
                "assignee": st.none() | st.sampled_from(["ivanov", "petrova"]),
            },
        )
    )
    add = draw(labels)
    given_["labels_add"] = add
    given_["labels_remove"] = tuple(label for label in draw(labels) if label not in add)
    return EnsureFields(key="AURORA-1", **given_)


@st.composite
def states(draw: st.DrawFn) -> IssueState:
    return IssueState(
        key=draw(st.sampled_from(["AURORA-1", "MOVED-9"])),
        summary=draw(st.sampled_from(["Отчёт", " Отчёт ", "иное"])),
        description=draw(st.none() | texts),
        priority=draw(st.sampled_from(["Высокий", "Средний"])),
        duedate=draw(st.none() | days),
        planned_start=draw(st.none() | days),
        planned_end=draw(st.none() | days),
        epic_key=draw(st.sampled_from([None, "AURORA-7"])),
        assignee=draw(st.sampled_from([None, "ivanov"])),
        labels=draw(labels),
    )


def fields_applied(site: Site, writes: tuple[Write, ...], have: IssueState) -> IssueState:
    """What Jira makes of it."""
    custom = {site.planned_start_field: "planned_start", site.planned_end_field: "planned_end"}
    custom[site.epic_link_field] = "epic_key"
    changed: dict[str, Any] = {}
    for write in writes:
        if isinstance(write, SetEpic):
            changed["epic_key"] = write.epic
            continue
        assert isinstance(write, EditIssue)
        for name, value in write.fields.items():
            match name:
                case "priority":
                    changed[name] = {"2": "Высокий", "3": "Средний"}[value["id"]]
                case "assignee":
                    changed[name] = value and value["name"]
                case _:
                    changed[custom.get(name, name)] = value
        there = list(have.labels)
        for operation in write.update.get("labels", ()):
            if "add" in operation:
                there.append(operation["add"])
            else:
                there = [label for label in there if label != operation["remove"]]
        changed["labels"] = tuple(there)
    return have.model_copy(update=changed)


@given(field_wishes(), states(), st.sampled_from(["create", "edit", "agile"]))
def test_law_of_fields(want: EnsureFields, have: IssueState, mode: Any) -> None:
    site = Site(**{name: getattr(SITE, name) for name in Site.__slots__} | {"epic_mode": mode})
    writes = fields_difference(site, want, have)
    assert fields_difference(site, want, fields_applied(site, writes, have)) == ()


def test_a_field_that_was_not_given_is_not_touched() -> None:
    have = IssueState(key="AURORA-1", duedate="2026-01-01", assignee="ivanov")
    assert fields_difference(SITE, EnsureFields(key="AURORA-1", duedate="2026-01-01"), have) == ()


def test_null_clears() -> None:
    have = IssueState(key="AURORA-1", duedate="2026-01-01", epic_key="AURORA-7", description="x", assignee="ivanov")
    want = EnsureFields(key="AURORA-1", duedate=None, epic_key=None, description=None, assignee=None)
    [write] = fields_difference(SITE, want, have)
    assert isinstance(write, EditIssue)
    assert write.fields == {"description": None, "duedate": None, "assignee": None, "customfield_1": None}


def test_line_ends_and_trailing_blanks_are_no_difference() -> None:
    have = IssueState(key="AURORA-1", description="a\r\nb  ", summary=" Отчёт ")
    assert fields_difference(SITE, EnsureFields(key="AURORA-1", description="a\nb", summary="Отчёт"), have) == ()


def test_labels_are_added_and_removed_never_replaced() -> None:
    have = IssueState(key="AURORA-1", labels=("a", "b"))
    [write] = fields_difference(SITE, EnsureFields(key="AURORA-1", labels_add=("x", "b"), labels_remove=("a",)), have)
    assert request_of(write).body == {"update": {"labels": [{"add": "x"}, {"remove": "a"}]}}


def test_priorities_are_compared_by_id_under_whatever_name() -> None:
    assert (
        fields_difference(
            SITE, EnsureFields(key="AURORA-1", priority="High"), IssueState(key="AURORA-1", priority="Высокий")
        )
        == ()
    )


def test_a_moved_issue_is_written_under_its_key_of_today() -> None:
    [write] = fields_difference(SITE, EnsureFields(key="AURORA-1", duedate="2026-01-01"), IssueState(key="MOVED-9"))
    assert request_of(write).path == "/rest/api/2/issue/MOVED-9"


def test_a_field_this_jira_lacks_fails_saying_so() -> None:
    with pytest.raises(CannotReach, match="planned_start"):
        fields_difference(AGILE, EnsureFields(key="AA-1", planned_start="2026-01-01"), IssueState(key="AA-1"))


def test_a_datetime_field_is_written_as_jira_wants_it() -> None:
    site = Site(project="A", user_name="s", planned_start_field="c", planned_kind="datetime")
    [write] = fields_difference(site, EnsureFields(key="AA-1", planned_start="2026-01-02"), IssueState(key="AA-1"))
    assert isinstance(write, EditIssue)
    assert write.fields == {"c": "2026-01-02T12:00:00.000+0000"}


# --- comments

bodies = st.text(st.sampled_from("ab \n"), min_size=1, max_size=6).filter(lambda text: normalised_text(text) != "")


@given(
    bodies,
    st.lists(st.tuples(st.booleans(), st.sampled_from(["plan:1", "plan:12", "", " plan:1"]), bodies), max_size=4),
)
def test_law_of_comments(body: str, before: list[tuple[bool, str, str]]) -> None:
    want = EnsureComment(key="AURORA-1", marker="plan:1", body=body)
    have = [Comment(str(number + 8), own, f"{mark}\n{text}") for number, (own, mark, text) in enumerate(before)]
    after = list(have)
    for write in comment_difference(want, want.key, have):
        if isinstance(write, AddComment):
            after.append(Comment("99", own=True, body=write.text))
        else:
            assert isinstance(write, EditComment)
            after = [Comment(one.id, one.own, write.text) if one.id == write.comment_id else one for one in after]
    assert comment_difference(want, want.key, after) == ()
    assert [one for one in after if not one.own] == [one for one in have if not one.own]


def test_the_newest_own_comment_is_kept_and_visibility_with_it() -> None:
    have = [
        Comment("9", own=True, body="plan:1\nold"),
        Comment("10", own=True, body="plan:1\nnew", visibility={"type": "role", "value": "Team"}),
        Comment("11", own=False, body="plan:1\nforeign"),
    ]
    [write] = comment_difference(EnsureComment(key="AURORA-1", marker="plan:1", body="x"), "AURORA-1", have)
    request = request_of(write)
    assert request.path.endswith("/comment/10")
    assert request.body == {"body": "plan:1\nx", "visibility": {"type": "role", "value": "Team"}}


# --- status

FLOW = {"Ожидание": ("Разработка", "Отклонено"), "Разработка": ("Тест", "Ожидание"), "Тест": ("Готово",), "Готово": ()}


def standing(name: str) -> list[Transition]:
    return [Transition(str(n), f"→{to}", Status(str(n), to)) for n, to in enumerate(FLOW.get(name, ()), 11)]


@given(st.lists(st.sampled_from([*FLOW, "Отклонено"]), min_size=1, max_size=5), st.sampled_from([*FLOW, "Отклонено"]))
def test_law_of_statuses(path: list[str], current: str) -> None:
    want = EnsureStatus(key="AURORA-1", target=tuple(path))
    try:
        for _ in range(len(path) + 1):
            writes = status_difference(want, "AURORA-1", Status("", current), standing(current), {})
            if not writes:
                break
            assert isinstance(writes[0], Transit)
            current = writes[0].to
        assert current == path[-1]
    except CannotReach as error:
        assert "доступные" in str(error)
        assert not any(one.to.name in path for one in standing(current)) or path[-1] != current


def test_a_transition_is_matched_by_where_it_leads() -> None:
    misnamed = [Transition("11", "Готово", Status("1", "Отклонено")), Transition("12", "Прочее", Status("2", "Готово"))]
    [write] = status_difference(
        EnsureStatus(key="AURORA-1", target="Готово"), "AURORA-1", Status("9", "Тест"), misnamed, {}
    )
    assert isinstance(write, Transit)
    assert write.transition_id == "12"


def test_of_two_transitions_the_one_without_required_fields_wins_then_the_lowest_id() -> None:
    done = Status("2", "Готово")
    many = [
        Transition("9", "a", done, {"resolution": ("Готово",)}, frozenset({"resolution"})),
        Transition("21", "b", done),
        Transition("12", "c", done),
    ]
    [write] = status_difference(EnsureStatus(key="AURORA-1", target="Готово"), "AURORA-1", Status("", "Тест"), many, {})
    assert isinstance(write, Transit)
    assert write.transition_id == "12"


def test_a_required_field_without_a_default_fails_naming_it_and_what_it_takes() -> None:
    found = {
        "id": "5",
        "name": "Закрыть",
        "to": {"id": "2", "name": "Готово"},
        "fields": {
            "resolution": {
                "required": True,
                "hasDefaultValue": False,
                "allowedValues": [{"name": "Готово"}, {"name": "Брак"}],
            },
        },
    }
    want = EnsureStatus(key="AURORA-1", target="Готово")
    with pytest.raises(CannotReach, match=r"resolution \(допустимо: Готово, Брак\)"):
        status_difference(want, "AURORA-1", Status("", "Тест"), [transition_from(found)], {})
    filled = {"resolution": {"name": "Готово"}, "other": 1}
    [write] = status_difference(want, "AURORA-1", Status("", "Тест"), [transition_from(found)], filled)
    assert request_of(write).body == {"transition": {"id": "5"}, "fields": {"resolution": {"name": "Готово"}}}


def test_a_status_may_be_named_by_its_id() -> None:
    want = EnsureStatus(key="AURORA-1", target="10303")
    assert status_difference(want, "AURORA-1", Status("10303", "Gereed"), [], {}) == ()


# --- links


@st.composite
def link_worlds(draw: st.DrawFn) -> tuple[EnsureLink, list[Link]]:
    want = EnsureLink(
        source="AURORA-1",
        target="AURORA-2",
        link_type=draw(st.sampled_from(["блокирует", "часть", "связанные"])),
        replace=draw(st.booleans()),
    )
    ends = st.sampled_from([("AURORA-1", "AURORA-2"), ("AURORA-2", "AURORA-1"), ("AURORA-1", "AURORA-3")])
    many = draw(st.lists(st.tuples(st.sampled_from(SITE.link_types), ends), max_size=4))
    return want, [Link(str(n), kind, *pair) for n, (kind, pair) in enumerate(many)]


@given(link_worlds())
def test_law_of_links(world: tuple[EnsureLink, list[Link]]) -> None:
    want, have = world
    wanted = SITE.link_type(want.link_type)
    assert wanted is not None
    try:
        writes = link_difference(wanted, want.source, want.target, have, replace=want.replace)
    except Conflict:
        assert not want.replace
        return
    after = list(have)
    for write in writes:
        if isinstance(write, DeleteLink):
            after = [link for link in after if link.id != write.link_id]
        else:
            assert isinstance(write, CreateLink)
            kind = SITE.managed(write.type_id)
            assert kind is not None
            after.append(Link("new", kind, write.inward, write.outward))
    assert link_difference(wanted, want.source, want.target, after, replace=want.replace) == ()
    assert [link for link in have if "AURORA-3" in (link.inward, link.outward)] == [
        link for link in after if "AURORA-3" in (link.inward, link.outward)
    ]


def test_the_source_stands_on_the_inward_side() -> None:
    [write] = link_difference(BLOCKS, "AURORA-1", "AURORA-2", [], replace=False)
    body = request_of(write).body
    assert body == {"type": {"id": "10"}, "inwardIssue": {"key": "AURORA-1"}, "outwardIssue": {"key": "AURORA-2"}}


def test_reading_back_shows_the_same_link() -> None:
    shown = [{"id": "7", "type": {"id": "10"}, "outwardIssue": {"key": "AURORA-2"}}]
    have = managed_links(SITE, "AURORA-1", shown)
    assert link_difference(BLOCKS, "AURORA-1", "AURORA-2", have, replace=False) == ()
    with pytest.raises(Conflict, match="«блокирует» AURORA-1 → AURORA-2"):
        link_difference(BLOCKS, "AURORA-2", "AURORA-1", have, replace=False)


def test_links_of_other_types_are_none_of_our_business() -> None:
    assert (
        managed_links(SITE, "AURORA-1", [{"id": "7", "type": {"id": "99"}, "outwardIssue": {"key": "AURORA-2"}}]) == ()
    )
