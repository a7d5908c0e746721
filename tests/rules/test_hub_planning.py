"""The plan of a batch: marks, changes, reasons; commands followed in order; a digest that tells when to look again."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.likeness import Similar
from hub.planning import Entry, Known, digest_of, plan_entries, plan_seconds
from protocol.commands import DEFAULT_GAPS, AnyCommand, command_from
from protocol.issues import IssueLink, IssueState

A, B = "AURORA-1", "AURORA-2"


def command(command_type: str, **params: Any) -> AnyCommand:
    return command_from(command_type, params)


def issue(key: str = A, **state: Any) -> IssueState:
    return IssueState(key=key, **state)


def known(*issues: IssueState, **more: Any) -> Known:
    return Known(issues={one.key: one for one in issues}, **more)


def planned(wish: AnyCommand, mirror: Known) -> Entry:
    (entry,) = plan_entries([wish], mirror)
    return entry


def told(entry: Entry) -> list[tuple[str, Any, Any]]:
    return [(change.field, change.old, change.new) for change in entry.changes]


def test_a_wish_that_stands_already_costs_no_write() -> None:
    entry = planned(command("ensure_fields", key=A, duedate="2026-10-23"), known(issue(duedate="2026-10-23")))
    assert (entry.mark, entry.changes, entry.writes) == ("=", (), 0)


def test_every_field_that_differs_is_told_old_and_new() -> None:
    wish = command(
        "ensure_fields", key=A, summary="New", duedate=None, priority="High", labels_add=["b"], labels_remove=["a"]
    )
    entry = planned(wish, known(issue(summary="Old", duedate="2026-10-23", priority="High", labels=("a", "c"))))
    assert entry.mark == "~"
    assert told(entry) == [
        ("summary", "Old", "New"),
        ("duedate", "2026-10-23", None),
        ("labels", ["a", "c"], ["c", "b"]),
    ]


@pytest.mark.parametrize(
    "wish",
    [
        command("ensure_fields", key=A, duedate=None),
        command("ensure_status", key=A, target="Готово"),
        command("ensure_sprint", key=A, sprint="backlog"),
        command("ensure_comment", key=A, marker="plan:1", body="x"),
        command("ensure_link", source=A, target=B, link_type="связанные"),
    ],
)
def test_what_the_mirror_never_read_it_cannot_tell_and_what_is_gone_will_fail(wish: AnyCommand) -> None:
    assert planned(wish, Known()).mark == "?"
    gone = planned(wish, Known(missing=frozenset({A})))
    assert gone.mark == "!"
    assert gone.why is not None
    assert A in gone.why.en


def test_a_link_to_an_issue_that_is_gone_will_fail() -> None:
    wish = command("ensure_link", source=A, target=B, link_type="связанные")
    assert planned(wish, Known(issues={A: issue()}, missing=frozenset({B}))).mark == "!"


def test_an_issue_that_moved_is_compared_under_its_new_key() -> None:
    moved = issue("OTHER-9", duedate="2026-10-23")
    mirror = Known(issues={A: moved, "OTHER-9": moved}, moved={A: "OTHER-9"})
    entry = planned(command("ensure_fields", key=A, duedate="2026-10-24"), mirror)
    assert told(entry) == [("duedate", "2026-10-23", "2026-10-24")]
    assert entry.why is not None
    assert "OTHER-9" in entry.why.en


def test_a_creation_shows_an_open_issue_that_is_like_it() -> None:
    wish = command("ensure_issue", temp_key="new:1", summary="Отчёт", labels=["a"])
    entry = planned(wish, Known(similar={"new:1": Similar(B, "отчёт", "Открыто")}))
    assert (entry.mark, entry.writes) == ("+", 1)
    assert entry.similar is not None
    assert told(entry) == [("summary", None, "Отчёт"), ("labels", None, ["a"])]


def test_commands_on_a_created_issue_are_compared_with_what_it_will_be() -> None:
    entries = plan_entries(
        [
            command("ensure_issue", temp_key="new:1", summary="Отчёт", duedate="2026-10-23"),
            command("ensure_fields", key="new:1", duedate="2026-10-23"),
            command("ensure_fields", key="new:1", duedate="2026-10-24"),
            command("ensure_comment", key="new:1", marker="plan:1", body="x"),
            command("ensure_link", source="new:1", target=A, link_type="связанные"),
            command("ensure_link", source="new:1", target=A, link_type="связанные"),
        ],
        known(issue()),
    )
    assert [entry.mark for entry in entries] == ["+", "=", "~", "~", "~", "="]


def test_a_comment_on_an_issue_that_stands_is_beyond_the_mirror() -> None:
    entry = planned(command("ensure_comment", key=A, marker="plan:1", body="x"), known(issue()))
    assert (entry.mark, told(entry)) == ("?", [("comment", None, "plan:1\nx")])


def test_a_priority_that_no_issue_has_is_remarked_upon_where_another_is_much_like_it() -> None:
    mirror = known(issue(), priorities=frozenset({"Высокий", "Низкий"}))
    near = planned(command("ensure_fields", key=A, priority="Высокй"), mirror)
    assert near.mark == "~" and near.why is not None
    assert near.why.en == "no issue of the mirror has the priority «Высокй»; did you mean «Высокий»?"
    created = planned(command("ensure_issue", temp_key="new:1", summary="x", priority="Высокй"), mirror)
    assert created.mark == "+" and created.why == near.why
    for right in ("Высокий", "Blocker"):
        assert planned(command("ensure_fields", key=A, priority=right), mirror).why is None


STATUSES = frozenset({"Ожидание", "Разработка", "Готово"})


def test_a_path_of_statuses_is_walked_from_where_the_issue_stands() -> None:
    wish = command("ensure_status", key=A, target=["Разработка", "Готово"])
    entries = [planned(wish, known(issue(status=status), statuses=STATUSES)) for status in sorted(STATUSES)]
    assert [(entry.mark, entry.writes) for entry in entries] == [("=", 0), ("~", 2), ("~", 1)]
    assert told(entries[1]) == [("status", "Ожидание", "Разработка"), ("status", "Разработка", "Готово")]


def test_a_status_that_no_issue_stands_in_has_no_transition_and_the_nearest_is_named() -> None:
    wish = command("ensure_status", key=A, target="Готова")
    entry = planned(wish, known(issue(status="Ожидание"), statuses=STATUSES))
    assert entry.mark == "!"
    assert entry.why is not None
    assert "«Готово»" in entry.why.en
    few = planned(wish, known(issue(status="Ожидание"), statuses=frozenset({"Ожидание"})))
    assert few.mark == "~"  # a mirror that has seen next to nothing accuses nobody


def between(link_type: str, source: str = A, target: str = B, **more: Any) -> IssueLink:
    return IssueLink(source=source, target=target, link_type=link_type, **more)


@pytest.mark.parametrize(
    ("links", "replace", "mark", "writes"),
    [
        ([], False, "~", 1),
        ([between("связанные")], False, "=", 0),
        ([between("связанные", B, A)], False, "!", 0),
        ([between("связанные", B, A, symmetric=True)], False, "=", 0),
        ([between("блокирует")], False, "!", 0),
        ([between("блокирует")], True, "~", 2),
        ([between("блокирует"), between("связанные")], True, "~", 1),
        ([between("Clones", managed=False)], False, "~", 1),
    ],
)
def test_a_link_is_planned_as_the_agent_will_make_it(
    links: list[IssueLink], *, replace: bool, mark: str, writes: int
) -> None:
    wish = command("ensure_link", source=A, target=B, link_type="связанные", replace=replace)
    entry = planned(wish, known(issue(links=tuple(links)), issue(B, links=tuple(links))))
    assert (entry.mark, entry.writes) == (mark, writes)
    if mark == "!":
        assert entry.why is not None
        assert links[0].link_type in entry.why.ru


@pytest.mark.parametrize(
    ("sprint", "mark", "words"),
    [
        ("Спринт 1", "=", ""),
        ("Спринт 2", "~", ""),
        ("backlog", "~", ""),
        ({"id": 7}, "~", ""),
        ("Двойник", "!", '{"id": 8}'),
        ("Спринт 22", "~", "«Спринт 2»"),
    ],
)
def test_a_sprint_is_planned_by_the_names_the_mirror_shows(sprint: Any, mark: str, words: str) -> None:
    sprints = {"Спринт 1": (6,), "Спринт 2": (7,), "Двойник": (8, 9)}
    entry = planned(
        command("ensure_sprint", key=A, sprint=sprint), known(issue(sprint="Спринт 1", sprint_id=6), sprints=sprints)
    )
    assert (entry.mark, words in (entry.why.en if entry.why else "")) == (mark, True)


def test_reads_and_time_are_counted() -> None:
    wishes = [
        command("ensure_link", source=A, target=B, link_type="связанные", replace=True),
        command("ensure_sprint", key=A, sprint="backlog"),
        command("refresh", keys=[f"AURORA-{number}" for number in range(1, 251)]),
    ]
    entries = plan_entries(wishes, known(issue(links=(between("блокирует"),)), issue(B)))
    assert [entry.reads for entry in entries] == [1, 2, 3]
    assert plan_seconds(DEFAULT_GAPS, wishes, entries) == 30 + 30 + 2 + 30  # the last between DELETE and POST


def digest(wishes: list[AnyCommand], mirror: Known) -> str:
    return digest_of(wishes, plan_entries(wishes, mirror), mirror)


def test_the_digest_follows_the_batch_and_the_mirror_and_nothing_else() -> None:
    wish = [command("ensure_fields", key=A, duedate="2026-10-23")]
    first = digest(wish, known(issue(updated="t1")))
    assert digest(wish, known(issue(updated="t2"))) == first
    others = [
        digest([command("ensure_fields", key=A, duedate="2026-10-24")], known(issue())),
        digest(wish, known(issue(priority="High"))),
        digest(wish, known(issue(links=(between("связанные"),)))),
        digest(wish, Known(missing=frozenset({A}))),
        digest(wish, Known()),
    ]
    assert len({first, *others}) == 1 + len(others)


FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "summary": st.sampled_from(["a", "b"]),
        "description": st.sampled_from([None, "x", "y \r\n"]),
        "priority": st.sampled_from(["High", "Low"]),
        "duedate": st.sampled_from([None, "2026-10-23", "2026-10-24"]),
        "labels_add": st.lists(st.sampled_from(["a", "b"]), max_size=2),
        "labels_remove": st.lists(st.sampled_from(["c", "d"]), max_size=2),
    },
).filter(bool)
WISHES = st.one_of(
    FIELDS.map(lambda params: command("ensure_fields", key=A, **params)),
    st.sampled_from(sorted(STATUSES)).map(lambda name: command("ensure_status", key=A, target=name)),
    st.sampled_from(["backlog", "Спринт 1"]).map(lambda name: command("ensure_sprint", key=A, sprint=name)),
    st.tuples(st.sampled_from(["связанные", "блокирует"]), st.permutations([A, B])).map(
        lambda pair: command("ensure_link", source=pair[1][0], target=pair[1][1], link_type=pair[0], replace=True)
    ),
)


@given(WISHES, st.lists(WISHES, max_size=3))
def test_what_a_plan_would_have_done_needs_nothing_more(wish: AnyCommand, before: list[AnyCommand]) -> None:
    """The law of every difference: once a wish was followed, wishing it again changes nothing."""
    mirror = known(issue(summary="a", status="Ожидание"), issue(B), statuses=STATUSES)
    *_, again = plan_entries([*before, wish, wish], mirror)
    assert again.mark == "="
