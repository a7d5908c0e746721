"""The seal: the last member of a JSON document, over all raw bytes before it, checked before anything is parsed."""

import hashlib
import hmac
from typing import Final

from relay.errors import NotAFrame

_PLAIN: Final = b',"seal":"sha256:'
_KEYED: Final = b',"seal":"hmac-sha256:'
_END: Final = b'"}\n'
_DIGITS: Final = 64


def sealed(content: bytes, key: bytes | None = None) -> bytes:
    """`content`, a JSON object without its closing brace, closed with the seal over it."""
    opening = _PLAIN if key is None else _KEYED
    return b"".join((content, opening, _digest(content, key), _END))


def unsealed(data: bytes, key: bytes | None = None) -> bytes:
    """The JSON object under the seal, whole but without the seal; raises `NotAFrame` if the seal is not right.

    With a key only its own seals count (a plain one would let anybody with the folder in), without one only plain ones.
    """
    opening = _PLAIN if key is None else _KEYED
    # The tail has a fixed length, so nothing in the content, however hostile, moves the cut.
    cut = len(data) - len(opening) - _DIGITS - len(_END)
    if cut <= 0 or not data.endswith(_END) or not data.startswith(opening, cut):
        raise NotAFrame("no seal at its end")
    content = data[:cut]
    if not hmac.compare_digest(data[cut + len(opening) : -len(_END)], _digest(content, key)):
        raise NotAFrame("the seal does not fit the content")
    return content + b"}"


def sealed_otherwise(data: bytes, key: bytes | None) -> bool:
    """Whether this is a whole document whose seal is of the kind that does not count here.

    With a key: a right plain seal. Without one: a keyed seal at the end, which nobody here can check.
    """
    opening = _KEYED if key is None else _PLAIN
    cut = len(data) - len(opening) - _DIGITS - len(_END)
    if cut <= 0 or not data.endswith(_END) or not data.startswith(opening, cut):
        return False
    return key is None or data[cut + len(opening) : -len(_END)] == _digest(data[:cut], None)


def _digest(content: bytes, key: bytes | None) -> bytes:
    if key is None:
        return hashlib.sha256(content).hexdigest().encode()
    return hmac.digest(key, content, "sha256").hex().encode()
