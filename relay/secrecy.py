"""Hides the content of messages (head and body) from whoever reads the share, such as a sync provider.

Names, sizes, kinds and request ids stay visible. Needs the package `cryptography`, imported only when it is used.
"""

import base64
import hmac
from collections.abc import Callable
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from relay.errors import NotAFrame

_SALT: Final = 16
_NONCE: Final = 12


class ChaChaCipher:
    """`Cipher` with a fresh key and nonce for each message, both from chance.

    No counter: a virtual machine set back to a snapshot would use one twice. 28 random bytes do not repeat.
    """

    def __init__(self, hide_own: bytes, hide_peer: bytes, random_bytes: Callable[[int], bytes]) -> None:
        self._own, self._peer = hide_own, hide_peer
        self._random_bytes = random_bytes

    def hide(self, plain: bytes, context: str) -> str:
        salt, nonce = self._random_bytes(_SALT), self._random_bytes(_NONCE)
        hidden = _aead(self._own, salt).encrypt(nonce, plain, context.encode())
        return base64.b64encode(salt + nonce + hidden).decode("ascii")

    def show(self, hidden: str, context: str) -> bytes:
        data = base64.b64decode(hidden, validate=True)
        salt, nonce = data[:_SALT], data[_SALT : _SALT + _NONCE]
        if len(nonce) < _NONCE:
            raise NotAFrame("a hidden message is cut short")
        try:
            return _aead(self._peer, salt).decrypt(nonce, data[_SALT + _NONCE :], context.encode())
        except InvalidTag as error:
            raise NotAFrame("a hidden message was made with another key") from error


def _aead(key: bytes, salt: bytes) -> ChaCha20Poly1305:
    return ChaCha20Poly1305(hmac.digest(key, salt, "sha256"))
