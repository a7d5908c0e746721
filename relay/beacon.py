"""The beacon `link.json`: which link this folder is, and that the share is there at all. Form only, no I/O."""

import json
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError, with_config

from relay.errors import NotAFrame
from relay.profile import PROTOCOL
from relay.sealing import sealed, unsealed

BEACON_NAME: Final = "link.json"
BEACON_LIMIT: Final = 4_096
NAME_PATTERN: Final = r"^[a-z0-9][a-z0-9.-]{0,31}$"


@with_config(ConfigDict(extra="ignore"))
@dataclass(frozen=True, slots=True)
class Beacon:
    """One link: its id for machines, its name for people, the range of protocols it was made for."""

    link: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
    name: Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
    protocol: Annotated[list[Annotated[int, Field(strict=True)]], Field(min_length=2, max_length=2)]

    def speaks(self, version: int) -> bool:
        return self.protocol[0] <= version <= self.protocol[1]


_BEACON: Final = TypeAdapter(Beacon)


def beacon_bytes(link: str, name: str) -> bytes:
    """The beacon of a new link."""
    content = {"format": "folder-relay", "link": link, "name": name, "protocol": [PROTOCOL, PROTOCOL]}
    return sealed(json.dumps(content, separators=(",", ":")).encode()[:-1])


def beacon_from(data: bytes) -> Beacon:
    """The beacon in `data`; raises `NotAFrame`: a beacon half copied by a sync tool is none yet."""
    try:
        return _BEACON.validate_python(json.loads(unsealed(data)))
    except (ValidationError, ValueError, RecursionError) as error:
        raise NotAFrame(f"no beacon: {error}") from error
