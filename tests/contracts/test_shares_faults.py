"""Each fault of the fault-injection file system, seen from outside through real mounts: what a test injects is real."""

import errno
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.contracts.shares.faults import Faults, faults_from
from tests.contracts.shares.mounts import FaultMount, is_mounted, names, need, wait_until

LONG = 60.0  # a fault that stays for the whole of a test
NAMES = [f"{number:02d}.json" for number in range(12)]


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[FaultMount, FaultMount]]:
    """Two machines, `near` and `far`, at one backing folder."""
    need()
    (tmp_path / "backing").mkdir()
    backing = tmp_path / "backing"
    with FaultMount(backing, tmp_path / "near") as near, FaultMount(backing, tmp_path / "far") as far:
        yield near, far


def publish(mount: FaultMount, name: str, content: bytes = b"0123456789") -> None:
    (mount.point / f"{name}.tmp").write_bytes(content)
    (mount.point / f"{name}.tmp").rename(mount.point / name)


def listed(mount: FaultMount) -> list[str]:
    return [name for name in names(mount.point) if not name.endswith(".tmp")]


def arrivals(mount: FaultMount, count: int, seconds: float = 10.0) -> list[str]:
    """Names in the order in which the mount's listing first shows them."""
    seen: list[str] = []

    def look() -> bool:
        seen.extend(name for name in listed(mount) if name not in seen)
        return len(seen) == count

    wait_until(look, f"{count} names", seconds)
    return seen


def test_faults_travel_to_the_process_unchanged() -> None:
    faults = Faults(delay=(0.1, 0.2), errors={"rename": ("EIO", 0.5)}, hangs=True, spare=())
    sent = faults_from(faults.to_json())
    assert replace(sent, errors={}) == replace(faults, errors={})
    assert tuple(sent.errors["rename"]) == ("EIO", 0.5)


def test_the_same_seed_strikes_the_same_names_and_another_one_others() -> None:
    def struck(seed: int) -> list[str]:
        faults = Faults(seed=seed)
        return [name for name in NAMES if faults.strikes(0.5, "drop", f"/{name}")]

    assert struck(3) == struck(3)
    assert len({tuple(struck(seed)) for seed in range(10)}) > 5


def test_delayed_names_appear_late_and_in_another_order_to_the_other_side_only(
    pair: tuple[FaultMount, FaultMount],
) -> None:
    near, far = pair
    for mount in pair:
        mount.set(Faults(seed=5, delay=(0.3, 1.0)))
    for name in NAMES:
        publish(near, name)
    assert listed(near) == NAMES  # a machine sees its own
    assert not (far.point / NAMES[0]).exists()
    order = arrivals(far, len(NAMES))
    assert sorted(order) == NAMES != order
    assert far.counts()["delay"] > 0


def test_a_name_looked_up_too_early_stays_absent_though_it_is_listed(pair: tuple[FaultMount, FaultMount]) -> None:
    near, far = pair
    far.set(Faults(negative_seconds=0.7))
    assert not (far.point / "a.json").exists()
    publish(near, "a.json")
    publish(near, "b.json")
    assert listed(far) == ["a.json", "b.json"]
    with pytest.raises(FileNotFoundError):
        (far.point / "a.json").read_bytes()
    assert (far.point / "b.json").read_bytes() == b"0123456789"  # never missed, so never cached
    wait_until((far.point / "a.json").exists, "end of the negative entry")


def test_each_probe_in_vain_arms_the_negative_cache_again(pair: tuple[FaultMount, FaultMount]) -> None:
    near, far = pair
    far.set(Faults(negative_seconds=LONG))
    assert not (far.point / "a.json").exists()
    publish(near, "a.json")
    assert not (far.point / "a.json").exists()
    assert far.counts()["negative"] >= 1
    far.set(Faults())
    assert (far.point / "a.json").exists()


def test_a_cached_listing_lacks_what_can_be_opened_and_shows_what_is_gone(
    pair: tuple[FaultMount, FaultMount],
) -> None:
    near, far = pair
    publish(near, "old.json")
    far.set(Faults(listing_seconds=0.7))
    assert listed(far) == ["old.json"]
    publish(near, "new.json")
    (near.point / "old.json").unlink()
    assert listed(far) == ["old.json"]
    assert (far.point / "new.json").read_bytes() == b"0123456789"
    wait_until(lambda: listed(far) == ["new.json"], "a fresh listing")


def test_stale_content_and_size_outlive_a_rename_over(pair: tuple[FaultMount, FaultMount]) -> None:
    near, far = pair
    publish(near, "a.json", b"old")
    far.set(Faults(stale_seconds=0.7))
    assert (far.point / "a.json").read_bytes() == b"old"
    publish(near, "a.json", b"newer")
    assert (far.point / "a.json").read_bytes() == b"old"
    assert (far.point / "a.json").stat().st_size == 3
    assert (near.point / "a.json").read_bytes() == b"newer"
    wait_until(lambda: (far.point / "a.json").read_bytes() == b"newer", "the new content")


def test_a_young_file_shows_only_a_part_of_its_bytes(pair: tuple[FaultMount, FaultMount]) -> None:
    near, far = pair
    far.set(Faults(seed=2, short_rate=1.0, short_seconds=0.7))
    publish(near, "a.json", bytes(range(200)))
    first = (far.point / "a.json").read_bytes()
    assert first == bytes(range(200))[: len(first)] and len(first) < 200
    assert (far.point / "a.json").stat().st_size == len(first)
    wait_until(lambda: (far.point / "a.json").read_bytes() == bytes(range(200)), "the rest")


def test_stale_and_short_together_freeze_the_half_file(pair: tuple[FaultMount, FaultMount]) -> None:
    near, far = pair
    far.set(Faults(seed=2, short_rate=1.0, short_seconds=0.1, stale_seconds=0.8))
    publish(near, "a.json", bytes(200))
    assert len((far.point / "a.json").read_bytes()) < 200
    time.sleep(0.15)
    assert len((far.point / "a.json").read_bytes()) < 200  # whole by now, and still shown as it was
    wait_until(lambda: len((far.point / "a.json").read_bytes()) == 200, "the rest")


def test_dropped_names_never_reach_the_other_side_and_their_maker_cannot_tell(
    pair: tuple[FaultMount, FaultMount],
) -> None:
    near, far = pair
    for mount in pair:
        mount.set(Faults(seed=7, drop_rate=0.5))
    for name in NAMES:
        publish(near, name)
    assert listed(near) == NAMES
    seen = listed(far)
    assert 0 < len(seen) < len(NAMES)
    assert all((far.point / name).exists() == (name in seen) for name in NAMES)


def test_the_beacon_is_spared_by_faults_of_seeing_unless_asked_for(pair: tuple[FaultMount, FaultMount]) -> None:
    near, far = pair
    publish(near, "link.json")
    far.set(Faults(drop_rate=1.0, delay=(LONG, LONG)))
    assert listed(far) == ["link.json"]
    far.set(Faults(drop_rate=1.0, spare=()))
    assert listed(far) == []


def test_a_doubled_file_leaves_a_conflict_copy(pair: tuple[FaultMount, FaultMount]) -> None:
    near, far = pair
    near.set(Faults(double_rate=1.0))
    publish(near, "a.json")
    copies = [name for name in listed(far) if name != "a.json"]
    assert copies == ["a.sync-conflict-20260101-120000-ABCDEFG.json"]
    assert (far.point / copies[0]).read_bytes() == (far.point / "a.json").read_bytes()


def test_a_deleted_file_comes_back(pair: tuple[FaultMount, FaultMount]) -> None:
    near, far = pair
    publish(near, "a.json")
    near.set(Faults(resurrect_rate=1.0, resurrect_seconds=0.3))
    (near.point / "a.json").unlink()
    assert not (far.point / "a.json").exists()
    wait_until((far.point / "a.json").exists, "the deleted file")
    assert (far.point / "a.json").read_bytes() == b"0123456789"


def test_a_late_rename_is_seen_at_once_by_its_maker_and_later_by_the_other_side(
    pair: tuple[FaultMount, FaultMount],
) -> None:
    near, far = pair
    near.set(Faults(late_rename_rate=1.0, late_rename_seconds=0.5))
    publish(near, "a.json")
    assert listed(near) == ["a.json"]
    assert (near.point / "a.json").read_bytes() == b"0123456789"
    assert listed(far) == []
    wait_until(lambda: listed(far) == ["a.json"], "the rename")


def test_a_late_rename_is_cancelled_by_deleting_the_file(pair: tuple[FaultMount, FaultMount]) -> None:
    near, far = pair
    near.set(Faults(late_rename_rate=1.0, late_rename_seconds=0.2))
    publish(near, "a.json")
    (near.point / "a.json").unlink()
    time.sleep(0.4)
    assert listed(near) == listed(far) == []


def test_a_late_rename_is_lost_with_the_mount(pair: tuple[FaultMount, FaultMount]) -> None:
    near, far = pair
    near.set(Faults(late_rename_rate=1.0, late_rename_seconds=0.3))
    publish(near, "a.json")
    near.kill()
    time.sleep(0.5)
    assert listed(far) == []


@pytest.mark.parametrize("name", ["EIO", "ENOSPC", "ESTALE"])
@pytest.mark.parametrize("what", ["create", "write", "fsync", "rename", "unlink", "readdir", "open", "getattr"])
def test_a_chosen_operation_fails_with_the_chosen_error(
    pair: tuple[FaultMount, FaultMount], what: str, name: str
) -> None:
    near, far = pair
    publish(near, "here.json")
    near.set(Faults(errors={what: (name, 1.0)}))

    def work() -> None:
        names(near.point)
        (near.point / "here.json").read_bytes()
        with (near.point / "new.json.tmp").open("xb", buffering=0) as file:
            file.write(b"x")
            os.fsync(file)
        (near.point / "new.json.tmp").rename(near.point / "new.json")
        (near.point / "new.json").unlink()

    with pytest.raises(OSError) as refused:
        work()
    assert refused.value.errno == getattr(errno, name)
    assert near.counts()["error"] >= 1
    assert far.counts() == {}
    near.set(Faults())
    (near.point / "new.json.tmp").unlink(missing_ok=True)
    (near.point / "new.json").unlink(missing_ok=True)
    work()


def test_an_error_may_come_after_the_deed(pair: tuple[FaultMount, FaultMount]) -> None:
    near, far = pair
    near.set(Faults(errors_after={"rename": ("EIO", 1.0)}))
    with pytest.raises(OSError):
        publish(near, "a.json")
    assert listed(far) == ["a.json"]


def test_a_file_of_the_other_side_may_be_listed_and_refuse_to_be_opened(pair: tuple[FaultMount, FaultMount]) -> None:
    near, far = pair
    for mount in pair:
        mount.set(Faults(unreadable={"a*": "EACCES", "b*": "EIO"}))
    for name in ("a.json", "b.json", "c.json"):
        publish(near, name)
        assert (near.point / name).read_bytes() == b"0123456789"
    assert listed(far) == ["a.json", "b.json", "c.json"]
    with pytest.raises(PermissionError):
        (far.point / "a.json").read_bytes()
    with pytest.raises(OSError) as refused:
        (far.point / "b.json").read_bytes()
    assert refused.value.errno == errno.EIO
    assert (far.point / "c.json").read_bytes() == b"0123456789"


def test_errors_come_at_about_the_rate_asked_for(pair: tuple[FaultMount, FaultMount]) -> None:
    near, _ = pair
    near.set(Faults(seed=11, errors={"create": ("EIO", 0.3)}))
    failed = 0
    for number in range(100):
        try:
            (near.point / f"{number}").touch()
        except OSError:
            failed += 1
    assert 10 < failed < 60


def test_exclusive_creation_can_be_won_twice(pair: tuple[FaultMount, FaultMount]) -> None:
    near, far = pair
    exclusive = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    far.set(Faults(delay=(LONG, LONG)))  # the far side does not see the name yet, so its kernel asks the file system
    os.close(os.open(near.point / "lock", exclusive))
    with pytest.raises(FileExistsError):
        os.open(far.point / "lock", exclusive)
    far.set(Faults(delay=(LONG, LONG), ignores_exclusive=True))
    os.close(os.open(far.point / "lock", exclusive))
    assert far.counts()["exclusive"] == 1


def watch(far: FaultMount, name: str, stop: threading.Event) -> set[bytes | None]:
    seen: set[bytes | None] = set()
    while not stop.is_set():
        try:
            seen.add((far.point / name).read_bytes())
        except FileNotFoundError:
            seen.add(None)
    return seen


@pytest.mark.parametrize(("how", "glimpse"), [("gap", None), ("copy", b"01234")])
def test_a_rename_that_is_not_atomic_shows_a_gap_or_half_a_file(
    pair: tuple[FaultMount, FaultMount], how: str, glimpse: bytes | None
) -> None:
    near, far = pair
    publish(near, "a.json", b"before")
    near.set(Faults(rename=how, rename_seconds=0.4))  # type: ignore[arg-type]  # the parameter names a literal
    seen: list[set[bytes | None]] = []
    stop = threading.Event()
    watcher = threading.Thread(target=lambda: seen.append(watch(far, "a.json", stop)))
    watcher.start()
    publish(near, "a.json")
    wait_until(lambda: (far.point / "a.json").read_bytes() == b"0123456789", "the new file")
    stop.set()
    watcher.join(10)
    assert glimpse in seen[0]


def test_every_operation_hangs_until_it_is_released(pair: tuple[FaultMount, FaultMount]) -> None:
    near, far = pair
    publish(near, "a.json")
    far.set(Faults(hangs=True))
    done = threading.Event()
    thread = threading.Thread(target=lambda: (names(far.point), done.set()))
    thread.start()
    wait_until(lambda: far.counts().get("hang"), "the operation at the mount")
    assert not done.wait(0.3)
    assert listed(near) == ["a.json"]  # the other machine is well
    far.set(Faults())
    assert done.wait(10)
    thread.join(10)


def test_a_hanging_mount_can_be_taken_down_and_whoever_waits_gets_an_error(
    pair: tuple[FaultMount, FaultMount],
) -> None:
    _, far = pair
    far.set(Faults(hangs=True))
    failed: list[OSError] = []

    def look() -> None:
        try:
            names(far.point)
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=look)
    thread.start()
    wait_until(lambda: far.counts().get("hang"), "the operation at the mount")
    far.unmount()
    thread.join(10)
    assert len(failed) == 1


def test_a_killed_mount_gives_enotconn_then_the_plain_folder_which_takes_writes(
    pair: tuple[FaultMount, FaultMount],
) -> None:
    near, far = pair
    publish(near, "a.json")
    far.kill()
    with pytest.raises(OSError) as refused:
        names(far.point)
    assert refused.value.errno == errno.ENOTCONN
    far.unmount()
    assert not is_mounted(far.point)
    (far.point / "lost").write_text("nobody will see this", encoding="utf-8")
    assert listed(near) == ["a.json"]
    far.mount()
    assert listed(far) == ["a.json"]
