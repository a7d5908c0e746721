"""Each planted bug is found by a timeline or a random world; what finds none of them proves nothing by being green."""

import os

import pytest

from tests.promised import Covered
from tests.simulation.hunting import LIMIT_SECONDS, hunt
from tests.simulation.planted_bugs import names

PROFILE = os.environ.get("BRIDGE_PROFILE", "quick")
# A newcomer's run looks for a few; `make planted` and CI for all.
CHOSEN = names() if PROFILE != "quick" else ["the gap is forgotten over a restart", "answers are not stored"]


@pytest.mark.part("T12")
@pytest.mark.timeout(600)  # the sixty seconds are of the processor, which may be busy with others
@pytest.mark.parametrize("name", CHOSEN)
def test_a_planted_bug_is_found(name: str, covered: Covered) -> None:
    found = hunt(name)
    assert found.by
    covered("T12", int(found.seconds <= LIMIT_SECONDS))
