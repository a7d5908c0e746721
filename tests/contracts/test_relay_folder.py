"""One contract for every `Folder`: a local disk, tmpfs and the share in memory."""

import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from relay import LinkExists, create_link
from relay.beacon import beacon_from
from relay.clock import SystemClock
from relay.errors import FrameGone, FrameUnfit, NotAFrame, ShareFault
from relay.folder import LocalFolder, link_of
from relay.ports import Folder
from relay.testing import FaultyShare, Habits, MemoryShare

NAME = "0123456789ab-00000001-00.json"
TMPFS = Path("/dev/shm")


@dataclass
class Share:
    """Both sides' views of one link, and ways to break it."""

    hub: Folder
    agent: Folder
    lose: Callable[[], None]
    find: Callable[[], None]


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

    return Share(hub, agent, lose, find)


def in_memory(share: MemoryShare) -> Share:
    beacon = share.beacon

    def lose() -> None:
        share.beacon = None

    def find() -> None:
        share.beacon = beacon

    return Share(share.view("hub"), share.view("agent"), lose, find)


@pytest.fixture(params=["disk", "tmpfs", "memory", "faulty"])
def share(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Share]:
    if request.param == "memory":
        yield in_memory(MemoryShare())
    elif request.param == "faulty":
        yield in_memory(FaultyShare(Habits()))  # without habits and faults it keeps the same contract
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
    assert share.hub.arrivals() == [NAME]
    assert share.hub.read(NAME, 1 << 20) == b"x" * 100_000
    assert (share.agent.own(), share.agent.arrivals(), share.hub.own()) == ([NAME], [], [])


def test_the_writer_deletes_its_file_as_often_as_it_likes(share: Share) -> None:
    share.agent.publish(NAME, b"x", durable=True)
    share.agent.delete(NAME)
    share.agent.delete(NAME)
    assert share.hub.arrivals() == []
    with pytest.raises(FrameGone):
        share.hub.read(NAME, 100)


def test_a_file_larger_than_a_frame_is_never_read(share: Share) -> None:
    share.agent.publish(NAME, b"x" * 101, durable=False)
    with pytest.raises(FrameUnfit):
        share.hub.read(NAME, 100)
    assert share.hub.read(NAME, 101) == b"x" * 101


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
