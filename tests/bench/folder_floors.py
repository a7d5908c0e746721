"""The floors: requests, replies and one-way messages through a folder with nothing but the system's own calls.

Raw inotify by ctypes, one file a message, temporary file and rename; no library, no safety, no memory.
"""

# ruff: noqa: PTH104, PTH108, PTH123, PTH208
# The floor makes the bare system calls: a Path around each would be measured with them.

import ctypes
import os
import select
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

IN_MOVED_TO: Final = 0x80
IN_CLOEXEC: Final = 0o2000000
_EVENT: Final = struct.Struct("iIII")
_EVENTS_READ: Final = 1 << 16
_MESSAGE_LIMIT: Final = 1 << 20


def fsync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def publish(folder: str, name: str, data: bytes, *, durable: bool) -> None:
    """A hidden temporary file, renamed into place; `durable`: fsync of the file before and of the folder after."""
    temporary = f"{folder}/.{name}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, data)
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.rename(temporary, f"{folder}/{name}")
    if durable:
        fsync_folder(folder)


def take(folder: str, name: str) -> bytes:
    """Read a message and remove it."""
    descriptor = os.open(f"{folder}/{name}", os.O_RDONLY)
    try:
        data = os.read(descriptor, _MESSAGE_LIMIT)
    finally:
        os.close(descriptor)
    os.unlink(f"{folder}/{name}")
    return data


def messages_in(folder: str) -> list[str]:
    """The names of finished messages, oldest first."""
    return sorted(name for name in os.listdir(folder) if name.endswith(".json") and not name.startswith("."))


class Inotify:
    """The kernel's inotify on one folder: renames into place only."""

    def __init__(self, folder: str) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = libc.inotify_init1(IN_CLOEXEC)
        if self._descriptor < 0 or libc.inotify_add_watch(self._descriptor, folder.encode(), IN_MOVED_TO) < 0:
            raise OSError(ctypes.get_errno(), "inotify")
        self._poll = select.poll()
        self._poll.register(self._descriptor, select.POLLIN)

    def wait(self) -> list[str]:
        """Block until something was renamed into the folder; the names."""
        buffer = os.read(self._descriptor, _EVENTS_READ)
        names, offset = [], 0
        while offset < len(buffer):
            length = _EVENT.unpack_from(buffer, offset)[3]
            offset += _EVENT.size
            names.append(buffer[offset : offset + length].rstrip(b"\0").decode())
            offset += length
        return names

    def drain(self, seconds: float) -> None:
        """Wait for anything, `seconds` at most, without a look at what it is."""
        if self._poll.poll(seconds * 1000):
            os.read(self._descriptor, _EVENTS_READ)


class RawRoundTrip:
    """The Python floor of a round trip."""

    def __init__(self, *, durable: bool) -> None:
        self._durable = durable

    def prepare(self, share: Path) -> None:
        (share / "req").mkdir()
        (share / "rsp").mkdir()

    def serve(self, share: Path, local: Path, ready: Callable[[], None]) -> NoReturn:
        requests, replies = str(share / "req"), str(share / "rsp")
        watch = Inotify(requests)
        ready()
        while True:
            for name in watch.wait():
                # The reader of the floor unlinks after answering, as its client does: both leave nothing behind.
                with open(f"{requests}/{name}", "rb", buffering=0) as file:
                    data = file.read()
                publish(replies, name, data, durable=self._durable)
                os.unlink(f"{requests}/{name}")

    def caller(self, share: Path, local: Path) -> Callable[[bytes], bytes]:
        requests, replies = str(share / "req"), str(share / "rsp")
        watch = Inotify(replies)
        number = 0

        def call(payload: bytes) -> bytes:
            nonlocal number
            number += 1
            name = f"{number:09d}.json"
            publish(requests, name, payload, durable=self._durable)
            while name not in watch.wait():
                pass
            return take(replies, name)

        return call


class RawOneWay:
    """The raw limit of one file per message: a sender and a receiver at once.

    The receiver lists once, takes all it listed, and sleeps on inotify when nothing is left.
    """

    def __init__(self, *, durable: bool) -> None:
        self._durable = durable

    def prepare(self, share: Path) -> None:
        (share / "box").mkdir()

    def send(self, share: Path, count: int, payload: bytes) -> None:
        for number in range(count):
            publish(str(share / "box"), f"{number:09d}.json", payload, durable=self._durable)

    def receive(self, share: Path, count: int) -> int:
        """The messages lost: none."""
        folder = str(share / "box")
        watch = Inotify(folder)
        got = 0
        while got < count:
            names = messages_in(folder)
            if not names:
                watch.drain(1.0)
            for name in names:
                take(folder, name)
            got += len(names)
        return 0
