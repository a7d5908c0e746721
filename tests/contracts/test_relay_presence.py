"""A side that finds files its memory knows nothing of looks first whether somebody is at work: it asks no clock."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from relay import AlreadyRunning
from relay.profile import Profile
from tests.contracts.relay_by_hand import Hands


@pytest.fixture
def hands(tmp_path: Path) -> Iterator[Hands]:
    made = Hands(tmp_path, Profile())
    made.run(5.0)
    yield made
    made.kill(made.client)


def elsewhere(hands: Hands) -> None:
    """Another machine: a memory of its own, and a clock that is wrong."""
    hands._root = hands._root / "another machine"
    hands._root.mkdir()
    hands.clock.behind = 3_600.0


def test_who_begins_while_another_is_at_work_is_refused_before_he_has_said_a_word(hands: Hands) -> None:
    first, runner, epoch = hands.server, hands.runner, hands.server.status().epoch
    elsewhere(hands)
    hands.begin_server()
    second, hands.server = hands.server, first
    hands.ask("r-1")
    with pytest.raises(AlreadyRunning, match=rf"hub side .* since 2026-.*epoch {epoch}.* at work: stop it first"):
        for _ in range(100):
            hands.run(0.1)
            second.step()
    assert {name[:12] for name in hands.files("agent")} == {epoch}
    assert list(runner.running) == ["r-1"]
    assert first.status().share == "ok"
    hands.kill(first)


def test_what_a_dead_machine_has_left_hinders_nobody_for_long(hands: Hands) -> None:
    hands.ask("r-1")
    hands.run(0.5)
    hands.kill(hands.server)
    elsewhere(hands)
    began = hands.clock.now
    hands.begin_server()
    while hands.server.status().epoch is None:
        assert {name[:12] for name in hands.files("agent")} == {"000000000001"}, "it says nothing meanwhile"
        hands.run(0.25)
    assert hands.clock.now - began <= Profile().presence_seconds + 1.0
    call = hands.ask("r-2")
    hands.run(1.0)
    hands.runner.answer("r-2", b"x")
    hands.run(1.0)
    assert call.waiter.reply is not None
    hands.kill(hands.server)


def test_who_begins_again_with_his_own_memory_waits_for_nothing(hands: Hands) -> None:
    for _ in range(20):
        hands.restart_server()
        assert hands.server.status().epoch is not None
        hands.run(0.1)
    hands.kill(hands.server)


def test_files_that_nobody_of_this_side_has_written_are_no_reason_to_wait(hands: Hands) -> None:
    hands.kill(hands.server)
    hands.files("agent").clear()
    hands.share.appear("agent", "0123456789ab-00000001-00.json", b"anybody may put it here")
    elsewhere(hands)
    hands.begin_server()
    assert hands.server.status().epoch is not None
    hands.kill(hands.server)
