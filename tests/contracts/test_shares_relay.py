"""The relay's own contract suites once more, the agent's side behind real mounts: uncached sshfs, bindfs, faultfs."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from relay import Client, Profile, Server, create_link
from relay.clock import SystemClock
from relay.folder import LocalFolder
from tests.contracts import test_relay_exchange, test_relay_folder
from tests.contracts.shares.mounts import Mount, mounted
from tests.contracts.shares.traffic import FULL

# sshfs with its cache shows a new file after 20 s: it has its own test among the installation tests.
KINDS = ("sshfs-uncached", "bindfs", "faultfs") if FULL else ("bindfs",)


def suite(module: ModuleType, *fixtures: str) -> dict[str, Callable[..., None]]:
    """The tests of `module` that take any of these fixtures, to be collected here, where the fixtures differ."""
    return {
        name: test
        for name, test in vars(module).items()
        if name.startswith("test_") and set(fixtures) & set(inspect.signature(test).parameters)
    }


globals().update(suite(test_relay_folder, "share"))
globals().update(suite(test_relay_exchange, "views", "server_of", "client_of"))
# As the suites' own, but with the real patience: an operation on a busy sshfs may well take a third of a second.
PROFILE = Profile(resend_seconds=0.2, retry_seconds=0.05)


@contextmanager
def mounted_link(kind: str, tmp_path: Path) -> Iterator[tuple[Path, Mount]]:
    """The backing folder with the link `main` in it, and a mount of it."""
    backing = tmp_path / "backing"
    backing.mkdir()
    create_link(backing / "main", "main")
    with mounted(kind, backing, tmp_path / "point") as mount:
        yield backing, mount


@pytest.fixture(params=KINDS)
def share(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[test_relay_folder.Share]:
    with mounted_link(request.param, tmp_path) as (backing, mount):
        clock = SystemClock()
        hub = LocalFolder(backing / "main", "hub", clock)
        agent = LocalFolder(mount.point / "main", "agent", clock)

        def lose() -> None:
            # For the hub an empty folder, for the agent what a dead mount leaves.
            (backing / "main").rename(backing / "away")
            (backing / "main").mkdir()
            mount.unmount()

        def find() -> None:
            (backing / "main").rmdir()
            (backing / "away").rename(backing / "main")
            mount.mount()

        swap, litter = test_relay_folder.swap_of(backing / "main"), test_relay_folder.litter_of(backing / "main")
        yield test_relay_folder.Share(hub, agent, lose, find, swap, litter)


@pytest.fixture(params=KINDS)
def views(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, Any]]:
    with mounted_link(request.param, tmp_path) as (backing, mount):
        yield {"hub": backing / "main", "agent": mount.point / "main"}


@pytest.fixture
def server_of(views: dict[str, Any], tmp_path: Path) -> Callable[..., Server]:
    return lambda handler, **more: Server(views["hub"], handler, state_dir=tmp_path / "s", profile=PROFILE, **more)


@pytest.fixture
def client_of(views: dict[str, Any], tmp_path: Path) -> Callable[..., Client]:
    return lambda **more: Client(views["agent"], state_dir=tmp_path / "c", profile=PROFILE, **more)
