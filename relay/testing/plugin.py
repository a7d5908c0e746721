"""pytest fixtures for programs that use the relay: `pytest_plugins = ["relay.testing.plugin"]` in a conftest.py."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from relay.client import Client
from relay.running import Handler
from relay.server import Server
from relay.testing.faulty import FaultyShare
from relay.testing.memory import MemoryShare

Pair = Callable[..., tuple[Client, Server]]


@pytest.fixture
def relay_share() -> MemoryShare:
    """A calm share in memory."""
    return MemoryShare()


@pytest.fixture
def relay_pair(tmp_path: Path) -> Iterator[Pair]:
    """`relay_pair(handler, share=None)`: a client and a server on one share, closed after the test.

    With a `FaultyShare` both work by its clock and profile. Called again with the same share it is a restart of both.
    """
    with ExitStack() as closing:

        def pair(handler: Handler, share: MemoryShare | None = None) -> tuple[Client, Server]:
            closing.close()
            share = share or MemoryShare()
            clock, profile = (share.clock, share.profile) if isinstance(share, FaultyShare) else (None, None)
            server = Server(share.view("hub"), handler, state_dir=tmp_path / "relay-hub", clock=clock, profile=profile)
            client = Client(share.view("agent"), state_dir=tmp_path / "relay-agent", clock=clock, profile=profile)
            closing.callback(client.close)
            return client, closing.enter_context(server)

        yield pair
