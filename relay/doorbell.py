"""Where a driver waits: for a ring of another thread, an event of the watched folder, or time to pass.

An event only ends the wait: its kind and path are never looked at, for most shares give none or wrong ones.
"""

import contextlib
import logging
import os
import select
import threading
from pathlib import Path
from typing import Final

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

try:
    from watchdog.observers.inotify_c import InotifyConstants, inotify_add_watch, inotify_init
except ImportError:  # not Linux
    inotify_init = None  # type: ignore[assignment]  # the name stays bound, to nothing

from relay.ports import Doorbell, Folder

_LOG: Final = logging.getLogger(__name__)


def doorbell_for(folder: Path) -> Doorbell:
    """The quickest doorbell this system has for arrivals in `folder`."""
    return ObserverBell(folder) if inotify_init is None else InotifyBell(folder)


def bell_of(folder: Folder) -> Doorbell:
    """A bell for a folder of another kind: rung by one that can tell of arrivals by itself, else only scanned."""
    bell = PlainBell()
    listen = getattr(folder, "listen", None)
    if listen is not None:
        listen(bell.move)
    return bell


class PlainBell:
    """Rings and time, no events: for shares in memory, and where the system lends no more watches."""

    def __init__(self) -> None:
        self._rung = threading.Event()
        self._moved = False

    def ring(self) -> None:
        self._rung.set()

    def move(self) -> None:
        """Something appeared in the folder."""
        self._moved = True
        self._rung.set()

    def wait(self, seconds: float) -> bool:
        self._rung.wait(min(max(seconds, 0.0), threading.TIMEOUT_MAX))
        self._rung.clear()
        moved, self._moved = self._moved, False
        return moved

    def listens(self) -> bool:
        return False

    def close(self) -> None:
        self._rung.set()


class InotifyBell:
    """The driver itself waits on inotify, through watchdog's binding.

    watchdog's Observer wakes two threads of its own before ours: measured 2.9 × the round trip of this.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ringer = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._rung = False
        self._poll = select.poll()
        self._poll.register(self._ringer, select.POLLIN)
        self._watch = -1
        self._looks: tuple[int, int] | None = None
        self._told = False

    def ring(self) -> None:
        if not self._rung:
            self._rung = True
            with contextlib.suppress(OSError):  # closed meanwhile: nobody waits
                os.eventfd_write(self._ringer, 1)

    def wait(self, seconds: float) -> bool:
        moved = False
        for descriptor, _ in self._poll.poll(max(0.0, min(seconds, 3600.0)) * 1000):
            if descriptor == self._watch:
                moved = True
                with contextlib.suppress(BlockingIOError):
                    os.read(self._watch, 1 << 16)
            else:
                with contextlib.suppress(BlockingIOError):
                    os.eventfd_read(self._ringer)
        self._rung = False
        return moved

    def listens(self) -> bool:
        """The watch follows the inode: a folder replaced, mounted over or unmounted under it needs a new one."""
        try:
            found = self._folder.stat()
        except OSError:
            self._forget()
            return False
        looks = (found.st_dev, found.st_ino)
        if self._watch < 0 or looks != self._looks:
            self._forget()
            self._looks = looks if self._listen() else None
        return self._watch >= 0

    def close(self) -> None:
        self._forget()
        self._rung = True  # a ring that comes too late must not write to a number that is another file's by now
        ringer, self._ringer = self._ringer, -1
        if ringer >= 0:
            self._poll.unregister(ringer)
            os.close(ringer)

    def _listen(self) -> bool:
        watch = inotify_init()
        if watch >= 0:
            os.set_blocking(watch, False)
            os.set_inheritable(watch, False)  # noqa: FBT003 - positional only
            kinds = InotifyConstants.IN_MOVED_TO | InotifyConstants.IN_CLOSE_WRITE | InotifyConstants.IN_ATTRIB
            kinds |= InotifyConstants.IN_DELETE_SELF | InotifyConstants.IN_MOVE_SELF
            if inotify_add_watch(watch, os.fsencode(self._folder), kinds) >= 0:
                self._watch = watch
                self._poll.register(watch, select.POLLIN)
                return True
            os.close(watch)
        if not self._told:
            self._told = True
            _LOG.warning("no more inotify watches are lent to this user; %s is only scanned", self._folder)
        return False

    def _forget(self) -> None:
        if self._watch >= 0:
            self._poll.unregister(self._watch)
            os.close(self._watch)
        self._watch, self._looks = -1, None


class _Rings(FileSystemEventHandler):
    def __init__(self, bell: "ObserverBell") -> None:
        self._bell = bell

    def on_any_event(self, event: FileSystemEvent) -> None:
        self._bell.move()


class ObserverBell(PlainBell):
    """watchdog's Observer, for systems other than Linux."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._observer: BaseObserver | None = None
        self._looks: tuple[int, int] | None = None

    def listens(self) -> bool:
        """An observer may live on although its emitter died, or watch a folder that was replaced."""
        try:
            found = self._folder.stat()
        except OSError:
            self._forget()
            return False
        looks = (found.st_dev, found.st_ino)
        observer = self._observer
        healthy = observer is not None and observer.is_alive() and all(e.is_alive() for e in observer.emitters)
        if not healthy or looks != self._looks:
            self._forget()
            self._observer = self._listen()
            self._looks = looks if self._observer else None
        return self._observer is not None

    def close(self) -> None:
        self._forget()
        super().close()

    def _listen(self) -> BaseObserver | None:
        observer = Observer()
        observer.daemon = True
        observer.schedule(_Rings(self), str(self._folder), recursive=False)
        try:
            observer.start()
        except OSError as error:
            _LOG.warning("%s cannot be watched (%s) and is only scanned", self._folder, error)
            return None
        return observer

    def _forget(self) -> None:
        if self._observer is not None:
            self._observer.stop()
            self._observer.join(1.0)
            self._observer = None
