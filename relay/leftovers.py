"""What this side's earlier lives left in the folder. Only what proves to be theirs may be deleted."""

from datetime import UTC, datetime

from relay.errors import FrameGone, FrameUnfit, NotAFrame, ShareFault
from relay.frames import Frame, frame_from
from relay.link import Me
from relay.names import AnyName, frame_name
from relay.ports import Folder
from relay.profile import MAX_FRAME_BYTES


def leftovers(folder: Folder, me: Me) -> list[str]:
    """The frames of earlier lives of `me`: of no use any more, for whatever matters is sent anew.

    Anybody can put a file with a frame's name here; a name alone makes nothing ours. What cannot be listed or read
    now waits for the next start: it does no harm, and a start must not fail for it.
    """
    found: list[str] = []
    try:
        names = folder.own()
    except ShareFault:
        return found
    for name in names:
        parsed = frame_name(name)
        if parsed is None:
            continue
        try:
            frame = own_frame(folder, parsed, me)
        except (FrameGone, FrameUnfit, NotAFrame, ShareFault):
            continue
        if (frame.link, frame.sender) == (me.link, me.side) and frame.life < me.life:
            found.append(name)
    return found


def usurper(folder: Folder, me: Me, epoch: str) -> str:
    """Who else is this side now, as its own frames tell."""
    life = None
    for name in folder.own():
        parsed = frame_name(name)
        if parsed is None or parsed.epoch != epoch:
            continue
        try:
            life = own_frame(folder, parsed, me).life
        except (FrameGone, FrameUnfit, NotAFrame):
            continue
    return f"{another(me, epoch, life)}: stop one of them, and start the other anew"


def another(me: Me, epoch: str, life: int | None) -> str:
    """The process whose epoch this is, and since when, where that is known."""
    # A life is counted from the clock of the machine where it began.
    since = "" if life is None else f" since {datetime.fromtimestamp(life, UTC).isoformat(timespec='seconds')}"
    return (
        f"another process is the {me.side} side of this link{since} (epoch {epoch}), with a memory of its own, "
        "perhaps on another machine"
    )


def own_frame(folder: Folder, name: AnyName, me: Me) -> Frame:
    """A frame in this side's own folder. Raises `FrameGone`, `FrameUnfit`, `NotAFrame`, `ShareFault`."""
    data = folder.read_own(str(name), MAX_FRAME_BYTES)
    try:
        return frame_from(data, name, me.key)
    except NotAFrame:
        if me.key is None:
            raise
        return frame_from(data, name)  # of a life before the link was paired
