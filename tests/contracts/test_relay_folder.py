"""One contract for every `Folder`: a local disk, tmpfs, the shares in memory, and the simulated world's share."""

import os
import random
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from relay import LinkExists, create_link
from relay.beacon import beacon_bytes, beacon_from
from relay.clock import SystemClock
from relay.errors import FrameGone, FrameUnfit, NotAFrame, ShareFault
from relay.folder import LocalFolder, link_of
from relay.ports import Folder
from relay.testing import FaultyShare, Habits, MemoryShare
from tests.simulation.faults import Weather
from tests.simulation.share import SimulatedShare
from tests.simulation.virtual_time import Machine, Process, Time

NAME = "0123456789ab-00000001-00.json"
NEXT = "0123456789ab-00000002-00.json"
FOREIGN = ".DS_Store"
TMPFS = Path("/dev/shm")


@dataclass
class Share:
    """Both sides' views of one link, and ways to break it.

    `arrive` lets pass what the share needs until everybody sees what was done; `swap` puts another link's beacon in
    the place of ours, or ours back; `litter` leaves a foreign file where the hub looks.
    """

    hub: Folder
    agent: Folder
    lose: Callable[[], None]
    find: Callable[[], None]
    swap: Callable[[], None]
    litter: Callable[[str, bytes], None]
    arrive: Callable[[], None] = lambda: None


def on_disk(root: Path) -> Share:
    link, away = root / "main", root / "away"
    create_link(link, "main")
    clock = SystemClock()
    hub, agent = LocalFolder(link, "hub", clock), LocalFolder(link, "agent", clock)

    def lose() -> None:
        # What a dead mount leaves: an empty folder that takes writes.
        link.rename(away)
        link.mkdir()

    def find() -> None:
        link.rmdir()
        away.rename(link)

    return Share(hub, agent, lose, find, swap_of(link), litter_of(link))


def swap_of(link: Path) -> Callable[[], None]:
    """Puts another link's beacon into the folder, and ours back again."""
    others = [beacon_bytes("f" * 32, "main"), (link / "link.json").read_bytes()]
    fresh = link.parent / "fresh"

    def swap() -> None:
        fresh.write_bytes(others[0])
        fresh.rename(link / "link.json")
        others.reverse()

    return swap


def litter_of(link: Path) -> Callable[[str, bytes], None]:
    """Leaves a file where the hub looks."""

    def litter(name: str, data: bytes) -> None:
        (link / "to-hub" / name).write_bytes(data)

    return litter


def in_memory(share: MemoryShare) -> Share:
    beacon = share.beacon

    def lose() -> None:
        share.beacon = None

    def find() -> None:
        share.beacon = beacon

    def swap() -> None:
        share.beacon = beacon_bytes("f" * 32, "main") if share.beacon == beacon else beacon

    def litter(name: str, data: bytes) -> None:
        share.appear("hub", name, data)

    return Share(share.view("hub"), share.view("agent"), lose, find, swap, litter)


def in_the_world(latency: float = 0.3) -> Share:
    time = Time()
    share = SimulatedShare(time, Weather(random.Random(1)), latency=latency, announces=True)

    def lose() -> None:
        share.states.update(hub="lost", agent="lost")

    def find() -> None:
        share.states.update(hub="ok", agent="ok")

    def swap() -> None:
        away = share.other_device["hub"]
        share.other_device.update(hub=not away, agent=not away)

    def litter(name: str, data: bytes) -> None:
        share.litter("hub", name, data)

    def arrive() -> None:
        time.pump(time.now + 2 * latency)

    hub = share.simulated_view("hub", Process("hub", Machine(time, "hub")))
    agent = share.simulated_view("agent", Process("agent", Machine(time, "agent")))
    return Share(hub, agent, lose, find, swap, litter, arrive)


@pytest.fixture(params=["disk", "tmpfs", "memory", "faulty", "world"])
def share(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Share]:
    if request.param == "memory":
        yield in_memory(MemoryShare())
    elif request.param == "faulty":
        yield in_memory(FaultyShare(Habits()))  # without habits and faults it keeps the same contract
    elif request.param == "world":
        yield in_the_world()
    elif request.param == "disk":
        yield on_disk(tmp_path)
    elif not os.access(TMPFS, os.W_OK):
        pytest.skip("this system has no /dev/shm")
    else:
        with TemporaryDirectory(dir=TMPFS) as folder:
            yield on_disk(Path(folder))


@pytest.mark.parametrize("durable", [True, False])
def test_what_one_side_publishes_the_other_lists_and_reads_whole(share: Share, durable: bool) -> None:
    share.agent.publish(NAME, b"x" * 100_000, durable=durable)
    share.arrive()
    assert share.hub.arrivals() == [NAME]
    assert share.hub.read(NAME, 1 << 20) == b"x" * 100_000
    assert (share.agent.own(), share.agent.arrivals(), share.hub.own()) == ([NAME], [], [])


def test_the_writer_deletes_its_file_as_often_as_it_likes(share: Share) -> None:
    share.agent.publish(NAME, b"x", durable=True)
    share.arrive()
    share.agent.delete(NAME)
    share.agent.delete(NAME)
    share.arrive()
    assert share.hub.arrivals() == share.agent.own() == []
    for read in (share.hub.read, share.agent.read_own):
        with pytest.raises(FrameGone):
            read(NAME, 100)


def test_a_file_larger_than_a_frame_is_never_read(share: Share) -> None:
    share.agent.publish(NAME, b"x" * 101, durable=False)
    share.arrive()
    for read in (share.hub.read, share.agent.read_own):
        with pytest.raises(FrameUnfit):
            read(NAME, 100)
        assert read(NAME, 101) == b"x" * 101


def test_a_name_that_never_was_is_gone_to_reader_and_writer(share: Share) -> None:
    for read in (share.hub.read, share.hub.read_own, share.agent.read, share.agent.read_own):
        with pytest.raises(FrameGone):
            read(NAME, 100)


def test_both_sides_may_use_one_name_and_neither_deletes_the_others_file(share: Share) -> None:
    share.agent.publish(NAME, b"from the agent", durable=False)
    share.hub.publish(NAME, b"from the hub", durable=False)
    share.arrive()
    assert (share.hub.read(NAME, 100), share.agent.read(NAME, 100)) == (b"from the agent", b"from the hub")
    share.hub.delete(NAME)
    share.arrive()
    assert (share.hub.own(), share.hub.arrivals(), share.agent.arrivals()) == ([], [NAME], [])
    assert share.hub.read(NAME, 100) == b"from the agent"


def test_several_files_are_listed_together_and_a_deleted_name_may_be_used_again(share: Share) -> None:
    share.agent.publish(NAME, b"1", durable=False)
    share.agent.publish(NEXT, b"2", durable=False)
    share.arrive()
    assert sorted(share.hub.arrivals()) == sorted(share.agent.own()) == [NAME, NEXT]
    share.agent.delete(NAME)
    share.agent.publish(NAME, b"again", durable=False)
    share.arrive()
    assert share.hub.read(NAME, 100) == b"again"


def test_a_listing_is_the_callers_own_and_foreign_names_stand_in_it(share: Share) -> None:
    share.litter(FOREIGN, b"?")
    share.arrive()
    listed = share.hub.arrivals()
    assert listed == [FOREIGN]
    listed.clear()
    assert share.hub.arrivals() == [FOREIGN]


def test_making_ready_what_is_ready_changes_nothing(share: Share) -> None:
    share.agent.publish(NAME, b"x", durable=True)
    share.arrive()
    for side in (share.hub, share.agent):
        side.prepare()
    assert share.hub.arrivals() == [NAME]


def test_another_links_beacon_is_noticed_until_it_is_read_and_so_is_the_return_of_ours(share: Share) -> None:
    ours = share.hub.beacon()
    share.swap()
    assert not share.hub.check()
    assert beacon_from(share.hub.beacon()).link == "f" * 32
    assert share.hub.check(), "what is there now is what was read last"
    share.swap()
    assert not share.hub.check()
    assert share.hub.beacon() == ours
    assert share.hub.check()


def test_the_beacon_is_trusted_only_as_it_was_read(share: Share) -> None:
    assert not share.hub.check(), "never read yet"
    assert beacon_from(share.hub.beacon()).name == "main"
    assert share.hub.check()
    share.lose()
    with pytest.raises(ShareFault) as lost:
        share.hub.check()
    assert lost.value.state == "lost"
    with pytest.raises(ShareFault):
        share.hub.beacon()
    share.find()
    assert share.hub.check()


# --- what only file systems have


@pytest.fixture
def link(tmp_path: Path) -> Path:
    create_link(tmp_path / "main", "main")
    return tmp_path / "main"


def test_a_link_is_made_once_and_never_over_another(link: Path) -> None:
    before = (link / "link.json").read_bytes()
    with pytest.raises(LinkExists):
        create_link(link, "other")
    assert (link / "link.json").read_bytes() == before
    assert link_of(link).name == "main"


def test_the_share_itself_is_never_created(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        create_link(tmp_path / "unmounted" / "main", "main")
    with pytest.raises(ValueError, match="lower-case"):
        create_link(tmp_path / "main", "Main:1")
    assert list(tmp_path.iterdir()) == []


def test_no_temporary_file_is_left_in_the_watched_folder_or_after_a_failure(link: Path) -> None:
    agent = LocalFolder(link, "agent", SystemClock())
    agent.publish(NAME, b"x", durable=True)
    (link / "to-hub" / ".tmp" / "0123456789ab-00000002-00.json").write_bytes(b"left by a power cut")
    agent.publish("0123456789ab-00000002-00.json", b"y", durable=True)
    (link / "to-hub" / "0123456789ab-00000003-00.json").mkdir()
    with pytest.raises(ShareFault) as fault:
        agent.publish("0123456789ab-00000003-00.json", b"z", durable=True)
    assert fault.value.name_used
    assert list((link / "to-hub" / ".tmp").iterdir()) == []
    assert LocalFolder(link, "hub").read("0123456789ab-00000002-00.json", 10) == b"y"


def test_what_a_power_cut_left_half_written_goes_with_the_next_lifes_first_frame(link: Path) -> None:
    temporary, others = link / "to-hub" / ".tmp", link / "to-agent" / ".tmp"
    for place in (temporary, others):
        (place / "0123456789ab-00000007-00.json").write_bytes(b"half of it")
    (temporary / "a person's notes").write_bytes(b"x")
    LocalFolder(link, "agent", SystemClock()).publish("ba9876543210-00000001-00.json", b"x", durable=False)
    assert [path.name for path in temporary.iterdir()] == ["a person's notes"]
    assert len(list(others.iterdir())) == 1, "the other side's are its own"


def test_what_bears_a_frames_name_and_is_no_plain_file_neither_blocks_nor_is_read(link: Path) -> None:
    inbox, hub = link / "to-hub", LocalFolder(link, "hub")
    secret = link.parent / "secret"
    secret.write_bytes(b"secret")
    os.mkfifo(inbox / "fifo")
    (inbox / "symlink").symlink_to(secret)
    (inbox / "hardlink").hardlink_to(secret)
    (inbox / "directory").mkdir()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.relpath(inbox / "socket"))
    listener.close()
    with (inbox / "sparse").open("wb") as sparse:
        sparse.truncate(2 << 30)
    for name in ("fifo", "symlink", "hardlink", "directory", "socket", "sparse"):
        with pytest.raises(FrameUnfit):
            hub.read(name, 1 << 20)
    assert len(hub.arrivals()) == 6, "nothing was deleted"


def test_an_error_of_the_share_is_told_by_its_state(link: Path) -> None:
    agent = LocalFolder(link, "agent", SystemClock())
    (link / "to-hub" / ".tmp").rmdir()
    with pytest.raises(ShareFault) as fault:
        agent.publish(NAME, b"x", durable=True)
    assert (fault.value.state, fault.value.name_used) == ("lost", False)


def test_a_beacon_half_copied_is_no_beacon_yet(link: Path) -> None:
    whole = (link / "link.json").read_bytes()
    for length in range(len(whole)):
        with pytest.raises(NotAFrame):
            beacon_from(whole[:length])
