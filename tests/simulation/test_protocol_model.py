"""The model of the protocol: with every fix nothing breaks, without its fix each hole of the seeds is found again."""

import itertools

import pytest

from tests.promised import Covered
from tests.simulation.model import FIXES, HOLES, Search

EVERYTHING = {"crash": 1, "slow": 1, "timeout": 1, "cancel": 1, "retry": 1, "lose": 1}
ONCE = {*EVERYTHING, "lag", "hub crash", "resurrect"}
LIMIT = 100_000  # states of one search; it ends far below

pytestmark = pytest.mark.part("T1")


@pytest.mark.parametrize("hole", sorted(HOLES))
def test_with_every_fix_nothing_breaks(hole: str, covered: Covered) -> None:
    faults, commands, _ = HOLES[hole]
    broken, trace, states = Search(faults, commands=commands).run()
    assert broken == "", trace
    assert states < 400_000
    covered("T1", 1)


@pytest.mark.parametrize("hole", sorted(HOLES))
def test_without_its_fix_a_hole_is_found_again(hole: str, covered: Covered) -> None:
    faults, commands, fix = HOLES[hole]
    broken, trace, _ = Search(faults, FIXES - {fix}, commands).run()
    assert broken, f"the search finds nothing without {fix}"
    assert trace
    covered("T1", 1)


@pytest.mark.parametrize("faults", list(itertools.combinations(sorted(ONCE), 3)), ids=", ".join)
def test_any_three_faults_break_nothing(faults: tuple[str, ...], covered: Covered) -> None:
    broken, trace, states = Search(dict.fromkeys(faults, 1), commands=(0, 1), requests=8).run(LIMIT)
    assert broken == "", trace
    assert states < LIMIT
    covered("T1", 1)


def test_several_faults_at_once_break_nothing(covered: Covered) -> None:
    broken, trace, states = Search(EVERYTHING, requests=6).run(120_000)
    print(f"\n{states} states")
    assert broken == "", trace
    covered("T1", 1)
