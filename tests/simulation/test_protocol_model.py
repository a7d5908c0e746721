"""The model of the protocol: with every fix nothing breaks, without its fix each hole of the seeds is found again."""

import pytest

from tests.simulation.model import FIXES, HOLES, Search

EVERYTHING = {"crash": 1, "slow": 1, "timeout": 1, "cancel": 1, "retry": 1, "lose": 1}


@pytest.mark.parametrize("hole", sorted(HOLES))
def test_with_every_fix_nothing_breaks(hole: str) -> None:
    faults, commands, _ = HOLES[hole]
    broken, trace, states = Search(faults, commands=commands).run()
    assert broken == "", trace
    assert states < 400_000


@pytest.mark.parametrize("hole", sorted(HOLES))
def test_without_its_fix_a_hole_is_found_again(hole: str) -> None:
    faults, commands, fix = HOLES[hole]
    broken, trace, _ = Search(faults, FIXES - {fix}, commands).run()
    assert broken, f"the search finds nothing without {fix}"
    assert trace


def test_several_faults_at_once_break_nothing() -> None:
    broken, trace, states = Search(EVERYTHING, requests=6).run(120_000)
    print(f"\n{states} states")
    assert broken == "", trace
