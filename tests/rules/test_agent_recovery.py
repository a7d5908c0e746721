"""What a started agent does first, by what its journal tells; and the names of a Jira, by what it lists."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.pacing import LastCall
from agent.records import (
    Answered,
    AnyRecord,
    Call,
    Claim,
    Claimed,
    Closed,
    Finished,
    Intent,
    Recovering,
    Reported,
    Session,
    Step,
    Stopped,
)
from agent.recovery import (
    AskHub,
    Close,
    Execute,
    GiveUp,
    LookUp,
    Memory,
    Resend,
    SendReport,
    StartClean,
    after_hub,
    condensed,
    first_thing,
    made_key,
    memory_of,
    remembered,
)
from agent.site import Learnt, SiteFault, Wanted, site_of
from agent.telling import first_said
from agent.writes import CREATION
from protocol.messages import TERMINAL, Delivery, Report

CREATE = Delivery(
    id=41,
    type="ensure_issue",
    params={"temp_key": "new:1", "summary": "Отчёт"},
    pause_seconds=120,
    identity="jh:a:41",
)
RETRY = CREATE.model_copy(update={"id": 90})
REMARK = Delivery(id=43, type="ensure_comment", params={"key": "AURORA-1", "marker": "plan:1"}, pause_seconds=30)
EDIT = Delivery(id=42, type="ensure_fields", params={"key": "AURORA-1"}, pause_seconds=120)
SESSION = Session(at=0, session="s")
CLAIM = Claim(at=0, request_id="c1")
CALL = Call(at=0, command_id=41, request="POST /issue", boot_id="b", monotonic=7)
ANSWERED = Answered(at=0, boot_id="b", monotonic=8, outcome="O3")
INTENT = Intent(at=0, command_id=41, write=CREATION, boot_id="b", monotonic=7)
STEP = Step(at=0, command_id=41, write=CREATION, outcome="done", created_key="AURORA-9")
DONE = Report(status="done", result={"key": "AURORA-9"})
FINISHED = Finished(at=0, command_id=41, request_id="f", report=DONE)
RECOVERING = Recovering(at=0, command_id=41)
STOPPED = Stopped(at=0)


def claimed(delivery: Delivery = CREATE) -> Claimed:
    return Claimed(at=0, request_id="c1", delivery=delivery)


TABLE: list[tuple[str, list[AnyRecord], object]] = [
    ("nothing ever happened", [], StartClean()),
    ("a claim without an answer", [SESSION, CLAIM], Resend("c1")),
    ("a command in hand", [CLAIM, claimed()], AskHub(CREATE)),
    ("killed in its second attempt", [CLAIM, claimed(), RECOVERING], AskHub(CREATE)),
    ("killed for the third time", [CLAIM, claimed(), RECOVERING, RECOVERING], GiveUp(CREATE)),
    ("stopped in order after two crashes", [CLAIM, claimed(), RECOVERING, RECOVERING, STOPPED], AskHub(CREATE)),
    ("killed again after an orderly stop", [CLAIM, claimed(), RECOVERING, STOPPED, RECOVERING], GiveUp(CREATE)),
    ("killed for the third time around a creation", [CLAIM, claimed(), RECOVERING, RECOVERING, INTENT],
     GiveUp(CREATE, look_up=True)),
    ("the same, and its key is known", [CLAIM, claimed(), RECOVERING, RECOVERING, INTENT, STEP], GiveUp(CREATE)),
    ("killed while looking it up", [CLAIM, claimed(), INTENT, *[RECOVERING] * 4], GiveUp(CREATE, look_up=True)),
    ("killed by looking it up", [CLAIM, claimed(), INTENT, *[RECOVERING] * 5], GiveUp(CREATE)),
    ("finished and not reported", [CLAIM, claimed(), CALL, FINISHED], SendReport(FINISHED)),
    ("finished, crashing while reporting", [claimed(), RECOVERING, RECOVERING, FINISHED], SendReport(FINISHED)),
    ("reported", [CLAIM, claimed(), FINISHED, Reported(at=0, command_id=41)], StartClean()),
    ("closed", [CLAIM, claimed(), Closed(at=0, command_id=41, why="cancelled")], StartClean()),
    ("the same id again", [claimed(), FINISHED, Reported(at=0, command_id=41), claimed()], AskHub(CREATE)),
]  # fmt: skip


@pytest.mark.parametrize(("what", "records", "expected"), TABLE, ids=[row[0] for row in TABLE])
def test_what_comes_first_after_a_start(what: str, records: list[AnyRecord], expected: object) -> None:
    assert first_thing(memory_of(records)) == expected


def test_the_first_thing_is_told_in_words_that_name_the_command() -> None:
    """No names of classes: a person reads them."""
    for what, records, first in TABLE:
        told = first_said(memory_of(records))
        assert type(first).__name__ not in told, what
        assert ("41" in told) == (not isinstance(first, StartClean | Resend)), (what, told)


def test_parameters_and_pause_are_those_of_today() -> None:
    today = CREATE.model_copy(update={"pause_seconds": 7.0, "delivery": 2})
    assert after_hub(memory_of([claimed()]), CREATE, today) == Execute(today)


@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_a_command_that_is_over_at_the_hub_is_closed_unless_it_may_have_created_something(status: str) -> None:
    today = CREATE.model_copy(update={"status": status})
    assert after_hub(memory_of([claimed()]), CREATE, today) == Close(f"the hub says {status}")
    tried = after_hub(memory_of([claimed(), INTENT]), CREATE, today)
    assert (tried == LookUp(CREATE)) == (status in ("cancelled", "failed"))


def test_a_command_the_hub_does_not_know_is_closed_as_an_orphan() -> None:
    found = after_hub(memory_of([claimed()]), CREATE, None)
    assert isinstance(found, Close)
    assert found.orphan


def test_a_write_without_a_step_is_unsettled_and_a_step_settles_it() -> None:
    memory = memory_of([claimed(), CALL, INTENT])
    assert memory.unsettled == INTENT
    memory = remembered(memory, STEP)
    assert memory.unsettled is None
    assert (memory.written, memory.created_key, memory.newest_own_key) == ((CREATION,), "AURORA-9", "AURORA-9")


def test_a_refused_write_is_settled_and_was_not_written() -> None:
    memory = memory_of([claimed(), INTENT, Step(at=0, command_id=41, write=CREATION, outcome="not done")])
    assert memory.unsettled is None
    assert memory.written == ()


NOT_DONE = Step(at=0, command_id=41, write=CREATION, outcome="not done")
REMARKED = Intent(at=0, command_id=43, write="POST /rest/api/2/issue/AURORA-1/comment", boot_id="b", monotonic=7)


@pytest.mark.parametrize(
    ("first", "unsettled", "key"),
    [
        ([INTENT], INTENT.model_copy(update={"command_id": 90}), None),
        ([INTENT, STEP], None, "AURORA-9"),
        ([INTENT, NOT_DONE], None, None),
        ([INTENT, NOT_DONE, INTENT], INTENT.model_copy(update={"command_id": 90}), None),
    ],
)
def test_what_a_command_created_or_may_have_created_is_recalled_by_its_retry(
    first: list[AnyRecord], unsettled: Intent | None, key: str | None
) -> None:
    over = Reported(at=0, command_id=41)
    before = memory_of([SESSION, claimed(), *first, over])
    for memory in (before, memory_of(condensed(before, at=1.0))):
        retry = remembered(memory, claimed(RETRY))
        assert (retry.unsettled, made_key(retry)) == (unsettled, key)
        assert retry.tried_to_create  # also where nothing came of it: that much is known, and an empty search is true
        other = remembered(memory, claimed(RETRY.model_copy(update={"identity": "jh:a:42"})))
        assert (other.unsettled, other.tried_to_create, made_key(other)) == (None, False, None)


def test_a_comment_is_recalled_by_its_issue_and_marker_alone() -> None:
    memory = memory_of([claimed(REMARK), REMARKED, Closed(at=0, command_id=43, why="x")])
    again = remembered(memory, claimed(REMARK.model_copy(update={"id": 91})))
    assert again.unsettled == REMARKED.model_copy(update={"command_id": 91})
    elsewhere = REMARK.model_copy(update={"params": {"key": "AURORA-1", "marker": "plan:2"}})
    assert remembered(memory, claimed(elsewhere)).unsettled is None


def test_calls_are_counted_for_the_command_in_hand_over_restarts() -> None:
    limited = Answered(at=0, boot_id="b", monotonic=8, outcome="O8")
    memory = memory_of(
        [claimed(), CALL, limited, RECOVERING, CALL, ANSWERED, Call(at=0, request="x", boot_id="b", monotonic=9)]
    )
    assert (memory.calls, memory.rate_limited) == (2, 1)
    assert memory_of([claimed(), CALL, claimed()]).calls == 0


def test_the_last_call_has_no_end_until_its_answer_is_noted() -> None:
    assert memory_of([CALL]).last_call == LastCall("b", 7, None)
    assert memory_of([CALL, ANSWERED]).last_call == LastCall("b", 8, 8)


def test_a_damaged_line_forgets_the_last_call() -> None:
    assert memory_of([CALL, ANSWERED, None]).last_call is None
    assert memory_of([CALL, None, CALL, ANSWERED]).last_call == LastCall("b", 8, 8)


OVER = [Reported(at=0, command_id=41), Closed(at=0, command_id=41, why="x")]
ANY = [SESSION, CLAIM, claimed(), claimed(EDIT), CALL, ANSWERED, INTENT, STEP, FINISHED, RECOVERING, STOPPED, *OVER]
RECORDS = st.lists(st.sampled_from(ANY), max_size=12)


@given(RECORDS)
def test_any_order_of_records_folds_and_the_condensed_ones_say_the_same_at_rest(records: list[AnyRecord]) -> None:
    memory = memory_of([*records, SESSION])
    first_thing(memory)
    if memory.delivery is None and memory.finished is None:
        again = memory_of(condensed(memory, at=1.0))
        essential = replace(memory, recoveries=0, stopped=False, unsettled=None, calls=0, rate_limited=0)
        # How often nothing was recovered, and calls of nobody, need not survive.
        assert _essence(again) == _essence(essential)


def _essence(memory: Memory) -> tuple[object, ...]:
    last = memory.last_call
    ends = last and (last.boot_id, last.ended)
    return (memory.session, memory.open_claim, memory.newest_own_key, memory.creations, ends)


# --- names

LEARNT = Learnt(
    myself={"name": "svc", "key": "JIRAUSER1"},
    fields=[
        {"id": "customfield_1", "name": "Эпик", "schema": {"custom": "com.pyxis.greenhopper.jira:gh-epic-link"}},
        {"id": "customfield_3", "name": "Спринт", "schema": {"custom": "com.pyxis.greenhopper.jira:gh-sprint"}},
        {"id": "customfield_4", "name": "Начало"},
        {"id": "customfield_5", "name": "Начало"},
    ],
    priorities=[{"id": "2", "name": "Высокий"}],
    issue_types=[{"id": "3", "name": "Задача"}],
    link_types=[{"id": "10", "name": "Blocks", "inward": "is blocked by", "outward": "blocks"}],
)


def test_fields_are_found_by_their_kind_whatever_they_are_called() -> None:
    site = site_of(Wanted("AURORA"), LEARNT)
    assert (site.epic_link_field, site.sprint_field, site.epic_name_field) == ("customfield_1", "customfield_3", None)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Wanted("A", link_types={"блокирует": ("is blocked by", "outward")}), "one direction; name the type: 'Blocks'"),
        (Wanted("A", link_types={"блокирует": ("Bloks", "outward")}), "Jira has Blocks"),
        (Wanted("A", issue_types={"task": ("Task",)}), "Jira has Задача"),
        (Wanted("A", priorities={"срочно": "Highest"}), "Jira has Высокий"),
        (Wanted("A", field_ids={"planned_start": "customfield_99"}), "Jira has no field"),
        (Wanted("A", field_ids={"planned_start": "Начало"}), "set the id of the right one"),
    ],
)  # fmt: skip
def test_a_name_that_does_not_fit_is_an_error_that_says_what_there_is(wanted: Wanted, said: str) -> None:
    with pytest.raises(SiteFault, match=said):
        site_of(wanted, LEARNT)


def test_own_names_for_priorities_come_first_and_jiras_stay_valid() -> None:
    site = site_of(Wanted("A", priorities={"срочно": "2"}), LEARNT)
    assert [site.priority(name) and site.priority(name).jira_id for name in ("срочно", "Высокий", "2")] == ["2"] * 3  # type: ignore[union-attr]
    assert site.priority("никакой") is None
