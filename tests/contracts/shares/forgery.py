"""What anybody with write access to a share can put into it: valid frames made by hand, and all that is none."""

import os
from pathlib import Path

from relay.beacon import beacon_from
from relay.frames import Message, RequestHead, Side, frame_bytes, packed
from relay.names import FrameName

SPARSE_BYTES = 2 << 30
FOREIGN = (".DS_Store", "Thumbs.db", "desktop.ini", ".nfs000000000001", ".fuse_hidden00000001", "Снег.json", "x" * 255)
# What sync tools and desktops make of a frame's name; each gets the content of a real frame.
TWINS = (
    "._{}",
    "~{}",
    ".syncthing.{}.tmp",
    "~syncthing~{}.tmp",
    "{}.sync-conflict-20260101-120000-ABCDEFG",
    "{}.tmp",
    "{} (copy)",
)


def link_id(folder: Path) -> str:
    return beacon_from((folder / "link.json").read_bytes()).link


def sealed_request(link: str, sender: Side, name: FrameName, life: int, request: str) -> bytes:
    """A frame with a right seal that carries one request."""
    head = RequestHead("POST", f"/{request}", [])
    return frame_bytes(
        link=link,
        sender=sender,
        epoch=name.epoch,
        life=life,
        name=name,
        low=1,
        ack=None,
        sent_at=0.0,
        messages=[packed(Message("request", request, head, b"{}"))],
    )


def spread(folder: Path, elsewhere: Path, link: str, sender: Side, epochs: tuple[str, ...]) -> dict[str, int]:
    """Fill `folder` with what is no frame; how many of each kind bear a frame's name (`unfit`) or none (`foreign`).

    Whatever has content has that of a real frame of a later life: were any of it ever parsed, its request would run
    and its life would retire the true sender's.
    """
    elsewhere.mkdir(exist_ok=True)
    unfit = 0
    for epoch in epochs:
        for number, make in enumerate((_fifo, _link, _hard_link, _directory, _sparse), 90_000_001):
            name = FrameName(epoch, number, 0)
            content = sealed_request(link, sender, name, 2**40, f"hostile-{epoch}-{number}")
            outside = elsewhere / f"{folder.parent.name}-{folder.name}-{name}"
            outside.write_bytes(content)
            make(folder / str(name), outside)
            unfit += 1
    name = FrameName(epochs[0], 1, 0)
    content = sealed_request(link, sender, FrameName(epochs[0], 1, 0), 2**40, "hostile-twin")
    foreign = [*FOREIGN, *(twin.format(name) for twin in TWINS), str(name).upper()]
    for each in foreign:
        (folder / each).write_bytes(content)
    raw = os.fsencode(folder) + b"/\xff\xfe.json"  # no text in any encoding of ours
    with open(raw, "wb") as file:  # noqa: PTH123 - a path that is no text
        file.write(content)
    return {"unfit": unfit, "foreign": len(foreign) + 1}


def _fifo(place: Path, outside: Path) -> None:
    os.mkfifo(place)


def _link(place: Path, outside: Path) -> None:
    place.symlink_to(outside)


def _hard_link(place: Path, outside: Path) -> None:
    place.hardlink_to(outside)


def _directory(place: Path, outside: Path) -> None:
    place.mkdir()
    (place / outside.name).write_bytes(outside.read_bytes())


def _sparse(place: Path, outside: Path) -> None:
    # Made elsewhere: between the writing and the growing it is for a moment a right frame of a later life.
    made = outside.with_suffix(".sparse")
    with made.open("wb") as file:
        file.write(outside.read_bytes())
        file.truncate(SPARSE_BYTES)
    made.rename(place)
