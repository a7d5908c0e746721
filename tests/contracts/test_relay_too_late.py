"""A reply that comes when its caller has just gone is not lost: `resume`, which `RelayTimeout` promised, finds it."""

from pathlib import Path

import pytest

from relay.calls import Reply
from relay.client import Waiter
from relay.frames import Message, ReplyHead
from tests.contracts.relay_by_hand import Hands


@pytest.mark.parametrize("seconds_until_given_up", [0.2, 5.0])
def test_a_reply_that_crosses_the_withdrawal_is_there_for_whoever_resumes(
    tmp_path: Path, seconds_until_given_up: float
) -> None:
    hands = Hands(tmp_path)
    call = hands.ask("r-1")
    hands.run(seconds_until_given_up)
    hands.runner.answer("r-1", b"done")
    hands.server.step()  # the reply is in the folder
    assert call.waiter.abandon()
    hands.give_up(call)
    hands.run(3.0)
    assert call.waiter.reply is None
    resumed = hands.resume("r-1")
    hands.run(1.0)
    assert resumed.waiter.error is None
    assert resumed.waiter.reply is not None
    assert resumed.waiter.reply.body == b"done"


def test_a_reply_taken_in_between_the_timeout_and_the_withdrawal_is_kept_over_a_restart(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    call = hands.ask("r-1")
    hands.run(1.0)
    assert call.waiter.abandon(), "the caller has gone, and its driver does not know yet"
    hands.runner.answer("r-1", b"done")
    hands.run(3.0)
    hands.give_up(call)
    hands.run(3.0)
    hands.restart_client()
    resumed = hands.resume("r-1")
    hands.run(1.0)
    assert resumed.waiter.reply is not None
    assert resumed.waiter.reply.body == b"done"


def test_either_the_caller_leaves_or_he_has_the_reply() -> None:
    reply = Message("reply", "r-1", ReplyHead(200, []), b"")
    left, stayed = Waiter(), Waiter()
    assert left.abandon()
    assert not left.finish(reply)
    assert left.reply is None
    assert stayed.finish(reply)
    assert not stayed.abandon()
    assert not stayed.finish(None, RuntimeError("too late"))
    assert (stayed.reply, stayed.error) == (reply, None)


@pytest.mark.parametrize("fails", [False, True])
def test_a_reply_nobody_waits_for_is_told_and_whoever_is_told_cannot_end_the_link(tmp_path: Path, fails: bool) -> None:
    hands = Hands(tmp_path)
    told: list[tuple[str, bytes]] = []

    def late(reply: Reply) -> None:
        told.append((reply.request_id, reply.body))
        if fails:
            raise RuntimeError("the program's own fault")

    hands.on_late = late
    call = hands.ask("r-1")
    hands.run(1.0)
    assert call.waiter.abandon()
    hands.runner.answer("r-1", b"done")
    hands.run(3.0)
    assert told == [("r-1", b"done")]
    again = hands.ask("r-2")
    hands.run(1.0)
    hands.runner.answer("r-2", b"next")
    hands.run(1.0)
    assert again.waiter.reply is not None
    assert told == [("r-1", b"done")]
