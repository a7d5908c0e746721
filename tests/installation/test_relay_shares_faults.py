"""Two real processes, each behind a fault-injecting mount of its own: nothing lost, nothing doubled, no hand needed."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.contracts.shares.faults import Faults
from tests.contracts.shares.mounts import FaultMount, need, wait_until
from tests.contracts.shares.traffic import FULL, SIDES, Side, Traffic, files_below, lay_decoy, make_links, traffic

COUNT = 80 if FULL else 40
SECONDS = 120.0
OPERATIONS = ("create", "write", "fsync", "rename", "unlink", "readdir", "open", "read", "getattr", "flush")
# Name of the case: the faults, and the counters of which each has to show that the fault really struck.
CASES: dict[str, tuple[Faults, tuple[str, ...]]] = {
    "late and out of order": (Faults(delay=(0.05, 1.0)), ("delay",)),
    "late behind a negative cache": (Faults(delay=(0.05, 0.6), negative_seconds=1.5), ("delay",)),
    "cached listings": (Faults(listing_seconds=1.0), ("listing",)),
    "stale content, the beacon's too": (Faults(stale_seconds=1.5, spare=()), ()),
    "truncated reads": (Faults(short_rate=0.5, short_seconds=0.4), ("short",)),
    "truncated reads that stay so": (Faults(short_rate=0.5, short_seconds=0.2, stale_seconds=0.8), ("short", "stale")),
    "a fifth never arrives": (Faults(drop_rate=0.2), ("drop",)),
    "conflict copies": (Faults(double_rate=0.5), ("double",)),
    "deleted files come back": (Faults(resurrect_rate=0.5, resurrect_seconds=0.2), ("resurrect",)),
    "late renames": (Faults(late_rename_rate=0.5, late_rename_seconds=0.4), ("late_rename",)),
    "EIO": (Faults(errors=dict.fromkeys(OPERATIONS, ("EIO", 0.01))), ("error",)),
    "ENOSPC": (Faults(errors={"write": ("ENOSPC", 0.1), "fsync": ("ENOSPC", 0.1)}), ("error",)),
    "ESTALE": (Faults(errors=dict.fromkeys(OPERATIONS, ("ESTALE", 0.01))), ("error",)),
    "some files refuse to be opened": (
        Faults(unreadable={"*[05]-00.json": "EACCES", "*7-00.json": "EIO"}),
        ("unreadable",),
    ),
    "errors after the deed": (Faults(errors_after={"rename": ("EIO", 0.1), "unlink": ("EIO", 0.1)}), ("error_after",)),
    "O_EXCL without effect": (Faults(ignores_exclusive=True), ()),
    "renames with a gap": (Faults(rename="gap", rename_seconds=0.03), ("gap",)),
    "renames by copying": (Faults(rename="copy", rename_seconds=0.03), ("copy",)),
}
QUICK = ("late and out of order", "truncated reads that stay so", "a fifth never arrives", "EIO")
EVERYTHING = Faults(
    delay=(0.0, 0.3),
    negative_seconds=0.5,
    listing_seconds=0.3,
    stale_seconds=0.3,
    short_rate=0.1,
    short_seconds=0.8,
    drop_rate=0.05,
    double_rate=0.1,
    resurrect_rate=0.1,
    late_rename_rate=0.1,
    late_rename_seconds=0.3,
    rename="copy",
    rename_seconds=0.01,
    errors=dict.fromkeys(OPERATIONS, ("EIO", 0.002)) | {"write": ("ENOSPC", 0.01)},
    errors_after={"rename": ("EIO", 0.02)},
    ignores_exclusive=True,
)
Mounts = dict[Side, FaultMount]
patient = pytest.mark.skipif(not FULL, reason="waits until a hanging share is given up, several times over")


@contextmanager
def at_work(tmp_path: Path, **orders: Any) -> Iterator[tuple[Mounts, Traffic]]:
    """Hub and agent on a mount each of one backing folder; what they did is judged at the end."""
    need()
    backing = tmp_path / "backing"
    backing.mkdir()
    make_links(backing)
    for side in SIDES:
        lay_decoy(tmp_path / side)
    chosen = {"count": COUNT, "callers": 32, "large_every": 40} | orders
    with (
        FaultMount(backing, tmp_path / "hub") as hub,
        FaultMount(backing, tmp_path / "agent") as agent,
        traffic(tmp_path / "home", {"hub": hub.point, "agent": agent.point}, **chosen) as run,
    ):
        yield {"hub": hub, "agent": agent}, run


def inflict(mounts: Mounts, faults: Faults) -> None:
    for seed, side in enumerate(SIDES, 1):
        mounts[side].set(replace(faults, seed=seed))


@pytest.mark.parametrize("case", CASES if FULL else QUICK)
def test_every_request_is_answered_once_through(case: str, tmp_path: Path) -> None:
    faults, counters = CASES[case]
    with at_work(tmp_path) as (mounts, run):
        inflict(mounts, faults)
        run.wait_for_all(SECONDS)
        struck = [mounts[side].counts() for side in SIDES]
        assert all(any(counts.get(counter) for counts in struck) for counter in counters), struck
        assert run.executions("hub") == run.executions("agent") == COUNT


def test_every_request_is_answered_once_through_all_faults_together_and_kills(tmp_path: Path) -> None:
    count = 300 if FULL else COUNT
    with at_work(tmp_path, timeout=10.0, count=count, gap=0.02) as (mounts, run):
        inflict(mounts, EVERYTHING)
        run.wait_for(count // 2, SECONDS)
        run.kill_and_restart("hub")
        run.wait_for(count, SECONDS)
        run.kill_and_restart("agent")
        run.wait_for_all(SECONDS)
        struck = set(mounts["hub"].counts() | mounts["agent"].counts())
        rare = {"short", "drop", "double", "resurrect", "late_rename"} if FULL else set()
        assert {"delay", "listing", "copy", "error", *rare} <= struck


@pytest.mark.parametrize(
    ("state", "errors"),
    [
        ("full", dict.fromkeys(("create", "write", "fsync"), ("ENOSPC", 1.0))),
        ("readonly", dict.fromkeys(("create", "rename", "unlink"), ("EROFS", 1.0))),
        ("denied", {"getattr": ("EACCES", 1.0)}),
        ("lost", {"getattr": ("EIO", 1.0)}),
        ("lost", {"readdir": ("ESTALE", 1.0)}),
    ],
    ids=["full", "read-only", "denied", "EIO", "ESTALE"],
)
def test_a_share_that_fails_altogether_is_told_and_used_again_as_soon_as_it_works(
    state: str, errors: dict[str, tuple[str, float]], tmp_path: Path
) -> None:
    with at_work(tmp_path, count=40, callers=4, gap=0.05, large_every=0) as (mounts, run):
        run.wait_for(10, SECONDS)
        mounts["agent"].set(Faults(errors=errors))
        run.wait_for_word("agent", state)
        assert run.answered() < 80
        mounts["agent"].set(Faults())
        run.wait_for_all(SECONDS)
        run.wait_for_word("agent", "ok")
        assert run.executions("hub") == run.executions("agent") == 40


def test_a_side_that_starts_while_only_listings_fail_comes_up_when_they_work(tmp_path: Path) -> None:
    with at_work(tmp_path, count=40, callers=4, gap=0.05, large_every=0) as (mounts, run):
        run.wait_for(10, SECONDS)
        mounts["agent"].set(Faults(errors={"readdir": ("EIO", 1.0)}))
        run.kill_and_restart("agent")
        run.wait_for_word("agent", "lost")
        mounts["agent"].set(Faults())
        run.wait_for_all(SECONDS)


@patient
def test_a_side_that_starts_while_its_share_hangs_comes_up_when_it_is_released(tmp_path: Path) -> None:
    with at_work(tmp_path, count=40, callers=4, gap=0.05, large_every=0) as (mounts, run):
        run.wait_for(10, SECONDS)
        run.kills += 1
        run.stations["agent"].kill()
        mounts["agent"].set(Faults(hangs=True))
        run.stations["agent"].start()
        run.wait_for_word("agent", "stuck")
        mounts["agent"].set(Faults())
        run.wait_for_all(SECONDS)


def test_a_hanging_share_is_told_at_once_and_forgotten_when_it_comes_back(tmp_path: Path) -> None:
    with at_work(tmp_path, gap=0.02) as (mounts, run):
        run.wait_for(COUNT // 4, SECONDS)
        mounts["agent"].set(Faults(hangs=True))
        run.wait_for_word("agent", "stuck")
        assert run.stations["hub"].status()["client"]["share"] == "ok"
        mounts["agent"].set(Faults())
        run.wait_for_all(SECONDS)
        run.wait_for_word("agent", "ok")
        assert run.executions("hub") == run.executions("agent") == COUNT


@patient
def test_client_and_server_close_though_their_share_hangs(tmp_path: Path) -> None:
    with at_work(tmp_path) as (mounts, run):
        run.wait_for_all(SECONDS)
        agent = run.stations["agent"]
        mounts["agent"].set(Faults(hangs=True))
        run.wait_for_word("agent", "stuck")
        agent.hang_up()
        assert agent.last_word() == {"closed": True}
        # No process can end while one of its threads is in a hanging file system.
        mounts["agent"].set(Faults())
        wait_until(agent.ended, "the end of the process")


def test_a_killed_mount_and_the_plain_folder_under_it_take_nothing_away(tmp_path: Path) -> None:
    with at_work(tmp_path, gap=0.02) as (mounts, run):
        inflict(mounts, Faults(late_rename_rate=0.5, late_rename_seconds=0.2))  # some files die with the mount
        run.wait_for(COUNT // 4, SECONDS)
        mounts["agent"].kill()
        run.wait_for_word("agent", "lost")
        mounts["agent"].unmount()
        run.wait_for_word("agent", "lost")
        time.sleep(1.0)
        assert files_below(mounts["agent"].point) == []
        mounts["agent"].mount()
        run.wait_for(COUNT, SECONDS)
        mounts["hub"].unmount()
        run.kill_and_restart("hub")  # started while its share is not there
        time.sleep(1.0)
        assert files_below(mounts["hub"].point) == []
        mounts["hub"].mount()
        run.wait_for_all(SECONDS)
