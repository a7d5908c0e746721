"""The life of a command, every status with every cause."""

from itertools import product
from typing import get_args

import pytest

from hub.errors import IllegalMove
from hub.lifecycle import MOVES, Cause, after, allowed, diagram
from protocol.messages import TERMINAL, Status

STATUSES: tuple[Status, ...] = get_args(Status)
CAUSES: tuple[Cause, ...] = get_args(Cause)


@pytest.mark.parametrize(("status", "cause"), list(product(STATUSES, CAUSES)))
def test_every_status_with_every_cause_moves_by_the_table_or_is_a_mistake(status: Status, cause: Cause) -> None:
    target = next((move.target for move in MOVES if (move.source, move.cause) == (status, cause)), None)
    if target is None:
        with pytest.raises(IllegalMove):
            after(status, cause)
    else:
        assert after(status, cause) == target
        assert allowed(status, target)


def test_one_cause_leads_to_one_place() -> None:
    assert len({(move.source, move.cause) for move in MOVES}) == len(MOVES)


def test_nothing_leads_out_of_a_terminal_status() -> None:
    assert not [move for move in MOVES if move.source in TERMINAL]


def test_every_terminal_status_and_every_cause_can_be_reached() -> None:
    assert {move.target for move in MOVES} == {*TERMINAL, "claimed"}
    assert {move.cause for move in MOVES} == set(CAUSES)


def test_the_diagram_tells_every_move_and_the_end_of_the_road() -> None:
    lines = diagram().splitlines()
    assert len(lines) == len(MOVES) + 1
    for move, line in zip(MOVES, lines, strict=False):
        assert line.startswith(move.source)
        assert line.endswith(f"► {move.target}")
        assert move.says in line
    assert lines[-1] == "terminal: cancelled, confirmed_by_state, done, failed, skipped"
