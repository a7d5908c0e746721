"""`folder-relay doctor`: examines a share from one side, alone or together with the other, and stores the profile."""

import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from relay.beacon import beacon_from
from relay.doorbell import doorbell_for
from relay.errors import NotAFrame, PeerSilent, ShareFault
from relay.folder import LocalFolder
from relay.frames import PEER_OF, Side
from relay.measured import Measured, fitting_profile, store_measured
from relay.meeting import Meeting, made_content
from relay.mounts import file_system_of, sync_tool_of
from relay.ports import Clock, Ids
from relay.probe import Probe
from relay.probing import guarded, lone_probes
from relay.profile import Profile
from relay.state import default_state_folder, state_folder

_PINGS: Final = 3
_WAIT_LIMIT_SECONDS: Final = 60.0  # the longest negative cache met (NFS on macOS: 50 s)
_NAMES: Final = {"new": "probenew", "negative": "probenegative", "unsynced": "probeunsynced", "lock": "probelock"}
_SLOW_SECONDS: Final = 1.0


@dataclass(slots=True)
class _Trip:
    """What the talk with the other doctor has shown so far."""

    round_trip: float = 0.0
    negative: float | None = None
    events: bool | None = None
    unsynced: bool | None = None


def examine(
    folder: Path,
    side: Side,
    *,
    state_dir: Path | None,
    clock: Clock,
    ids: Ids,
    with_peer: bool = False,
    patience_seconds: float = 120.0,
) -> list[Probe]:
    """Every probe's finding; what was measured is stored and sets scans and waits from the next start on."""
    try:
        beacon = beacon_from(LocalFolder(folder, side).beacon())
    except (ShareFault, NotAFrame) as error:
        return [Probe("beacon", "fail", str(error), "mount the share, or make the link once: folder-relay init")]
    found = [Probe("beacon", "ok", f"link {beacon.name} ({beacon.link})")]
    place = state_folder(state_dir or default_state_folder(), beacon, side)
    found.append(_state(place))
    found += [guarded("reading", lambda: _reading(folder, side)), guarded("writing", lambda: _writing(folder, side))]
    measured = Measured(
        datetime.fromtimestamp(clock.wall(), UTC).isoformat(timespec="seconds"),
        file_system_of(folder),
        sync_tool_of(folder),
    )
    meeting = Meeting(folder, side, clock, ids, patience_seconds)
    try:
        meeting.begin()
        found += lone_probes(meeting.own, clock)
        if with_peer:
            trip = _Trip()
            found += _together(meeting, side, clock, trip)
            measured = replace(
                measured,
                visibility_seconds=round(trip.round_trip, 3),
                negative_seconds=trip.negative,
                events=trip.events,
                unsynced_readable=trip.unsynced,
            )
        meeting.end()
    except (OSError, PeerSilent) as error:
        found.append(Probe("the other side", "fail", str(error), "start both doctors within the waiting time"))
        return found
    stored = store_measured(place, measured)
    found.append(Probe("profile", "ok", f"{place / 'profile.json'}: {_told(stored)}"))
    return found


def _told(stored: Measured) -> str:
    if stored.visibility_seconds is None:
        return "waits and scans as on a local disk; measure with --peer"
    again = fitting_profile(Profile(), stored).resend_after
    return f"files are seen within {stored.visibility_seconds:.3g} s, and sent again after {again:.3g} s"


def _state(place: Path) -> Probe:
    kind = file_system_of(place)
    return Probe("local state", "ok", f"{place} on {kind or 'an unknown file system'}")


def _reading(folder: Path, side: Side) -> Probe:
    names = LocalFolder(folder, side).arrivals()
    return Probe("reading", "ok", f"to-{side} lists {len(names)} files")


def _writing(folder: Path, side: Side) -> Probe:
    path = folder / f"to-{PEER_OF[side]}" / ".tmp" / f"doctor-{side}"
    path.write_bytes(b"x")
    path.unlink()
    mode = (folder / f"to-{PEER_OF[side]}").stat().st_mode & 0o777
    return Probe("writing", "ok", f"to-{PEER_OF[side]} takes files (rights {mode:o})")


# --- with the other doctor


def _together(meeting: Meeting, side: Side, clock: Clock, trip: _Trip) -> list[Probe]:
    meeting.meet()
    found = []
    for leader in ("agent", "hub"):
        if leader == side:
            found = _led(meeting, clock, trip)
            meeting.say(do="turn")
        else:
            meeting.serve()
    meeting.part()
    return found


def _led(meeting: Meeting, clock: Clock, trip: _Trip) -> list[Probe]:
    return [
        _round_trip(meeting, clock, trip),
        _events(meeting, trip),
        _new_file(meeting, trip),
        _deleted_file(meeting),
        _negative(meeting, trip),
        _unsynced(meeting, trip),
        _locks(meeting),
    ]


def _round_trip(meeting: Meeting, clock: Clock, trip: _Trip) -> Probe:
    trips, offsets = [], []
    for _ in range(_PINGS):
        started, wall = clock.monotonic(), clock.wall()
        there = float(meeting.ask(do="stamp")["wall"])
        trips.append(clock.monotonic() - started)
        offsets.append(there - (wall + clock.wall()) / 2)
    trip.round_trip = max(trips)
    seen = f"{min(trips):.3g} to {max(trips):.3g} s; the other clock is {offsets[0]:+.1f} s off, which decides nothing"
    slow = max(trips) > _SLOW_SECONDS
    todo = "see the mount options in docs/relay.md" if slow else ""
    return Probe("there and back", "warn" if slow else "ok", seen, todo)


def _events(meeting: Meeting, trip: _Trip) -> Probe:
    bell = doorbell_for(meeting.other)
    try:
        listens = bell.listens()
        meeting.say(do="stamp")
        trip.events = listens and bell.wait(2 * trip.round_trip + 0.5)
    finally:
        bell.close()
    meeting.hear()
    seen = "arrive" if trip.events else "do not arrive: the folder is scanned, four times a second when idle"
    return Probe("events of the other side", "ok", seen)


def _new_file(meeting: Meeting, trip: _Trip) -> Probe:
    name = _NAMES["new"]
    meeting.ask(do="make", name=name, synced=True)
    listed = meeting.wait(lambda: name in meeting.names(), f"{name} in the listing", _WAIT_LIMIT_SECONDS)
    opened = meeting.wait(lambda: _whole(meeting, name), f"{name}'s whole content", _WAIT_LIMIT_SECONDS)
    seen = f"listed {listed:.3g} s and readable {listed + opened:.3g} s after the note that followed it"
    trip.round_trip = max(trip.round_trip, listed + opened)
    return Probe("a new file", "ok", seen)


def _deleted_file(meeting: Meeting) -> Probe:
    name = _NAMES["new"]
    meeting.ask(do="remove", name=name)
    try:
        gone = meeting.wait(lambda: name not in meeting.names(), "its disappearance", _WAIT_LIMIT_SECONDS)
    except PeerSilent:
        return Probe("a deleted file", "warn", f"is listed for over {_WAIT_LIMIT_SECONDS:g} s", "the relay ignores it")
    return Probe("a deleted file", "ok", f"is listed for {gone:.3g} s more")


def _negative(meeting: Meeting, trip: _Trip) -> Probe:
    name = _NAMES["negative"]
    path = meeting.other / name
    assert not os.path.lexists(path)  # the look that a cache remembers
    meeting.ask(do="make", name=name, synced=True)
    try:
        trip.negative = meeting.wait(lambda: _whole(meeting, name), "what was absent before", _WAIT_LIMIT_SECONDS)
    except PeerSilent:
        trip.negative = _WAIT_LIMIT_SECONDS
    slow = trip.negative > _SLOW_SECONDS
    seen = f"a name looked up too early stays absent for {trip.negative:.3g} s"
    return Probe("names looked up early", "ok", f"{seen}{': the relay guesses none here' if slow else ''}")


def _unsynced(meeting: Meeting, trip: _Trip) -> Probe:
    name = _NAMES["unsynced"]
    meeting.ask(do="make", name=name, synced=False)
    try:
        meeting.wait(lambda: _whole(meeting, name), "a file without fsync", max(5.0, 2 * trip.round_trip))
        trip.unsynced = True
    except PeerSilent:
        trip.unsynced = False
        return Probe("files without fsync", "warn", "are not read whole", "durability none is refused on this share")
    return Probe("files without fsync", "ok", "are read whole")


def _locks(meeting: Meeting) -> Probe:
    name = _NAMES["lock"]
    if not meeting.ask(do="lock", name=name)["done"]:
        return Probe("locks", "ok", "the other side could take none; the relay uses none in the share")
    meeting.wait(lambda: name in meeting.names(), f"{name} in the listing", _WAIT_LIMIT_SECONDS)
    free = _lockable(meeting.other / name)
    seen = "both sides got the same lock: locks do not reach across" if free else "one taken there is held here"
    return Probe("locks", "ok", f"{seen}; the relay uses none in the share")


def _lockable(path: Path) -> bool:
    try:
        import fcntl  # not on Windows
    except ImportError:
        return False
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _whole(meeting: Meeting, name: str) -> bool:
    try:
        return (meeting.other / name).read_bytes() == made_content(name)
    except OSError:
        return False
