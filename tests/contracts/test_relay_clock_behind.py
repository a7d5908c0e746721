"""A side without its memory, on a machine whose clock is behind an earlier life of it, is heard all the same."""

from pathlib import Path

import pytest

from relay.frames import Side
from tests.contracts.relay_by_hand import Hands

YEAR = 365 * 86_400.0


def forgets(hands: Hands, side: Side, seconds: float) -> None:
    """The machine is set up anew, and its clock is behind by so much."""
    hands.kill(hands.client if side == "agent" else hands.server)
    hands._root = hands._root / "anew"
    hands._root.mkdir(exist_ok=True)
    hands.clock.behind = seconds
    if side == "agent":
        hands.begin_client()
    else:
        hands.begin_server()


def answered(hands: Hands, request_id: str) -> bool:
    call = hands.ask(request_id)
    hands.run(1.0)
    if request_id not in hands.runner.running:
        return False
    hands.runner.answer(request_id, b"x")
    hands.run(1.0)
    return call.waiter.reply is not None


@pytest.mark.parametrize("seconds", [1.0, YEAR])
@pytest.mark.parametrize("side", ["agent", "hub"])
def test_who_comes_back_with_a_clock_that_is_behind_is_heard(tmp_path: Path, side: Side, seconds: float) -> None:
    hands = Hands(tmp_path)
    assert answered(hands, "r-1")
    forgets(hands, side, seconds)
    assert answered(hands, "r-2")
    status = (hands.client if side == "agent" else hands.server).status()
    assert status.life is not None and status.life > 1_790_000_000


def test_both_may_come_back_so(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    assert answered(hands, "r-1")
    forgets(hands, "hub", YEAR)
    forgets(hands, "agent", YEAR)
    hands.run(31.0)
    assert answered(hands, "r-2")


def test_the_next_life_begins_above_what_was_learnt(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    assert answered(hands, "r-1")
    forgets(hands, "agent", YEAR)
    hands.run(1.0)
    life = hands.client.status().life
    hands.restart_client()
    assert hands.client.status().life == (life or 0) + 1
    assert answered(hands, "r-2")
