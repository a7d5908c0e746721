"""What the doctor found out about one side's view of a share, kept beside its state, and what follows from it."""

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from relay.errors import UnsafeDurability
from relay.profile import Durability, Profile

PROFILE_NAME: Final = "profile.json"
SYNC_SCAN_SECONDS: Final = 2.0  # a sync tool takes 10 s: looking four times a second finds nothing sooner
NEGATIVE_SECONDS: Final = 1.0  # opening lags by more after a look too early: names are never guessed there
_SILENT_VISIBILITIES: Final = 10  # heartbeats overlap: a peer is not offline for one file that took its time
# Without fsync the other side reads an empty file for ever (9p with cache=loose, measured).
_SYNC_OR_NOTHING: Final = frozenset({"9p"})


@dataclass(frozen=True, slots=True)
class Measured:
    """One share as one side sees it. `None`: not measured. Seconds."""

    at: str = ""
    file_system: str = ""
    sync_tool: str | None = None
    visibility_seconds: float | None = None
    negative_seconds: float | None = None
    events: bool | None = None
    unsynced_readable: bool | None = None


_MEASURED: Final = TypeAdapter(Measured)


def measured_of(state_folder: Path) -> Measured | None:
    """The stored profile; one that cannot be read counts as none, for it can be measured again."""
    try:
        return _MEASURED.validate_json((state_folder / PROFILE_NAME).read_bytes())
    except (OSError, ValidationError):
        return None


def store_measured(state_folder: Path, found: Measured) -> Measured:
    """Keep what was found; what was not measured this time stays as it was known."""
    before = measured_of(state_folder) or Measured()
    known = {name: value for name, value in asdict(found).items() if value is not None}
    merged = replace(before, **known)
    state_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = state_folder / f"{PROFILE_NAME}.new"
    fresh.write_text(json.dumps(asdict(merged), indent=1) + "\n", encoding="utf-8")
    os.replace(fresh, state_folder / PROFILE_NAME)  # noqa: PTH105 - the two names stand side by side
    return merged


def fitting_profile(profile: Profile, found: Measured | None) -> Profile:
    """The profile with its scan periods and timeouts set by what was measured."""
    if found is None:
        return profile
    if found.visibility_seconds is not None:
        offline = max(profile.offline_seconds, _SILENT_VISIBILITIES * found.visibility_seconds)
        profile = replace(profile, visibility_seconds=found.visibility_seconds, offline_seconds=offline)
    if found.sync_tool is not None:
        profile = replace(profile, scan_first_seconds=0.1, scan_limit_seconds=SYNC_SCAN_SECONDS)
    if found.negative_seconds is not None and found.negative_seconds > NEGATIVE_SECONDS:
        profile = replace(profile, guess_seconds=float("inf"))
    return profile


def refuse_unsafe(durability: Durability, found: Measured | None) -> None:
    """Raise `UnsafeDurability` where files that are not synced would never be seen whole by the other side."""
    if durability == "full" or found is None:
        return
    if found.unsynced_readable is False or found.file_system in _SYNC_OR_NOTHING:
        raise UnsafeDurability(
            f"durability none is refused on this share ({found.file_system or 'measured'}): without fsync the other "
            "side reads empty files; use durability full, or measure again: folder-relay doctor --peer"
        )
