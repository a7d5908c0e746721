"""Round trips counted: an average that follows, a histogram that keeps every one."""

from hypothesis import given
from hypothesis import strategies as st

from relay.trips import LIMITS, RoundTrips


@given(st.lists(st.floats(min_value=0, max_value=1_000, allow_nan=False), max_size=50))
def test_every_trip_is_in_the_one_bucket_whose_limit_it_does_not_pass(seconds: list[float]) -> None:
    trips = RoundTrips()
    for each in seconds:
        trips.note(each)
    told = trips.as_dict()
    assert told["limits"] == sorted(LIMITS)
    for number, limit in enumerate(LIMITS):
        assert sum(told["counts"][: number + 1]) == sum(each <= limit for each in seconds)
    assert sum(told["counts"]) == len(seconds)
    assert abs(told["seconds"] - sum(seconds)) < 1e-5


def test_the_average_follows_slowly_and_stays_within_what_was_seen() -> None:
    trips = RoundTrips()
    for _ in range(100):
        trips.note(1.0)
    assert 0.9 < trips.average <= 1.0
    trips.note(9.0)
    assert trips.average < 2.5
