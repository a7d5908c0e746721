"""Gaps by type and the estimate of a sequence."""

from typing import Any

import pytest

from hub.pacing import MAX_GAP, estimate_seconds, gap_of, policy_faults
from protocol.commands import COMMAND_TYPES, DEFAULT_GAPS


def test_a_type_the_policy_does_not_name_keeps_the_default() -> None:
    assert {name: gap_of({"ensure_link": 7}, name) for name in COMMAND_TYPES} == {**DEFAULT_GAPS, "ensure_link": 7}


def test_the_estimate_is_the_sum_of_the_gaps_of_the_sequence() -> None:
    types = ["ensure_fields"] * 3 + ["ensure_comment"] * 2 + ["refresh"]
    assert estimate_seconds({}, types) == 3 * 120 + 2 * 30 + 2  # type: ignore[arg-type]  # a list of texts to mypy


@pytest.mark.parametrize("gap", [-1, MAX_GAP + 1, "30", None, True, float("nan"), float("inf")])
def test_a_gap_that_is_no_number_of_seconds_within_a_day_is_refused(gap: Any) -> None:
    assert [fault.field for fault in policy_faults({"refresh": gap})] == ["pacing.refresh"]


def test_all_faults_of_a_policy_come_together_and_good_ones_pass() -> None:
    faults = policy_faults({"ensure_isue": 1, "refresh": -2, "ensure_link": 0, "ensure_sprint": 1.5})
    assert [fault.field for fault in faults] == ["pacing.ensure_isue", "pacing.refresh"]
