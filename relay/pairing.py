"""Pairing: a key made on one side, typed on the other, kept in a file of its owner alone; never in the share.

Once a link was paired, this side takes no frame without the key's seal any more, over restarts too.
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from relay.clock import random_bytes
from relay.errors import AlreadyPaired, KeyUnreadable
from relay.folder import link_of
from relay.frames import Side
from relay.keying import KEY_BYTES, LinkKeys, PairingKey, key_from, key_text, link_keys
from relay.link import Me
from relay.state import State, default_state_folder, state_folder

KEY_NAME: Final = "key"
_KEY_FILE_LIMIT: Final = 1_024


def new_key_text(*, hides: bool = False) -> str:
    """A new key as people type it; `hides`: heads and bodies of messages are to be encrypted too."""
    return key_text(PairingKey(random_bytes(KEY_BYTES), hides))


def store_key(
    folder: str | os.PathLike[str],
    text: str,
    *,
    side: Side,
    state_dir: str | os.PathLike[str] | None = None,
    again: bool = False,
) -> Path:
    """Pair this side of the link in `folder` with the key in `text`; it counts from the side's next start.

    Raises `KeyUnreadable`, `ShareFault`, and `AlreadyPaired` unless `again` replaces an older key on purpose.
    """
    key = key_from(text)
    place = state_folder(state_dir or default_state_folder(), link_of(folder), side)
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = place / KEY_NAME
    fresh = place / f"{KEY_NAME}.new"
    if path.exists() and not again:
        raise AlreadyPaired(f"this side is paired already ({path}); replace the key on both sides, or on none")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(key_text(key) + "\n")
        stream.flush()
        os.fsync(descriptor)
    fresh.replace(path)
    return path


def read_key(path: Path) -> PairingKey:
    """The key in a file that only its owner may read. Raises `KeyUnreadable`."""
    try:
        with path.open("rb") as stream:
            if os.name == "posix" and stat.S_IMODE(os.fstat(stream.fileno()).st_mode) & 0o077:
                raise KeyUnreadable(f"{path} may be read by others than its owner: chmod 600 it")
            return key_from(stream.read(_KEY_FILE_LIMIT).decode("ascii"))
    except (OSError, UnicodeDecodeError) as error:
        raise KeyUnreadable(f"the pairing key {path} cannot be read: {error}") from error


def keys_of(state: State, link: str, side: Side, key_file: str | os.PathLike[str] | None) -> LinkKeys | None:
    """The keys of this side, `None` where it never was paired. What was paired once stays so: the ratchet."""
    path = Path(key_file) if key_file is not None else state.folder / KEY_NAME
    paired = state.paired()
    if key_file is None and not path.exists():
        if paired is None:
            return None
        raise KeyUnreadable(
            f"this link was paired (key {paired}), and its key {path} is gone: "
            "without it every frame is refused; type it again with: folder-relay pair --typed"
        )
    keys = link_keys(read_key(path), link, side)
    if keys.fingerprint != paired:
        state.remember_paired(keys.fingerprint)
    return keys


def with_keys(me: Me, keys: LinkKeys | None) -> Me:
    """This side as it seals, proves and hides with its keys."""
    if keys is None:
        return me
    me = replace(me, key=keys.seal_own, peer_key=keys.seal_peer, hides=keys.hides)
    if not keys.hides:
        return me
    from relay.secrecy import ChaChaCipher  # `cryptography` is needed by those who encrypt alone

    return replace(me, cipher=ChaChaCipher(keys.hide_own, keys.hide_peer, random_bytes))


def pairing_problem(counts: Mapping[str, int]) -> str:
    """What to add to a complaint of silence where only one of the sides is paired."""
    if counts["keyed"]:
        return "; its frames are sealed with a pairing key: store that key here too (folder-relay pair --typed)"
    if counts["downgraded"]:
        return "; its frames lack the seal of the pairing key and are refused: store the key there too"
    return ""
