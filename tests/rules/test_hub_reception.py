"""What a report does, over every status, type, word, key, result and echo."""

from itertools import product
from typing import get_args

import pytest

from hub.reception import Accept, KeepAside, KeepCreation, NotClaimed, Reported, Spoken, reception
from protocol.commands import COMMAND_TYPES
from protocol.messages import TERMINAL, Status

STATUSES: tuple[Status, ...] = get_args(Status)
WORDS: tuple[Status, ...] = ("done", "failed")


@pytest.mark.parametrize("status", STATUSES)
def test_every_report_to_every_command(status: Status) -> None:
    cases = product(COMMAND_TYPES, (False, True), WORDS, (None, "AURORA-7"), (None, 1, 2))
    for command_type, has_result, word, key, echo in cases:
        answer = reception(Reported(status, command_type, 2, has_result), Spoken(word, key, echo))
        late_creation = status == "cancelled" and command_type == "ensure_issue" and word == "done" and key is not None
        if status == "queued":
            assert answer == NotClaimed()
        elif status == "claimed":
            assert answer == (KeepAside() if word == "failed" and echo == 1 else Accept())
        else:
            assert status in TERMINAL
            assert answer == (KeepCreation() if late_creation and not has_result else KeepAside())
