"""The exchange's decisions as tables: answering, asking, counting deliveries, looking again, the share's health."""

import math

import pytest

from relay.answering import (
    Drop,
    Interrupt,
    Known,
    Nothing,
    Repeat,
    Wait,
    on_answer,
    on_request,
    on_start_up,
    on_withdrawal,
)
from relay.asking import Asking
from relay.delivery import MAX_DELIVERIES, GiveUp, Run, next_delivery, on_trial
from relay.errors import ShareFault
from relay.health import ShareHealth
from relay.looking import Doubts, EventMeter, Lookout
from relay.profile import Profile

REQUESTS = [
    (None, Run(1)),
    (Known("answered", 1), Repeat()),
    (Known("running", 0, alive=True), Wait()),
    (Known("withdrawn", 0, alive=True), Wait()),
    (Known("withdrawn", 0), Run(1)),
    (Known("withdrawn", 2), Run(3)),
    (Known("withdrawn", 3), GiveUp()),
    (Known("running", 1), Run(2)),
]
WITHDRAWALS = [
    (None, Nothing()),
    (Known("answered", 1), Nothing()),
    (Known("withdrawn", 1), Nothing()),
    (Known("running", 1), Drop()),
    (Known("running", 1, alive=True), Interrupt()),
]
START_UPS = [
    (Known("running", 0), Run(1)),
    (Known("running", 2), Run(3)),
    (Known("running", 3), GiveUp()),
    (Known("withdrawn", 1), Nothing()),
]


@pytest.mark.parametrize(("known", "answer"), REQUESTS)
def test_what_a_request_leads_to(known: Known | None, answer: object) -> None:
    assert on_request(known) == answer


@pytest.mark.parametrize(("known", "answer"), WITHDRAWALS)
def test_what_a_withdrawal_leads_to(known: Known | None, answer: object) -> None:
    assert on_withdrawal(known) == answer


@pytest.mark.parametrize(("known", "answer"), START_UPS)
def test_what_becomes_of_interrupted_handlers(known: Known, answer: object) -> None:
    assert on_start_up(known) == answer


def test_an_answer_nobody_waits_for_is_not_sent() -> None:
    assert [on_answer(stage) for stage in ("running", "withdrawn")] == [True, False]


def test_a_handler_is_started_three_times_at_most() -> None:
    deliveries, starts = 0, 0
    while isinstance(step := next_delivery(deliveries), Run):
        deliveries, starts = step.deliveries, starts + 1
    assert starts == MAX_DELIVERIES == 3


def test_a_reply_reaches_everybody_who_waits_for_its_id_and_nobody_else() -> None:
    asking: Asking[str] = Asking()
    asking.ask("a", "first")
    asking.ask("a", "second")
    asking.ask("b", "third")
    assert asking.reply("c") == ()
    assert asking.reply("a") == ("first", "second")
    assert asking.reply("a") == ()
    assert (asking.late, len(asking), asking.all_waiting()) == (2, 1, ("third",))


def test_a_request_is_withdrawn_when_its_last_caller_gives_up() -> None:
    asking: Asking[str] = Asking()
    asking.ask("a", "first")
    asking.ask("a", "second")
    assert asking.give_up("a", "first") is False
    assert asking.waiting_for("a") == ("second",)
    assert asking.give_up("a", "second") is True
    assert asking.give_up("a", "second") is False


def test_the_scan_backs_off_while_nothing_comes_and_begins_anew_when_something_does() -> None:
    lookout = Lookout(Profile())
    gaps = []
    for _ in range(10):
        lookout.looked(0.0, 0.00001, arrivals=0, announced=False)
        gaps.append(round(lookout.due, 3))
    assert gaps == [0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.25, 0.25, 0.25]
    lookout.looked(0.0, 0.00001, arrivals=1, announced=False)
    assert lookout.due == 0.001


def test_who_was_just_active_looks_a_few_times_in_a_row_and_no_more_than_a_third_of_the_time() -> None:
    lookout = Lookout(Profile())
    lookout.active(0.0)
    gaps = []
    for _ in range(8):
        lookout.looked(0.0, 0.0001, arrivals=0, announced=False)
        gaps.append(round(lookout.due, 3))
    assert gaps == [0.001] * 6 + [0.002, 0.004]
    lookout.looked(0.0, 0.004, arrivals=1, announced=False)
    for _ in range(3):
        lookout.looked(0.0, 0.004, arrivals=0, announced=False)
    assert lookout.due == 0.008, "twice its cost"
    for _ in range(3):
        lookout.looked(0.0, 0.004, arrivals=0, announced=False)
    assert lookout.due == 0.08, "backing off: twenty times its cost"


def test_dear_listings_are_not_repeated_at_once_but_one_that_was_held_up_slows_nothing_down() -> None:
    lookout = Lookout(Profile())
    lookout.looked(0.0, 0.00001, arrivals=1, announced=False)
    lookout.looked(0.0, 0.1, arrivals=1, announced=False)
    assert lookout.due == 0.001
    for _ in range(2):
        lookout.looked(0.0, 0.1, arrivals=1, announced=False)
    assert lookout.due == 2.0


def test_where_events_come_first_the_scan_keeps_out_of_their_way() -> None:
    lookout = Lookout(Profile())
    for _ in range(30):
        lookout.looked(0.0, 0.0, arrivals=1, announced=True)
    assert lookout.due == 0.016
    lookout.active(5.0)
    assert lookout.due == 0.016, "what was due stays due"
    lookout.looked(5.0, 0.0, arrivals=0, announced=True)
    lookout.active(5.0)
    assert lookout.due == 5.016


def test_the_idle_scan_relaxes_only_where_events_have_proved_reliable() -> None:
    lookout = Lookout(Profile())
    for _ in range(30):
        lookout.looked(0.0, 0.0, arrivals=1, announced=True)
    for _ in range(20):
        lookout.looked(0.0, 0.0, arrivals=0, announced=False)
    assert lookout.due == Profile().scan_trusting_seconds
    for _ in range(3):
        lookout.looked(0.0, 0.0, arrivals=1, announced=False)
    for _ in range(20):
        lookout.looked(0.0, 0.0, arrivals=0, announced=False)
    assert lookout.due == Profile().scan_limit_seconds


def test_the_event_meter_forgets_the_distant_past() -> None:
    meter = EventMeter()
    for _ in range(1_000):
        meter.note(1, announced=True)
    assert meter.by_event <= 201 and meter.trusted
    for _ in range(30):
        meter.note(1, announced=False)
    assert not meter.trusted


def test_a_file_not_whole_yet_is_looked_at_with_growing_gaps_and_given_up_after_three_readings_and_30_seconds() -> None:
    doubts = Doubts()
    now, readings = 0.0, 0
    while not doubts.note("x", b"half", now):
        readings += 1
        assert not doubts.may_look("x", now)
        now = doubts.wake_at
        assert doubts.may_look("x", now)
    assert readings >= 3 and now >= 30.0
    assert doubts.wake_at == math.inf


def test_a_file_that_still_changes_is_waited_for_anew() -> None:
    doubts = Doubts()
    for now in range(0, 100, 10):
        assert not doubts.note("x", b"%d" % now, float(now))
    doubts.settle({"y"})
    assert len(doubts) == 0


def test_a_share_that_refuses_writes_is_read_on_and_tried_again() -> None:
    health = ShareHealth(0.5, 0.0)
    assert health.state == "lost"
    assert health.worked(1.0, on_write=False) == 1.0
    assert health.failed(ShareFault("full", "no space"), 2.0, on_write=True)
    assert not health.failed(ShareFault("full", "no space"), 2.1, on_write=True)
    assert (health.readable, health.may_write(2.5), health.may_write(2.6)) == (True, False, True)
    assert health.worked(3.0, on_write=False) == 0.0, "reading proves nothing about writing"
    assert health.worked(3.0, on_write=True) == 1.0
    assert health.failed(ShareFault("lost", "gone"), 4.0, on_write=True)
    assert (health.readable, health.may_write(9.0)) == (False, False)


def test_only_the_last_chance_is_a_trial() -> None:
    assert [on_trial(deliveries) for deliveries in (1, 2, 3)] == [False, False, True]
