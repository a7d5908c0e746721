"""docs/relay.md keeps up with the code: every error, command, fault and counter stands in it."""

import inspect
from pathlib import Path

import pytest
from typer.main import get_command

import relay.errors
from relay import Reply, Server
from relay.cli import app
from relay.testing import FAULT_KINDS, HABITS, MemoryShare

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "relay.md").read_text(encoding="utf-8")


def test_every_error_a_caller_may_get_is_explained() -> None:
    errors = [
        name
        for name, each in inspect.getmembers(relay.errors, inspect.isclass)
        if issubclass(each, relay.errors.RelayError) and each is not relay.errors.RelayError
    ]
    assert len(errors) > 10
    assert [name for name in errors if f"`{name}`" not in TEXT] == []


@pytest.mark.parametrize("name", sorted(get_command(app).commands))  # type: ignore[attr-defined]  # a group has commands
def test_every_command_is_listed_with_an_example(name: str) -> None:
    assert f"| `folder-relay {name}` |" in TEXT


def test_every_fault_and_kind_of_share_of_the_testing_kit_is_named() -> None:
    assert [kind for kind in (*FAULT_KINDS, *HABITS) if kind not in TEXT] == []


def test_every_counter_that_tells_of_trouble_is_named(tmp_path: Path) -> None:
    with Server(MemoryShare().view("hub"), lambda _: Reply(), state_dir=tmp_path) as server:
        counters = server.status().counters
    named = {"published", "acknowledged", "executed", "answered", "repeated", "doubled", "resurrected", "foreign"}
    named |= {"unfit", "unwhole", "quarantined", "malformed", "downgraded", "keyed", "jumps"}
    assert named <= counters.keys()
    assert [name for name in named if f"`{name}`" not in TEXT] == []
