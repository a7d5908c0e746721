"""`folder-relay fsck`: holds the folder against one side's local state, while that side is stopped."""

from dataclasses import dataclass, field
from pathlib import Path

from relay.beacon import Beacon, beacon_from
from relay.errors import FrameGone, FrameUnfit, NotAFrame
from relay.folder import LocalFolder
from relay.frames import PEER_OF, Frame, Side, frame_from
from relay.holding import machine_folder
from relay.leftovers import leftovers
from relay.link import Me, Peer
from relay.names import FrameName, frame_name
from relay.pairing import keys_of, with_keys
from relay.ports import Clock
from relay.probe import Probe
from relay.profile import MAX_FRAME_BYTES
from relay.quarantine import QUARANTINE_NAME
from relay.state import State, default_state_folder

_SHOWN = 5


@dataclass(slots=True)
class _Sorted:
    """The other side's files."""

    foreign: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    old: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)


def inspect(folder: Path, side: Side, *, state_dir: Path | None, clock: Clock, repair: bool) -> list[Probe]:
    """What fits together and what does not. `repair` deletes what is provably this side's own and of no use.

    Raises `AlreadyRunning` while the side runs: what it has under way would look like disorder.
    """
    place = LocalFolder(folder, side, clock)
    beacon = beacon_from(place.beacon())
    state = State(state_dir or default_state_folder(), beacon, side, "full", clock, machine_folder())
    try:
        keys = keys_of(state, beacon.link, side, None)
        me = with_keys(Me(beacon.link, side, "", state.life() + 1), keys)
        return [
            _own_frames(place, me, repair=repair),
            _temporary(place, repair=repair),
            *_incoming(place, me, state.peer()),
            _quarantine(state.folder, repair=repair),
            _open_work(state),
            _other_folders(folder, beacon),
        ]
    finally:
        state.close()


def _own_frames(place: LocalFolder, me: Me, *, repair: bool) -> Probe:
    names, ours = place.own(), leftovers(place, me)
    strange = len(names) - len(ours)
    if repair:
        for name in ours:
            place.delete(name)
    seen = (
        f"{len(ours)} frames of earlier lives{' deleted' if repair and ours else ''}, {strange} files not provably ours"
    )
    if strange:
        return Probe("own folder", "warn", seen, f"look at them: {_some(sorted(set(names) - set(ours)))}")
    return Probe("own folder", "ok", seen, "" if repair or not ours else "the next start deletes them, or --repair")


def _temporary(place: LocalFolder, *, repair: bool) -> Probe:
    found = sorted((place.outbox / ".tmp").iterdir())
    if repair:
        for path in found:
            path.unlink()
    seen = f"{len(found)} left by crashes{' deleted' if repair and found else ''}"
    return Probe("temporary files", "ok", seen, "" if repair or not found else "--repair deletes them")


def _incoming(place: LocalFolder, me: Me, peer: Peer) -> list[Probe]:
    found = _Sorted()
    for name in place.arrivals():
        _sort(place, me, peer, name, found)
    highest = max(found.waiting, default=peer.taken)
    gaps = sorted(set(range(peer.taken + 1, highest)) - set(found.waiting))
    waiting = (
        f"{len(found.waiting)} frames wait to be taken, {len(found.taken)} are taken and for the other side to delete"
    )
    probes = [Probe("incoming", "ok", waiting)]
    if gaps:
        seen = f"{len(gaps)} frames are missing before the last one here: {_some([str(gap) for gap in gaps])}"
        probes.append(Probe("gaps", "warn", seen, "start this side: it asks for them at once"))
    if found.old:
        probes.append(
            Probe("earlier lives", "ok", f"{len(found.old)} frames of ended lives, ignored: {_some(found.old)}")
        )
    if found.damaged:
        seen = f"{len(found.damaged)} files with a frame's name prove nothing: {_some(found.damaged)}"
        probes.append(
            Probe("damaged", "warn", seen, "the sender repeats what matters; delete them by hand if they stay")
        )
    if found.foreign:
        probes.append(Probe("foreign files", "ok", f"{len(found.foreign)}, never touched: {_some(found.foreign)}"))
    return probes


def _sort(place: LocalFolder, me: Me, peer: Peer, name: str, found: _Sorted) -> None:
    parsed = frame_name(name)
    if parsed is None:
        found.foreign.append(name)
        return
    try:
        frame: Frame = frame_from(place.read(name, MAX_FRAME_BYTES), parsed, me.peer_key, me.cipher)
    except FrameGone:
        return
    except (FrameUnfit, NotAFrame):
        found.damaged.append(name)
        return
    if frame.link != me.link or frame.sender != PEER_OF[me.side]:
        found.damaged.append(name)
    elif frame.epoch != peer.epoch and frame.life <= peer.life:
        found.old.append(name)
    elif not isinstance(parsed, FrameName) or (frame.epoch == peer.epoch and frame.seq <= peer.taken):
        found.taken.append(name)
    elif frame.epoch == peer.epoch:
        found.waiting.append(frame.seq)


def _quarantine(state_folder: Path, *, repair: bool) -> Probe:
    folder = state_folder / QUARANTINE_NAME
    kept = sorted(folder.iterdir()) if folder.is_dir() else []
    if repair:
        for path in kept:
            path.unlink()
    seen = f"{len(kept)} copies in {folder}{' deleted' if repair and kept else ''}"
    return Probe(
        "quarantine", "warn" if kept and not repair else "ok", seen, "look at them, then --repair" if kept else ""
    )


def _open_work(state: State) -> Probe:
    seen = f"{len(state.unsent())} answers not acknowledged, {len(state.interrupted())} requests interrupted"
    return Probe("open work", "ok", f"{seen}; the next start goes on with them")


def _other_folders(folder: Path, beacon: Beacon) -> Probe:
    expected = {"link.json", *(f"to-{side}" for side in PEER_OF), *(f"doctor-{side}" for side in PEER_OF)}
    strange = sorted(path.name for path in folder.iterdir() if path.name not in expected)
    if strange:
        return Probe("link folder", "ok", f"{len(strange)} foreign files, never touched: {_some(strange)}")
    return Probe("link folder", "ok", f"link {beacon.name}, nothing foreign beside it")


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
