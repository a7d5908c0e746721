"""Keys of a paired link: the text a person types, and what is derived from it. Pure; files stand in `pairing`."""

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

from relay.errors import KeyUnreadable
from relay.frames import PEER_OF, Side

KEY_BYTES: Final = 32
_CHECK_BYTES: Final = 2
_TEXT_LENGTH: Final = 56  # of 35 bytes in base32: no padding, 14 groups of 4
_HIDES: Final = 1
_LOOK_ALIKES: Final = str.maketrans({"0": "O", "1": "I", "8": "B", "-": None, " ": None, "\t": None})


@dataclass(frozen=True, slots=True)
class PairingKey:
    """What both sides of a link share; `hides`: bodies and heads of messages travel encrypted."""

    secret: bytes
    hides: bool = False


@dataclass(frozen=True, slots=True)
class LinkKeys:
    """What one side of one link uses: a key of its own for each direction and purpose."""

    seal_own: bytes
    seal_peer: bytes
    hide_own: bytes
    hide_peer: bytes
    hides: bool
    fingerprint: str


def key_text(key: PairingKey) -> str:
    """The key as people type it: 14 groups of 4 letters and digits; a typing mistake is told from a wrong key."""
    content = key.secret + bytes([_HIDES if key.hides else 0])
    text = base64.b32encode(content + _check(content)).decode("ascii").lower()
    return "-".join(text[start : start + 4] for start in range(0, len(text), 4))


def key_from(text: str) -> PairingKey:
    """The key in a text as `key_text` gives it; case, blanks, dashes and 0/O, 1/I, 8/B do not matter.

    Raises `KeyUnreadable`, which never repeats the text.
    """
    letters = text.strip().upper().translate(_LOOK_ALIKES)
    if len(letters) != _TEXT_LENGTH:
        raise KeyUnreadable(f"a key has 14 groups of 4, this has {len(letters)} letters and digits of {_TEXT_LENGTH}")
    try:
        content = base64.b32decode(letters)
    except (binascii.Error, ValueError) as error:
        raise KeyUnreadable("a key consists of the letters a to z and the digits 2 to 7") from error
    content, check = content[:-_CHECK_BYTES], content[-_CHECK_BYTES:]
    if not hmac.compare_digest(check, _check(content)) or content[KEY_BYTES] > _HIDES:
        raise KeyUnreadable("the key was not typed as it was shown: compare it group by group")
    return PairingKey(content[:KEY_BYTES], content[KEY_BYTES] == _HIDES)


def link_keys(key: PairingKey, link: str, side: Side) -> LinkKeys:
    """The keys of `side` on this link: what one direction seals never passes in the other, or on another link."""
    own, peer = PEER_OF[side], side  # a frame is named by where it goes

    def derived(purpose: str, direction: Side) -> bytes:
        return _hkdf(key.secret, salt=link.encode(), info=f"folder-relay {purpose} to-{direction}".encode())

    return LinkKeys(
        derived("seal", own),
        derived("seal", peer),
        derived("hide", own),
        derived("hide", peer),
        key.hides,
        _hkdf(key.secret, salt=link.encode(), info=b"folder-relay fingerprint")[:6].hex(),
    )


def _check(content: bytes) -> bytes:
    return hashlib.sha256(b"folder-relay key" + content).digest()[:_CHECK_BYTES]


def _hkdf(secret: bytes, *, salt: bytes, info: bytes) -> bytes:
    """HKDF-SHA256 (RFC 5869) of one block, 32 bytes."""
    extracted = hmac.digest(salt, secret, "sha256")
    return hmac.digest(extracted, info + b"\x01", "sha256")
