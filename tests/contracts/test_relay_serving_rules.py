"""Deliveries step by step: the last chance alone, counts over restarts of both sides, withdrawals and runs anew."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from relay.calls import DELIVERY_LIMIT
from relay.delivery import MAX_DELIVERIES, TRIAL_SECONDS
from relay.frames import ReplyHead
from relay.names import frame_name
from relay.sealing import sealed
from relay.server import MAX_HANDLERS
from tests.contracts.relay_by_hand import Call, Hands


@pytest.fixture
def hands(tmp_path: Path) -> Iterator[Hands]:
    made = Hands(tmp_path)
    made.run(0.5)
    yield made
    made.kill(made.client)
    made.kill(made.server)


def error_of(call: Call) -> str | None:
    assert call.waiter.reply is not None
    assert isinstance(call.waiter.reply.head, ReplyHead)
    return call.waiter.reply.head.error


def running(hands: Hands) -> list[str]:
    return sorted(hands.runner.running)


def test_the_last_chance_runs_alone_and_the_others_after_it(hands: Hands) -> None:
    hands.ask("suspect")
    hands.run(0.5)
    for _ in range(MAX_DELIVERIES - 1):
        assert running(hands) == ["suspect"]
        hands.restart_server()
        hands.run(0.5)
    hands.ask("innocent-1")
    hands.ask("innocent-2")
    hands.run(0.5)
    assert running(hands) == ["suspect"], "if it kills now, nobody else is suspected"
    hands.runner.answer("suspect", b"it was not me")
    hands.run(0.5)
    assert running(hands) == ["innocent-1", "innocent-2"]


def test_what_waits_for_the_last_chance_of_another_is_not_lost_when_that_one_kills(hands: Hands) -> None:
    killer = hands.ask("killer")
    hands.run(0.5)
    for _ in range(MAX_DELIVERIES - 1):
        hands.restart_server()
        hands.run(0.5)
    innocent, gone = hands.ask("innocent"), hands.ask("gone")
    hands.run(0.5)
    hands.give_up(gone)
    hands.run(0.5)  # taken, acknowledged and not started
    assert running(hands) == ["killer"]
    hands.restart_server()
    hands.run(1.0)
    assert error_of(killer) == DELIVERY_LIMIT
    assert running(hands) == ["innocent"], "it is not asked for again, and what was withdrawn is not started"
    hands.runner.answer("innocent", b"done")
    hands.run(0.5)
    assert error_of(innocent) is None


def test_more_than_run_at_once_outlive_their_server(hands: Hands) -> None:
    calls = [hands.ask(f"r-{number}") for number in range(MAX_HANDLERS + 20)]
    hands.run(0.5)
    assert len(running(hands)) == MAX_HANDLERS
    hands.restart_server()
    for _ in range(3):
        hands.run(0.5)
        for request_id in running(hands):
            hands.runner.answer(request_id, b"done")
    hands.run(1.0)
    assert [call.request_id for call in calls if call.waiter.reply is None] == []


def test_who_lives_through_the_last_chance_is_acquitted(hands: Hands) -> None:
    hands.ask("slow")
    for _ in range(MAX_DELIVERIES):
        hands.run(0.5)
        hands.restart_server()
        hands.server.step()
        if running(hands) == ["slow"]:
            continue
    # The third restart was its last delivery's end: given up.
    call = hands.resume("slow")
    hands.run(1.0)
    assert error_of(call) == DELIVERY_LIMIT

    patient = hands.ask("patient")
    for _ in range(MAX_DELIVERIES - 1):
        hands.run(0.5)
        hands.restart_server()
    hands.run(TRIAL_SECONDS + 0.5)
    other = hands.ask("other")
    hands.run(0.5)
    assert running(hands) == ["other", "patient"]
    for _ in range(MAX_DELIVERIES - 1):
        hands.restart_server()
        hands.run(0.5)
        assert "patient" in running(hands), "its count began anew"
    hands.runner.answer("patient", b"done")
    hands.run(TRIAL_SECONDS + 0.5)
    assert error_of(patient) is None
    if "other" in hands.runner.running:
        hands.runner.answer("other", b"done")
    hands.run(0.5)
    assert error_of(other) is None


def test_the_count_survives_restarts_of_both_sides(hands: Hands) -> None:
    hands.ask("killer")
    hands.run(0.5)
    for _ in range(MAX_DELIVERIES - 1):
        hands.restart_server()
        hands.restart_client()
        hands.run(0.5)
        hands.resume("killer")
        hands.run(0.5)
        assert running(hands) == ["killer"]
    hands.restart_client()
    hands.restart_server()
    call = hands.resume("killer")
    hands.run(1.0)
    assert error_of(call) == DELIVERY_LIMIT
    assert running(hands) == []
    again = hands.ask("killer")
    hands.run(1.0)
    assert error_of(again) == DELIVERY_LIMIT, "a verdict is an answer like any other"


def test_a_stop_in_good_order_does_not_count(hands: Hands) -> None:
    hands.ask("long")
    for _ in range(MAX_DELIVERIES + 2):
        hands.run(0.5)
        assert running(hands) == ["long"]
        hands.server._close()
        assert hands.server._state is not None
        hands.server._state.close()
        hands.begin_server()
    hands.run(0.5)
    assert running(hands) == ["long"]


def test_a_new_life_of_the_client_withdraws_what_the_last_one_waited_for(hands: Hands) -> None:
    hands.ask("forgotten")
    kept = hands.ask("kept")
    hands.run(0.5)
    hands.give_up(kept)  # written down, so that the next life can ask for it
    hands.run(0.5)
    hands.restart_client()
    hands.run(0.5)
    assert "forgotten" in hands.runner.interrupted
    hands.runner.answer("forgotten", b"to nobody")
    hands.run(0.5)
    assert hands.serving.counters()["withdrawn"] == 2
    assert hands.serving.counters()["answered"] == 0, "kept, and not sent"
    call = hands.resume("kept")
    hands.run(0.5)
    hands.runner.answer("kept", b"to you")
    hands.run(0.5)
    assert call.waiter.reply is not None
    assert call.waiter.reply.body == b"to you"


def test_a_withdrawn_request_that_stopped_runs_again_when_it_is_wanted_again(hands: Hands) -> None:
    first = hands.ask("r")
    hands.run(0.5)
    hands.give_up(first)
    hands.run(0.5)
    assert hands.runner.interrupted == ["r"]
    second = hands.resume("r")
    hands.run(0.5)
    hands.runner.stop_for_want_of_a_caller("r")  # it had not heard yet that somebody wants it again
    hands.run(0.5)
    assert running(hands) == ["r"]
    hands.runner.answer("r", b"at last")
    hands.run(0.5)
    assert second.waiter.reply is not None
    assert second.waiter.reply.body == b"at last"
    assert first.waiter.reply is None


def test_a_withdrawn_request_nobody_wants_leaves_no_trace_of_an_answer(hands: Hands) -> None:
    first = hands.ask("r")
    hands.run(0.5)
    hands.give_up(first)
    hands.run(0.5)
    hands.runner.stop_for_want_of_a_caller("r")
    hands.run(0.5)
    hands.restart_server()
    hands.run(0.5)
    assert running(hands) == []
    later = hands.resume("r")
    hands.run(0.5)
    assert running(hands) == ["r"]
    hands.runner.answer("r", b"now")
    hands.run(0.5)
    assert later.waiter.reply is not None


def test_a_senseless_frame_under_a_right_seal_holds_nobody_up(hands: Hands) -> None:
    hands.ask("before")
    hands.run(0.5)
    hands.runner.answer("before", b"1")
    hands.run(2.0)
    # The client's next frame, made by a release that nobody knows yet.
    link = hands.client._link
    assert link is not None
    name = f"{link.me.epoch}-{link._next_seq:08d}-00.json"
    strange = (
        f'{{"v":1,"link":"{link.me.link}","from":"agent","epoch":"{link.me.epoch}","life":{link.me.life},'
        f'"seq":{link._next_seq},"try":0,"low":1,"ack":null,"sent_at":1.0,"colour":"blue","messages":[]'
    )
    assert frame_name(name) is not None
    hands.share.appear("hub", name, sealed(strange.encode()))
    link._next_seq += 1
    hands.run(1.0)
    after = hands.ask("after")
    hands.run(0.5)
    hands.runner.answer("after", b"2")
    hands.run(0.5)
    assert after.waiter.reply is not None
    assert hands.server.status().counters["malformed"] == 1
