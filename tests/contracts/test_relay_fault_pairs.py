"""T6: each fault of a file at each message of either direction, alone and with each other: once asked, once done."""

import itertools
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from relay.frames import Side
from relay.profile import Profile
from relay.testing import FAULT_KINDS, Fault, FaultyShare, Habits
from relay.testing.habits import ON_LISTING, ON_PUBLISH, ON_READING
from tests.conftest import PROFILE
from tests.contracts.relay_by_hand import Call, CountedIds, HandClock, Hands
from tests.promised import Covered
from tests.simulation.swarm import world_folder

pytestmark = pytest.mark.part("T6")
SIDES: Final[tuple[Side, ...]] = ("hub", "agent")
MESSAGES: Final = 3  # of a direction: its greeting, then what the first and the second request bring about
SECONDS: Final = 20.0  # of what lasts; longer than a frame waits for its repetition
WITHIN_SECONDS: Final = 900.0
EVERY: Final = {"quick": 29}.get(PROFILE, 1)  # of the pairs


def struck(fault: Fault) -> tuple[Side, str, int]:
    """The operation that a fault meets; no two faults can meet the same one."""
    sorts = {"publishing": ON_PUBLISH, "listing": ON_LISTING, "reading": ON_READING}
    return fault.side, next(sort for sort, kinds in sorts.items() if fault.kind in kinds), fault.nth


FAULTS: Final = [
    Fault(kind, side, nth, -3_600.0 if kind == "clock_step" else SECONDS)
    for kind in FAULT_KINDS
    for side in SIDES
    for nth in range(MESSAGES)
]
# Each of the two may come first: the numbers of their messages say which does.
PAIRS: Final = [pair for pair in itertools.combinations(FAULTS, 2) if struck(pair[0]) != struck(pair[1])]


class FaultyHands(Hands):
    """Both sides of one link on a share with these faults; a request is answered as soon as it is started."""

    share: FaultyShare

    def __init__(self, root: Path, faults: tuple[Fault, ...]) -> None:
        self.time = HandClock()
        self.share = FaultyShare(Habits(), faults=faults, clock=self.time, pace=1.0, ids=CountedIds())
        self.clock = self.share.clock  # type: ignore[assignment]  # a clock all the same, whose wall a fault may set
        self.ids, self.profile = CountedIds(), Profile()
        self.started: Counter[str] = Counter()
        self._root = root
        self.begin_server()
        self.begin_client()

    def answered(self, call: Call) -> bytes:
        """Let both sides do what is due until the reply is there."""
        ends = self.time.now + WITHIN_SECONDS
        while call.waiter.reply is None:
            assert call.waiter.error is None
            assert self.time.now < ends, f"no reply to {call.request_id} in {WITHIN_SECONDS} s"
            for request_id in list(self.runner.running):
                self.started[request_id] += 1
                self.runner.answer(request_id, request_id.encode())
            wake = min(self.client.step(), self.server.step())
            self.time.now = max(self.time.now + 0.01, min(wake, self.time.now + 1.0))
        return call.waiter.reply.body

    def end(self) -> None:
        self.kill(self.client)
        self.kill(self.server)


def once_asked_once_done(faults: tuple[Fault, ...]) -> int:
    """How many of the faults struck; a fault may keep another one's message from ever being sent."""
    with world_folder() as folder:
        hands = FaultyHands(folder, faults)
        try:
            for request_id in ("1" * 32, "2" * 32):
                assert hands.answered(hands.ask(request_id)) == request_id.encode()
            assert hands.started == {"1" * 32: 1, "2" * 32: 1}
        finally:
            hands.end()
        return hands.share.struck.total()


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_a_fault_at_any_message_of_either_direction_costs_time_and_nothing_else(kind: str, covered: Covered) -> None:
    singles = [fault for fault in FAULTS if fault.kind == kind]
    for fault in singles:
        assert once_asked_once_done((fault,)) == 1, f"{fault} never struck"
    covered("T6", len(singles))


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_two_faults_at_any_two_messages_cost_time_and_nothing_else(kind: str, covered: Covered) -> None:
    pairs = [pair for pair in PAIRS if pair[0].kind == kind]
    for pair in pairs[::EVERY]:
        try:
            assert once_asked_once_done(pair) >= 1
        except Exception as error:
            error.add_note(str(pair))
            raise
    covered("T6", len(pairs[::EVERY]), of=len(pairs))
