"""The doctor's probes that one side can do alone, in a scratch folder of its own below the share."""

import contextlib
import os
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Final

from relay.folder import FREE_BYTES
from relay.mounts import file_system_of, sync_tool_of
from relay.ports import Clock
from relay.probe import Probe, State

_ROUNDS: Final = 20
_NAME_LENGTH: Final = 64
_FREE_WISHED: Final = 256 << 20
_DEAR_LISTING_SECONDS: Final = 0.02
_FINE_STEP_SECONDS: Final = 0.01


def lone_probes(scratch: Path, clock: Clock) -> list[Probe]:
    """All of them. `scratch` is empty, in the share, and this side's alone."""
    probes: list[tuple[str, Callable[[], Probe]]] = [
        ("file system", lambda: _file_system(scratch)),
        ("rename", lambda: _rename(scratch)),
        ("rename over", lambda: _rename_over(scratch)),
        ("exclusive creation", lambda: _exclusive(scratch)),
        ("hard links", lambda: _hard_link(scratch)),
        ("upper and lower case", lambda: _case(scratch)),
        ("accents in names", lambda: _accents(scratch)),
        ("length of names", lambda: _length(scratch)),
        ("modification times", lambda: _times(scratch, clock)),
        ("fsync of files", lambda: _fsync_file(scratch, clock)),
        ("fsync of folders", lambda: _fsync_folder(scratch)),
        ("listing", lambda: _listing(scratch, clock)),
        ("free space", lambda: _free(scratch)),
    ]
    return [guarded(name, probe) for name, probe in probes]


def guarded(name: str, probe: Callable[[], Probe]) -> Probe:
    """A probe that fails with the share's error says so instead of ending the examination."""
    try:
        return probe()
    except OSError as error:
        return Probe(name, "fail", f"{error.strerror or error}", "look at the mount, its options and rights")


def _file_system(scratch: Path) -> Probe:
    kind, tool = file_system_of(scratch), sync_tool_of(scratch)
    seen = f"{kind or 'unknown'}{f', carried by {tool}' if tool else ''}"
    advice = {
        "fuse.sshfs": "mount with -o cache=no,reconnect: the cache shows new files 20 s late",
        "nfs": "mount with lookupcache=none,actimeo=1",
        "nfs4": "mount with lookupcache=none,actimeo=1",
        "cifs": "mount with cache=none,actimeo=0",
        "smb3": "mount with cache=none,actimeo=0",
        "9p": "mount with cache=none; never with durability none",
        "virtiofs": "share with cache=auto or cache=none",
    }.get(kind, "exclude the .tmp folders from syncing" if tool else "")
    return Probe("file system", "warn" if advice else "ok", seen, advice)


def _rename(scratch: Path) -> Probe:
    for number in range(_ROUNDS):
        source, target = scratch / f"r{number}.tmp", scratch / f"r{number}.json"
        source.write_bytes(b"x" * 4_096)
        source.rename(target)
        names = os.listdir(scratch)  # noqa: PTH208 - names are what is asked for
        if target.name not in names or source.name in names or target.read_bytes() != b"x" * 4_096:
            seen = f"after a rename the listing or the content was old ({number + 1} of {_ROUNDS})"
            return Probe("rename", "warn", seen, "the relay waits for whole files, so it works, but late")
        target.unlink()
    return Probe("rename", "ok", "to a free name, seen at once by this side, whole")


def _rename_over(scratch: Path) -> Probe:
    old, new = scratch / "over.json", scratch / "over.tmp"
    old.write_bytes(b"old")
    new.write_bytes(b"new")
    try:
        new.replace(old)
    except OSError as error:
        new.unlink(missing_ok=True)
        old.unlink(missing_ok=True)
        return Probe("rename over", "ok", f"refused ({error.strerror}); the relay never does it")
    content = old.read_bytes()
    old.unlink()
    state = "works" if content == b"new" else "leaves the old content"
    return Probe("rename over", "ok", f"{state}; the relay never does it")


def _exclusive(scratch: Path) -> Probe:
    path = scratch / "exclusive"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return Probe("exclusive creation", "ok", "O_EXCL is kept")
    finally:
        path.unlink()
    return Probe("exclusive creation", "warn", "O_EXCL is ignored", "run one process a side; epochs tell a second one")


def _hard_link(scratch: Path) -> Probe:
    path, twin = scratch / "linked", scratch / "linked.twin"
    path.write_bytes(b"x")
    try:
        os.link(path, twin)
    except OSError as error:
        return Probe("hard links", "ok", f"none here ({error.strerror}); the relay needs none")
    finally:
        twin.unlink(missing_ok=True)
        path.unlink()
    return Probe("hard links", "ok", "work; the relay needs none")


def _case(scratch: Path) -> Probe:
    lower = scratch / "case"
    lower.write_bytes(b"x")
    same = (scratch / "CASE").exists()
    lower.unlink()
    return Probe("upper and lower case", "ok", "are one" if same else "differ", "")


def _accents(scratch: Path) -> Probe:
    composed = unicodedata.normalize("NFC", "é")
    path = scratch / composed
    try:
        path.write_bytes(b"x")
        names = os.listdir(scratch)  # noqa: PTH208 - names are what is asked for
        path.unlink()
    except (OSError, UnicodeError) as error:
        return Probe("accents in names", "ok", f"refused ({error}); the relay uses plain letters alone")
    changed = composed not in names
    return Probe("accents in names", "ok", f"{'changed' if changed else 'kept'}; the relay uses plain letters alone")


def _length(scratch: Path) -> Probe:
    longest = 0
    for length in (_NAME_LENGTH, 128, 255):
        path = scratch / ("n" * length)
        try:
            path.write_bytes(b"")
            path.unlink()
        except OSError:
            break
        longest = length
    if longest < _NAME_LENGTH:
        return Probe("length of names", "fail", f"{_NAME_LENGTH} letters do not fit", "use a shorter path to the share")
    return Probe("length of names", "ok", f"{longest} letters")


def _times(scratch: Path, clock: Clock) -> Probe:
    path = scratch / "time"
    path.write_bytes(b"x")
    found = path.stat()
    path.unlink()
    step = 1.0 if found.st_mtime_ns % 1_000_000_000 == 0 else _FINE_STEP_SECONDS
    apart = found.st_mtime - clock.wall()
    seen = f"steps of {'whole seconds' if step == 1.0 else 'less than a second'}, {apart:+.1f} s from this clock"
    return Probe("modification times", "ok", f"{seen}; the relay decides nothing by them")


def _fsync_file(scratch: Path, clock: Clock) -> Probe:
    path, started = scratch / "synced", clock.monotonic()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, b"x" * 4_096)
        os.fsync(descriptor)
    except OSError as error:
        return Probe("fsync of files", "fail", f"{error.strerror}", "nothing can be published durably: durability none")
    finally:
        os.close(descriptor)
        path.unlink()
    return Probe("fsync of files", "ok", f"{(clock.monotonic() - started) * 1000:.1f} ms")


def _fsync_folder(scratch: Path) -> Probe:
    try:
        descriptor = os.open(scratch, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        seen = f"not here ({error.strerror})"
        return Probe("fsync of folders", "warn", seen, "after a power cut a file may be gone; it is then sent again")
    return Probe("fsync of folders", "ok", "works")


def _listing(scratch: Path, clock: Clock) -> Probe:
    for number in range(_ROUNDS):
        (scratch / f"l{number}").write_bytes(b"")
    started = clock.monotonic()
    names = os.listdir(scratch)  # noqa: PTH208 - names are what is asked for
    cost = clock.monotonic() - started
    for number in range(_ROUNDS):
        with contextlib.suppress(FileNotFoundError):
            (scratch / f"l{number}").unlink()
    if len(names) < _ROUNDS:
        return Probe(
            "listing", "warn", f"shows {len(names)} of {_ROUNDS} own files", "its cache is old: see mount options"
        )
    slow = cost > _DEAR_LISTING_SECONDS
    return Probe("listing", "ok", f"{cost * 1000:.2f} ms{': scans are spaced accordingly' if slow else ''}")


def _free(scratch: Path) -> Probe:
    if not hasattr(os, "statvfs"):
        return Probe("free space", "ok", "cannot be asked on this system")
    found = os.statvfs(scratch)
    free = found.f_bavail * found.f_frsize
    if not found.f_blocks:
        return Probe("free space", "ok", "this file system does not tell")
    state: State = "fail" if free < FREE_BYTES else "warn" if free < _FREE_WISHED else "ok"
    todo = "" if state == "ok" else "make room on the share: nothing is written below 4 MiB"
    return Probe("free space", state, f"{free >> 20} MiB", todo)
