"""Whatever lies in the link's folders beside frames: nothing blocks, nothing is parsed or deleted, all is counted."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from relay import create_link
from tests.contracts.shares.faults import Faults
from tests.contracts.shares.forgery import link_id, spread
from tests.contracts.shares.mounts import FaultMount, need, wait_until
from tests.contracts.shares.traffic import FULL, LINK_SERVED_BY, PEER, SIDES, Side, Traffic, make_links, traffic

COUNT = 300 if FULL else 60
SECONDS = 120.0
STRANGER = "0123456789ab"
Look = tuple[int, int, int, int]


@contextlib.contextmanager
def at_work(tmp_path: Path, **orders: Any) -> Iterator[tuple[Path, Traffic]]:
    """Hub and agent at one plain folder; what they did is judged at the end."""
    share = tmp_path / "share"
    share.mkdir()
    make_links(share)
    with traffic(tmp_path / "home", {"hub": share, "agent": share}, **orders) as run:
        yield share, run


@contextlib.contextmanager
def behind_a_mount(tmp_path: Path, **orders: Any) -> Iterator[tuple[Path, FaultMount, Traffic]]:
    """The same with the agent behind a mount."""
    need()
    share = tmp_path / "share"
    share.mkdir()
    make_links(share)
    with (
        FaultMount(share, tmp_path / "agent") as mount,
        traffic(tmp_path / "home", {"hub": share, "agent": mount.point}, **orders) as run,
    ):
        yield share, mount, run


def looks(share: Path) -> dict[str, Look]:
    """What stands in the share's folders, by path."""
    found = {}
    for folder, folders, files in os.walk(share):
        for name in (*folders, *files):
            with contextlib.suppress(FileNotFoundError):  # true frames come and go meanwhile
                stat = os.lstat(f"{folder}/{name}")
                found[f"{folder}/{name}"] = (stat.st_ino, stat.st_mode, stat.st_nlink, stat.st_size)
    return found


def spread_everywhere(share: Path, elsewhere: Path, run: Traffic) -> dict[tuple[Side, str], dict[str, int]]:
    """Hostile files in every folder of both links; what each (reader, role) has to count."""
    expected: dict[tuple[Side, str], dict[str, int]] = {}
    for server in SIDES:
        folder = share / LINK_SERVED_BY[server]
        for reader, role in ((server, "server"), (PEER[server], "client")):
            writer = PEER[reader]
            told = run.stations[writer].status()["client" if role == "server" else "server"]
            epochs = (told["epoch"], STRANGER)
            expected[reader, role] = spread(folder / f"to-{reader}", elsewhere, link_id(folder), writer, epochs)
    return expected


def counted(run: Traffic, expected: dict[tuple[Side, str], dict[str, int]]) -> bool:
    for (side, role), counts in expected.items():
        counters = run.stations[side].status()[role]["counters"]
        if any(counters[name] < count for name, count in counts.items()):
            return False
    return True


@pytest.mark.parametrize("kills", [False, True], ids=["while both live", "over kills of both"])
def test_hostile_contents_neither_stop_the_traffic_nor_are_touched(kills: bool, tmp_path: Path) -> None:
    with at_work(tmp_path, count=COUNT, callers=4, gap=0.01) as (share, run):
        run.wait_for(COUNT // 4, SECONDS)
        before = set(looks(share))
        expected = spread_everywhere(share, tmp_path / "elsewhere", run)
        hostile = {path: look for path, look in looks(share).items() if path not in before and STRANGER in path}
        assert len(hostile) >= 4 * 5
        foreign = sum(counts["foreign"] for counts in expected.values())
        run.wait_for(COUNT, SECONDS)
        if kills:
            for side in SIDES:
                run.kill_and_restart(side)
        run.wait_for_all(SECONDS)
        wait_until(lambda: counted(run, expected), f"all {expected} to be counted")
        after = looks(share)
        assert {path: after.get(path) for path in hostile} == hostile
        assert sum(after.get(path) is not None for path in after if path not in before) >= foreign + len(hostile)
    for side in SIDES:
        assert not list((tmp_path / "home" / side / "state").rglob("quarantine/*"))


def test_hostile_contents_behind_a_fuse_mount_do_not_stop_the_traffic(tmp_path: Path) -> None:
    with behind_a_mount(tmp_path, count=COUNT, callers=4, gap=0.01) as (share, _, run):
        run.wait_for(COUNT // 4, SECONDS)
        expected = spread_everywhere(share, tmp_path / "elsewhere", run)
        run.wait_for_all(SECONDS)
        wait_until(lambda: counted(run, expected), f"all {expected} to be counted")


@pytest.mark.parametrize("code", ["EACCES", "EIO"])
def test_files_that_nobody_may_read_do_not_stop_the_traffic(code: str, tmp_path: Path) -> None:
    with behind_a_mount(tmp_path, count=COUNT, callers=4, gap=0.01) as (share, mount, run):
        mount.set(Faults(unreadable={f"{STRANGER}-*": code}))
        run.wait_for(COUNT // 4, SECONDS)
        for name in LINK_SERVED_BY.values():
            (share / name / "to-agent" / f"{STRANGER}-00000001-00.json").write_bytes(b"for nobody")
        run.wait_for_all(SECONDS)
        wait_until(lambda: mount.counts().get("unreadable"), "an attempt at the file")
        run.wait_for_word("agent", "ok")


@pytest.mark.parametrize("what", ["a FIFO", "a folder", "nothing", "half of it", "another link's"])
def test_a_beacon_that_is_none_stops_the_traffic_and_its_return_resumes_it(what: str, tmp_path: Path) -> None:
    with at_work(tmp_path, count=60, callers=4, gap=0.03) as (share, run):
        run.wait_for(20, SECONDS)
        for name in LINK_SERVED_BY.values():
            (share / name / "link.json").rename(share / f"{name}.kept")
            beacon = share / name / "link.json"
            if what == "a FIFO":
                os.mkfifo(beacon)
            elif what == "a folder":
                beacon.mkdir()
            elif what == "half of it":
                beacon.write_bytes((share / f"{name}.kept").read_bytes()[:40])
            elif what == "another link's":
                create_link(tmp_path / name, name)
                beacon.write_bytes((tmp_path / name / "link.json").read_bytes())
        for side in SIDES:
            run.wait_for_word(side, "foreign" if what == "another link's" else "lost")
        still = run.answered()
        assert still < 120
        for name in LINK_SERVED_BY.values():
            beacon = share / name / "link.json"
            beacon.rmdir() if beacon.is_dir() else beacon.unlink(missing_ok=True)
            (share / f"{name}.kept").rename(beacon)
        run.wait_for_all(SECONDS)
        assert run.executions("hub") == run.executions("agent") == 60


def test_a_beacon_that_comes_and_goes_loses_nothing(tmp_path: Path) -> None:
    with at_work(tmp_path, count=COUNT, callers=4, gap=0.02) as (share, run):
        run.wait_for(10, SECONDS)
        for number in range(40):
            for name in LINK_SERVED_BY.values():
                beacon, hidden = share / name / "link.json", share / f"{name}.hidden"
                (beacon if number % 2 == 0 else hidden).rename(hidden if number % 2 == 0 else beacon)
            time.sleep(0.02)
        run.wait_for_all(SECONDS)
        assert run.executions("hub") == run.executions("agent") == COUNT


def test_folders_that_somebody_deleted_and_made_anew_are_used_again(tmp_path: Path) -> None:
    with at_work(tmp_path, count=COUNT, callers=4, gap=0.02) as (share, run):
        run.wait_for(COUNT // 4, SECONDS)
        for name in LINK_SERVED_BY.values():
            for side in SIDES:
                folder = share / name / f"to-{side}"
                folder.rename(tmp_path / f"{name}-{side}")
                folder.mkdir()  # as a sync tool brings it: without the hidden folder in it
        run.wait_for_all(SECONDS)
        assert run.executions("hub") == run.executions("agent") == COUNT


def test_an_old_copy_of_the_folder_put_back_changes_nothing(tmp_path: Path) -> None:
    with at_work(tmp_path, count=COUNT, callers=4, gap=0.01) as (share, run):
        for part in range(1, 6):
            run.wait_for(part * COUNT // 4, SECONDS)
            old = contents(share)
            if part == 3:
                run.kill_and_restart("agent")
            run.wait_for(part * COUNT // 4 + COUNT // 8, SECONDS)
            for path in frames(share):
                path.unlink(missing_ok=True)
            for path, content in old.items():
                path.write_bytes(content)
        run.wait_for_all(SECONDS)


def frames(share: Path) -> list[Path]:
    return list(share.glob("*/to-*/*.json"))


def contents(share: Path) -> dict[Path, bytes]:
    """Every frame in the folders now; one that goes while it is read is left out."""
    found = {}
    for path in frames(share):
        with contextlib.suppress(FileNotFoundError):
            found[path] = path.read_bytes()
    return found
