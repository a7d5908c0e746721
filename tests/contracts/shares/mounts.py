"""Real mounts for tests: faultfs, bindfs and sshfs over a loopback sshd, each verified before use and taken down after.

Whatever a test does, leaving the `with` block ends the processes by their ids and unmounts lazily.
"""

import contextlib
import ctypes.util
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.contracts.shares.faults import Faults
from tests.contracts.shares.sshd import LoopbackSshd

ROOT = Path(__file__).resolve().parents[3]
LIBFUSE = ctypes.util.find_library("fuse3")
MOUNT_SECONDS = 20.0
END_SECONDS = 5.0
SSHFS_UNCACHED = ("cache=no", "dir_cache=no")


def need(*programs: str) -> None:
    """Skip the test where this machine cannot mount: in CI the skip is a failure."""
    missing = [program for program in ("fusermount3", *programs) if shutil.which(program) is None]
    if missing:
        pytest.skip(f"these programs are not installed: {', '.join(missing)}")
    if not Path("/dev/fuse").exists():
        pytest.skip("this machine has no /dev/fuse")
    if importlib.util.find_spec("mfusepy") is None:
        pytest.skip("mfusepy is not installed")
    if LIBFUSE is None:
        pytest.skip("libfuse 3 is not installed")


def is_mounted(point: Path) -> bool:
    """Asked of the kernel's table: a look at the folder itself may hang, fail, or see a plain folder."""
    with Path("/proc/self/mountinfo").open(encoding="utf-8") as table:
        return any(line.split()[4] == str(point) for line in table)


def names(folder: Path) -> list[str]:
    """What a listing of `folder` shows now, in order."""
    return sorted(path.name for path in folder.iterdir())


def wait_until(condition: Callable[[], object], what: str, seconds: float = MOUNT_SECONDS) -> None:
    """Return as soon as `condition()` holds; fail the test after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.01)


class Mount:
    """One mount held by one process in the foreground, which `command` starts."""

    def __init__(self, point: Path, command: Sequence[str | Path]) -> None:
        self.point = point
        self._command = [str(part) for part in command]
        self._log = point.with_name(f"{point.name}.log")
        self._process: subprocess.Popen[str] | None = None

    @property
    def process_id(self) -> int | None:
        """The process that holds the mount, while there is one."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def mount(self) -> None:
        """Mount, and see in the kernel's table that it is true."""
        assert not is_mounted(self.point), f"{self.point} is mounted already"
        self.point.mkdir(exist_ok=True)
        with self._log.open("ab") as log:
            process = self._process = subprocess.Popen(
                self._command,
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                # mfusepy would rather take the libfuse 2 that a machine may have besides.
                env={**os.environ, "FUSE_LIBRARY_PATH": LIBFUSE or ""},
            )
        try:
            wait_until(lambda: is_mounted(self.point) or process.poll() is not None, f"mount of {self.point}")
            assert process.poll() is None, f"the mount's process ended: {self._log.read_text(encoding='utf-8')}"
        except AssertionError:
            self.unmount()
            raise

    def kill(self) -> None:
        """The process dies at once; the mount point stays and answers ENOTCONN."""
        if self._process is not None:
            self._process.kill()
            self._close(self._process)

    def unmount(self) -> None:
        """Off, whatever state it is in; the plain folder below comes to light."""
        # The process first: a hanging operation ends only with it, and nobody is left to flush anything.
        self.kill()
        while is_mounted(self.point):
            subprocess.run(["fusermount3", "-uz", self.point], check=True, timeout=END_SECONDS)
        self._process = None

    def _close(self, process: subprocess.Popen[str]) -> None:
        process.wait(END_SECONDS)
        for stream in (process.stdin, process.stdout):
            if stream:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def __enter__(self) -> "Mount":
        self.mount()
        return self

    def __exit__(self, *_: object) -> None:
        self.unmount()


class FaultMount(Mount):
    """A mount of the fault-injection file system; `set` switches its faults while it runs."""

    def __init__(self, backing: Path, point: Path) -> None:
        pending = point.with_name(f"{point.name}.pending")
        pending.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "tests.contracts.shares.faultfs", backing, point, pending]
        super().__init__(point, command)

    def set(self, faults: Faults) -> None:
        """In force when this returns."""
        self._ask(faults.to_json())

    def counts(self) -> dict[str, int]:
        """How often each fault has struck since the mount was made."""
        return self._ask("counts")

    def _ask(self, line: str) -> dict[str, int]:
        assert self._process and self._process.stdin and self._process.stdout, f"{self.point} is not mounted"
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer: dict[str, int] = json.loads(self._process.stdout.readline())
        return answer

    def __enter__(self) -> "FaultMount":
        self.mount()
        return self


class SshfsMount(Mount):
    """A mount of a folder that the loopback sshd serves."""

    def __init__(self, server: LoopbackSshd, backing: Path, point: Path, options: Sequence[str] = ()) -> None:
        chosen = [part for option in (*server.client_options, *options) for part in ("-o", option)]
        super().__init__(point, ["sshfs", "-f", *chosen, f"{server.user}@127.0.0.1:{backing}", point])
        self._server = server

    def lose_session(self) -> None:
        """kill -9 for the ssh below sshfs: the network is gone, and without `reconnect` the mount with it."""
        # sshfs makes itself no parent of its ssh; the key's path, which nobody else has, tells which it is.
        mark = self._server.client_options[1].encode()
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                if words[0].endswith(b"ssh") and any(mark in word for word in words):
                    os.kill(int(folder.name), signal.SIGKILL)


def bindfs_mount(backing: Path, point: Path) -> Mount:
    return Mount(point, ["bindfs", "-f", backing, point])


@contextlib.contextmanager
def mounted(kind: str, backing: Path, point: Path) -> Iterator[Mount]:
    """A mount of `kind`: `bindfs`, `faultfs`, `sshfs` (its default options) or `sshfs-uncached`."""
    with contextlib.ExitStack() as stack:
        if kind == "faultfs":
            need()
            mount: Mount = FaultMount(backing, point)
        elif kind == "bindfs":
            need("bindfs")
            mount = bindfs_mount(backing, point)
        else:
            need("sshfs", "sshd", "ssh-keygen")
            server = stack.enter_context(LoopbackSshd(point.with_name(f"{point.name}.sshd")))
            mount = SshfsMount(server, backing, point, SSHFS_UNCACHED if kind == "sshfs-uncached" else ())
        yield stack.enter_context(mount)
