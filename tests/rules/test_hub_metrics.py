"""Prometheus' text format."""

import pytest

from hub.metrics import Family, Sample, exposition, relay_families


def test_a_family_is_help_type_and_samples() -> None:
    family = Family("a_total", "counter", "Says\nmore.", [Sample(1, {"link": 'm"a\\i\nn'}), Sample(0.5, suffix="_sum")])
    assert exposition([family]).splitlines() == [
        "# HELP a_total Says\\nmore.",
        "# TYPE a_total counter",
        'a_total{link="m\\"a\\\\i\\nn"} 1',
        "a_total_sum 0.5",
    ]
    assert exposition([family]).endswith("\n")


def test_a_family_without_samples_is_left_out() -> None:
    assert exposition([Family("a", "gauge", "x", [])]) == ""


@pytest.mark.parametrize(("share", "value"), [("ok", 1), ("unmounted", 0)])
def test_the_relay_is_told_by_its_numbers(share: str, value: float) -> None:
    status = {"share": share, "in_flight": 3, "peer_online": True, "detail": "x", "counters": {"torn": 2}}
    told = exposition(relay_families({"main": status}))
    assert f'jira_hub_relay_share_ok{{link="main"}} {value}' in told
    assert 'jira_hub_relay_in_flight{link="main"} 3' in told
    assert 'jira_hub_relay_total{link="main",what="torn"} 2' in told
    assert "peer_online" not in told


def test_the_relays_of_several_links_are_samples_of_one_family_each() -> None:
    trips = {"limits": [0.1, 1.0], "counts": [2, 1, 1], "seconds": 3.5}
    status = {"share": "ok", "in_flight": 3, "counters": {}, "round_trips": trips}
    told = exposition(relay_families({"main": status, "second": status})).splitlines()
    assert (
        len([line for line in told if line.startswith("# TYPE")]) == len({line for line in told if line[0] == "#"}) / 2
    )
    assert 'jira_hub_relay_in_flight{link="second"} 3' in told
    assert [line for line in told if "round_trip" in line and 'link="main"' in line] == [
        'jira_hub_relay_round_trip_seconds_bucket{link="main",le="0.1"} 2',
        'jira_hub_relay_round_trip_seconds_bucket{link="main",le="1.0"} 3',
        'jira_hub_relay_round_trip_seconds_bucket{link="main",le="+Inf"} 4',
        'jira_hub_relay_round_trip_seconds_sum{link="main"} 3.5',
        'jira_hub_relay_round_trip_seconds_count{link="main"} 4',
    ]
