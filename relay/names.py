"""The names of frames: how they are formed, and which names are frames at all."""

import re
from dataclasses import dataclass
from typing import Final

# A name is used once. More than 8 and 2 digits are for processes that live long; these last for decades.
MAX_SEQ: Final = 999_999_999_999
MAX_ATTEMPT: Final = 999_999_999
# [0-9], not \d: the latter also matches digits of other scripts, which no frame of ours bears.
_SEQ: Final = "([0-9]{8}|[1-9][0-9]{8,11})"
_FRAME: Final = re.compile(rf"([0-9a-f]{{12}})-{_SEQ}-([0-9]{{2}}|[1-9][0-9]{{2,8}})\.json")
_ACK: Final = re.compile(rf"([0-9a-f]{{12}})-ack-{_SEQ}\.json")


@dataclass(frozen=True, slots=True, order=True)
class FrameName:
    """`<epoch>-<seq>-<try>.json`: a frame that is numbered, kept and acknowledged."""

    epoch: str
    seq: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.epoch}-{self.seq:08d}-{self.attempt:02d}.json"


@dataclass(frozen=True, slots=True, order=True)
class AckName:
    """`<epoch>-ack-<n>.json`: a frame that only acknowledges; never acknowledged itself."""

    epoch: str
    number: int

    def __str__(self) -> str:
        return f"{self.epoch}-ack-{self.number:08d}.json"


AnyName = FrameName | AckName


def frame_name(text: str) -> AnyName | None:
    """The frame's name in `text`, or nothing: a foreign file, to be counted and left alone."""
    if found := _FRAME.fullmatch(text):
        return FrameName(found[1], int(found[2]), int(found[3]))
    if found := _ACK.fullmatch(text):
        return AckName(found[1], int(found[2]))
    return None


def taking_order(name: AnyName, epoch: str | None) -> tuple[bool, str, bool, int]:
    """Sorts what is in the folder: the known life first, then by number, bare acknowledgements after the frames."""
    if isinstance(name, FrameName):
        return (name.epoch != epoch, name.epoch, False, name.seq)
    return (name.epoch != epoch, name.epoch, True, name.number)
