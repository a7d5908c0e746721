"""Every kind of mount the share tests use is a real one, works as a plain folder does, and leaves nothing behind."""

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contracts.shares.mounts import FaultMount, Mount, is_mounted, mounted, names, need, wait_until

KINDS = ("faultfs", "bindfs", "sshfs", "sshfs-uncached")


@pytest.fixture(params=KINDS)
def share(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Mount, Path]]:
    backing = tmp_path / "backing"
    backing.mkdir()
    with mounted(request.param, backing, tmp_path / "point") as mount:
        yield mount, backing


def test_the_mount_point_is_a_mount_and_the_backing_folder_none(share: tuple[Mount, Path]) -> None:
    mount, backing = share
    assert is_mounted(mount.point) and not is_mounted(backing)
    assert mount.point.stat().st_dev != backing.stat().st_dev


def test_a_published_file_stands_in_the_backing_folder_whole(share: tuple[Mount, Path]) -> None:
    mount, backing = share
    folder = mount.point / "to-hub"
    (folder / ".tmp").mkdir(parents=True)
    content = os.urandom(300_000)
    descriptor = os.open(folder / ".tmp" / "a.json", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    assert os.write(descriptor, content) == len(content)
    os.fsync(descriptor)
    os.close(descriptor)
    (folder / ".tmp" / "a.json").rename(folder / "a.json")
    assert (backing / "to-hub" / "a.json").read_bytes() == (folder / "a.json").read_bytes() == content
    assert names(folder) == [".tmp", "a.json"]
    (folder / "a.json").unlink()
    assert [path.name for path in (backing / "to-hub").iterdir()] == [".tmp"]


def test_a_file_of_the_other_side_is_read_by_name_at_once(share: tuple[Mount, Path]) -> None:
    mount, backing = share
    (backing / "new.json").write_text("42", encoding="utf-8")
    assert (mount.point / "new.json").read_text(encoding="utf-8") == "42"
    assert (mount.point / "new.json").stat().st_size == 2


def test_exclusive_creation_of_an_existing_name_is_refused(share: tuple[Mount, Path]) -> None:
    mount, backing = share
    (backing / "taken").write_bytes(b"")
    with pytest.raises(FileExistsError):
        os.open(mount.point / "taken", os.O_WRONLY | os.O_CREAT | os.O_EXCL)


def test_a_fifo_and_a_symbolic_link_show_through(share: tuple[Mount, Path]) -> None:
    mount, backing = share
    os.mkfifo(backing / "pipe")
    (backing / "link").symlink_to("pipe")
    assert stat.S_ISFIFO((mount.point / "pipe").lstat().st_mode)
    assert (mount.point / "link").is_symlink()


def test_a_dead_process_leaves_enotconn_or_the_plain_folder_and_a_new_mount_heals_it(
    share: tuple[Mount, Path],
) -> None:
    mount, backing = share
    (backing / "here").write_bytes(b"")
    mount.kill()
    if is_mounted(mount.point):
        with pytest.raises(OSError) as refused:
            names(mount.point)
        assert refused.value.errno in (errno.ENOTCONN, errno.ECONNABORTED)
    mount.unmount()
    assert names(mount.point) == []  # an unmounted share looks like an empty folder, and takes writes
    mount.mount()
    assert names(mount.point) == ["here"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_failing_test_leaves_neither_mount_nor_process(kind: str, tmp_path: Path) -> None:
    (tmp_path / "backing").mkdir()
    with pytest.raises(RuntimeError), mounted(kind, tmp_path / "backing", tmp_path / "point") as mount:
        os.open(mount.point, os.O_RDONLY)  # an open descriptor does not keep the mount
        raise RuntimeError
    assert not is_mounted(tmp_path / "point")
    assert mount.process_id is None


def test_a_mount_ends_with_the_process_that_made_it(tmp_path: Path) -> None:
    need()
    (tmp_path / "backing").mkdir()
    program = (
        "import os, signal, sys; from pathlib import Path; from tests.contracts.shares.mounts import FaultMount\n"
        "FaultMount(Path(sys.argv[1]), Path(sys.argv[2])).mount()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    arguments = [sys.executable, "-c", program, tmp_path / "backing", tmp_path / "point"]
    subprocess.run(arguments, cwd=Path(__file__).resolve().parents[2], check=False, timeout=60)
    wait_until(lambda: not is_mounted(tmp_path / "point"), "end of the mount")


def test_two_mounts_of_one_backing_folder_see_each_other_s_files(tmp_path: Path) -> None:
    need()
    backing = tmp_path / "backing"
    backing.mkdir()
    with FaultMount(backing, tmp_path / "hub") as hub, FaultMount(backing, tmp_path / "agent") as agent:
        (hub.point / "from-hub").write_text("1", encoding="utf-8")
        (agent.point / "from-agent").write_text("2", encoding="utf-8")
        assert names(hub.point) == names(agent.point) == ["from-agent", "from-hub"]
        assert (hub.point / "from-agent").read_text(encoding="utf-8") == "2"
        assert hub.counts() == {}
