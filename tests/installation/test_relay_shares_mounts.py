"""Two real processes over real mounts: sshfs as it comes and uncached, bindfs; the mount goes and comes in the middle.

The agent sees the share through the mount, the hub is the machine it is exported from.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.contracts.shares.mounts import Mount, SshfsMount, is_mounted, mounted, wait_until
from tests.contracts.shares.traffic import FULL, Traffic, files_below, lay_decoy, make_links, traffic

COUNT = 500 if FULL else 40
# sshfs lists anew after 20 s only: all ask at once, and nothing large, so that few listings do.
ORDERS = {"sshfs": {"callers": COUNT, "large_every": 0}}
KINDS = ("sshfs", "sshfs-uncached", "bindfs") if FULL else ("sshfs-uncached", "bindfs")
SECONDS = 200.0


@contextmanager
def share_of(kind: str, tmp_path: Path) -> Iterator[tuple[Mount, Traffic]]:
    """Hub and agent at work at one share, the agent behind a mount of `kind`; judged at the end."""
    backing = tmp_path / "backing"
    backing.mkdir()
    make_links(backing)
    if kind != "bindfs":  # which may be built for FUSE 2, and that refuses to mount over anything
        lay_decoy(tmp_path / "point")
    orders = {"count": COUNT, "callers": 8, "large_every": 50, "gap": 0.01} | ORDERS.get(kind, {})
    with (
        mounted(kind, backing, tmp_path / "point") as mount,
        traffic(tmp_path / "home", {"hub": backing, "agent": mount.point}, **orders) as run,
    ):
        yield mount, run


@pytest.mark.parametrize("kind", KINDS)
def test_every_request_is_answered_once_though_the_share_is_unmounted_in_the_middle(kind: str, tmp_path: Path) -> None:
    with share_of(kind, tmp_path) as (mount, run):
        run.wait_for(COUNT // 2, SECONDS)
        mount.unmount()
        run.wait_for_word("agent", "lost")
        time.sleep(1.0)
        assert files_below(mount.point) == []  # nothing was written under the dead mount point
        mount.mount()
        run.wait_for_all(SECONDS)
        run.wait_for_word("agent", "ok")
        assert run.executions("hub") == run.executions("agent") == COUNT


@pytest.mark.skipif(not FULL, reason="each look takes sshfs 20 s")
def test_sshfs_as_it_comes_answers_every_request_once_though_it_lists_anew_after_20_s_only(tmp_path: Path) -> None:
    with share_of("sshfs", tmp_path) as (_, run):
        run.wait_for_all(SECONDS)
        assert run.executions("hub") == run.executions("agent") == COUNT


def test_every_request_is_answered_once_though_both_processes_are_killed_and_restarted(tmp_path: Path) -> None:
    with share_of("sshfs-uncached", tmp_path) as (_, run):
        for part, side in enumerate(("hub", "agent", "hub", "agent"), 1):
            run.wait_for(part * COUNT // 3, SECONDS)
            run.kill_and_restart(side)
        run.wait_for_all(SECONDS)


def test_a_lost_ssh_session_that_leaves_the_plain_folder_loses_nothing(tmp_path: Path) -> None:
    with share_of("sshfs-uncached", tmp_path) as (mount, run):
        run.wait_for(COUNT // 2, SECONDS)
        assert isinstance(mount, SshfsMount)
        mount.lose_session()
        wait_until(lambda: not is_mounted(mount.point), "the end of the mount")
        run.wait_for_word("agent", "lost")
        assert files_below(mount.point) == []
        mount.unmount()
        mount.mount()
        run.wait_for_all(SECONDS)


def test_the_reply_to_an_old_request_is_the_same_from_every_later_process(tmp_path: Path) -> None:
    with share_of("bindfs", tmp_path) as (_, run):
        run.wait_for_all(SECONDS)
        before = run.answers("agent")
        run.kill_and_restart("hub")
        run.ask_all_again("agent")
        run.wait_for_all(SECONDS)
        assert run.answers("agent") == before
        assert run.executions("agent") == COUNT
