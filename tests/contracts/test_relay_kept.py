"""How long a server keeps what it has answered: thirty days, longer where nobody has it yet, whatever clocks say."""

from pathlib import Path

from relay.beacon import beacon_bytes, beacon_from
from relay.frames import Message, ReplyHead, RequestHead
from relay.state import KEPT_NEWEST, KEPT_SECONDS, State
from tests.contracts.relay_by_hand import CountedIds, HandClock
from tests.rules.test_relay_link import LINK

BEACON = beacon_from(beacon_bytes(LINK, "main"))


def begun(folder: Path, clock: HandClock) -> State:
    state = State(folder, BEACON, "hub", "none", clock)
    state.begin_life(BEACON, "hub", CountedIds())
    return state


def answer(state: State, request_id: str, *, sent: bool) -> None:
    state.remember_delivery(Message("request", request_id, RequestHead("GET", "/", [])), 1)
    state.remember_reply(Message("reply", request_id, ReplyHead(200, [])), unsent=True)
    if sent:
        state.mark_sent([request_id])


def test_old_answers_go_where_the_other_side_has_them_and_many_came_since(tmp_path: Path) -> None:
    clock = HandClock()
    state = begun(tmp_path, clock)
    answer(state, "known", sent=True)
    answer(state, "unsent", sent=False)
    state.remember_delivery(Message("request", "running", RequestHead("GET", "/", [])), 1)
    state.remember_delivery(Message("request", "withdrawn", RequestHead("GET", "/", [])), 1)
    state.remember_stage("withdrawn", "withdrawn")
    clock.now += KEPT_SECONDS + 1
    for number in range(KEPT_NEWEST):
        answer(state, f"r-{number}", sent=True)
    state.close()
    state = begun(tmp_path, clock)
    kept = ["known", "unsent", "running", "withdrawn", "r-0", f"r-{KEPT_NEWEST - 1}"]
    assert [each for each in kept if state.known(each) is None] == ["known", "withdrawn"]
    assert state.unsent() == ["unsent"]
    state.close()


def test_a_clock_far_ahead_at_one_start_makes_nothing_run_twice(tmp_path: Path) -> None:
    clock = HandClock()
    state = begun(tmp_path, clock)
    answer(state, "recent", sent=True)
    state.close()
    clock.behind = -10 * 365 * 86_400.0
    state = begun(tmp_path, clock)
    known = state.known("recent")
    assert known is not None and known.stage == "answered"
    state.close()
