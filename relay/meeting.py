"""Two doctors talk: sealed notes in a folder of each, below the link. Each writes and deletes its own files alone.

Slow on purpose: it needs nothing but what is being measured, a listing and a file, however late both are.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from relay.errors import NotAFrame, PeerSilent
from relay.frames import PEER_OF, Side
from relay.ports import Clock, Ids
from relay.sealing import sealed, unsealed

_LOOK_SECONDS: Final = 0.005
_LOOK_LIMIT_SECONDS: Final = 0.1
_NOTE_LIMIT: Final = 65_536


class Meeting:
    """One side's part of the talk."""

    def __init__(self, link_folder: Path, side: Side, clock: Clock, ids: Ids, patience_seconds: float) -> None:
        self.own, self.other = link_folder / f"doctor-{side}", link_folder / f"doctor-{PEER_OF[side]}"
        self._clock, self._patience = clock, patience_seconds
        self._token, self._peer = ids.new_id()[:12], ""
        self._said = self._heard = 0
        self._held: list[int] = []

    def meet(self) -> None:
        """Find the other doctor that runs now; notes of earlier ones may lie about. Raises `PeerSilent`."""
        self._write(f"{self._token}-hello.json", b"{}")
        greeted: set[str] = set()

        def met() -> bool:
            for name in self.names():
                token, _, rest = name.partition("-")
                if rest == "hello.json" and token not in greeted:
                    greeted.add(token)
                    self._write(f"{self._token}-met-{token}.json", b"{}")
                if rest == f"met-{self._token}.json" and token in greeted:
                    self._peer = token
            return bool(self._peer)

        self.wait(met, "the other doctor: run folder-relay doctor --peer on the other machine within this time")

    def say(self, **content: Any) -> None:
        """Leave a note."""
        self._said += 1
        self._write(f"{self._token}-{self._said:04d}.json", sealed(json.dumps(content).encode()[:-1]))

    def hear(self) -> dict[str, Any]:
        """The other's next note. Raises `PeerSilent`."""
        self._heard += 1
        path = self.other / f"{self._peer}-{self._heard:04d}.json"
        notes: list[dict[str, Any]] = []

        def noted() -> bool:
            if path.name not in self.names():  # never opened before it is listed: a miss is remembered for long
                return False
            with contextlib.suppress(OSError, NotAFrame, ValueError):
                notes.append(json.loads(unsealed(path.read_bytes()[:_NOTE_LIMIT])))
            return bool(notes)

        self.wait(noted, "the other doctor's next note")
        return notes[0]

    def ask(self, **content: Any) -> dict[str, Any]:
        """Say something, and hear the answer."""
        self.say(**content)
        return self.hear()

    def names(self) -> set[str]:
        """What the other's folder shows."""
        try:
            return set(os.listdir(self.other))  # noqa: PTH208 - names are what is asked for
        except OSError:
            return set()

    def wait(self, condition: Callable[[], bool], what: str, seconds: float | None = None) -> float:
        """Look until it is so; the seconds it took. Raises `PeerSilent`."""
        started, gap = self._clock.monotonic(), _LOOK_SECONDS
        ends = started + (self._patience if seconds is None else seconds)
        while not condition():
            if self._clock.monotonic() >= ends:
                raise PeerSilent(f"nothing came within {ends - started:g} s of {what}")
            self._clock.sleep(gap)
            gap = min(gap * 1.2, _LOOK_LIMIT_SECONDS)
        return self._clock.monotonic() - started

    def serve(self) -> None:
        """Do what the other doctor asks, until it says that it is through."""
        while (wish := self.hear()).get("do") != "turn":
            match wish:
                case {"do": "stamp"}:
                    self.say(wall=self._clock.wall())
                case {"do": "make", "name": str(name), "synced": bool(synced)} if name.isalnum():
                    self._write(name, made_content(name), synced=synced)
                    self.say(done=True)
                case {"do": "remove", "name": str(name)} if name.isalnum():
                    (self.own / name).unlink(missing_ok=True)
                    self.say(done=True)
                case {"do": "lock", "name": str(name)} if name.isalnum():
                    self.say(done=self._lock(self.own / name))
                case _:
                    self.say(done=False)

    def part(self) -> None:
        """Stay until the other has heard the last note, or was seen to leave."""
        self.say(do="farewell")
        self._heard += 1
        farewell, hello = f"{self._peer}-{self._heard:04d}.json", f"{self._peer}-hello.json"
        self.wait(lambda: farewell in (names := self.names()) or hello not in names, "the other doctor's farewell")

    def begin(self) -> None:
        """Make this doctor's folder, without what an earlier one left in it."""
        self.own.mkdir(exist_ok=True)
        for path in self.own.iterdir():
            path.unlink()

    def end(self) -> None:
        """Take everything of this doctor away."""
        while self._held:
            os.close(self._held.pop())
        for name in os.listdir(self.own):  # noqa: PTH208 - names are what is asked for
            (self.own / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # somebody else's file is in it
            self.own.rmdir()

    def _lock(self, path: Path) -> bool:
        try:
            import fcntl  # not on Windows
        except ImportError:
            return False
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        self._held.append(descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _write(self, name: str, data: bytes, *, synced: bool = True) -> None:
        fresh = self.own / f".{name}"
        with fresh.open("wb") as stream:
            stream.write(data)
            if synced:
                stream.flush()
                os.fsync(stream.fileno())
        fresh.rename(self.own / name)


def made_content(name: str) -> bytes:
    """What a file that the other doctor was asked to make holds."""
    return hashlib.sha256(name.encode()).hexdigest().encode() * 100
