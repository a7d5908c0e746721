"""What a claim hands out: redelivery first, three times at most, new work when it is ready."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from hub.picking import (
    MAX_DELIVERIES,
    Claimed,
    Definer,
    Deliver,
    GiveUp,
    Idle,
    Ready,
    Skip,
    Wait,
    next_delivery,
    readiness,
)
from protocol.messages import Status


def test_an_empty_queue_is_idle() -> None:
    assert next_delivery([], None) == Idle()


def test_a_new_command_goes_out_as_its_first_delivery() -> None:
    assert next_delivery([], 42) == Deliver(42, 1)


def test_what_is_claimed_goes_out_again_before_anything_new() -> None:
    assert next_delivery([Claimed(40, "2026-10-13T08:00:00", 1)], 41) == Deliver(40, 2)


def test_the_fourth_delivery_is_not_made() -> None:
    assert next_delivery([Claimed(41, "2026-10-13T08:00:00", MAX_DELIVERIES)], 42) == GiveUp(41)


def test_of_two_claimed_at_one_moment_the_lower_id_goes_first() -> None:
    at = "2026-10-13T08:00:00"
    assert next_delivery([Claimed(9, at, 1), Claimed(8, at, 2)], None) == Deliver(8, 3)


@given(
    st.lists(
        st.builds(Claimed, st.integers(1, 50), st.sampled_from(["a", "b", "c"]), st.integers(0, 5)),
        unique_by=lambda command: command.id,
    ),
    st.none() | st.integers(100, 110),
)
def test_nothing_new_goes_out_while_something_is_claimed_and_never_a_fourth_time(
    claimed: list[Claimed], queued: int | None
) -> None:
    answer = next_delivery(claimed, queued)
    if not claimed:
        assert answer == (Idle() if queued is None else Deliver(queued, 1))
        return
    oldest = sorted(claimed, key=lambda command: (command.claimed_at, command.id))[0]
    assert isinstance(answer, Deliver | GiveUp)
    assert answer.id == oldest.id
    assert isinstance(answer, GiveUp) == (oldest.deliveries >= MAX_DELIVERIES)
    if isinstance(answer, Deliver):
        assert answer.deliveries == oldest.deliveries + 1 <= MAX_DELIVERIES


ENDS: list[Definer | None] = [
    None,
    *(Definer(1, status, None) for status in ("queued", "claimed", "failed", "cancelled", "skipped")),
    Definer(1, "done", "AURORA-7"),
    # A cancelled creation whose late result is known is still a cancelled one (design decision 6).
    Definer(1, "cancelled", "AURORA-7"),
]


def test_readiness_of_every_pair_of_definers() -> None:
    lost: set[Status] = {"failed", "cancelled", "skipped"}
    for first, second in product(ENDS, ENDS):
        definers = {key: end for key, end in (("new:1", first), ("new:2", second)) if end is not None}
        answer = readiness(["new:1", "new:2"], definers)
        if any(end is None or end.status in lost for end in (first, second)):
            assert isinstance(answer, Skip)
        elif any(end is not None and end.key is None for end in (first, second)):
            assert isinstance(answer, Wait)
        else:
            assert answer == Ready({"new:1": "AURORA-7", "new:2": "AURORA-7"})


def test_a_command_without_temporary_keys_is_always_ready() -> None:
    assert readiness([], {}) == Ready({})
