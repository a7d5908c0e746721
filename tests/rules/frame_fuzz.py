"""Makes hostile frames from golden ones: the structure is changed as often as the bytes, and most get a right seal."""

import json
import random
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from relay.names import AnyName, FrameName
from relay.sealing import sealed, unsealed
from tests.rules.golden_frames import AGENT, EPOCH, GOLDEN, LINK, PEER

HOSTILE: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    2**31,
    2**53,
    2**64,
    10**400,
    1e308,
    0.5,
    "",
    "1",
    "x" * 300,
    "\ud800",
    "\x00",
    "../../etc/passwd",
    [],
    {},
    [[] for _ in range(50)],
    {"base64": "*"},
    {"base64": "QQ=="},
    [1, 1],
    [0, 0],
    [10_000, 10_000],
    [2, 3],
    EPOCH,
    PEER,
    LINK,
    "hub",
    "request",
    "withdraw",
)
NESTED = b"[" * 40_000 + b"]" * 40_000


def hostile(chance: random.Random) -> Any:
    """A value of its own each time: what is changed later must not change what comes later."""
    return deepcopy(chance.choice(HOSTILE))


def place(chance: random.Random, content: Any) -> tuple[Any, Any]:
    """A container with one of its keys, at any depth; `content` has some."""
    found, inner = None, content
    while isinstance(inner, dict | list) and inner and (found is None or chance.random() < 0.7):
        key = chance.choice(list(inner)) if isinstance(inner, dict) else chance.randrange(len(inner))
        found, inner = (inner, key), inner[key]
    assert found is not None
    return found


def _replace(chance: random.Random, content: Any) -> Any:
    container, key = place(chance, content)
    container[key] = hostile(chance)
    return content


def _remove(chance: random.Random, content: Any) -> Any:
    container, key = place(chance, content)
    del container[key]
    return content


def _add(chance: random.Random, content: Any) -> Any:
    container, _ = place(chance, content)
    if isinstance(container, dict):
        container[chance.choice(("extra", "seal", "number", "hidden", "head", "body", "v", ""))] = hostile(chance)
    else:
        container.append(hostile(chance))
    return content


def _number(chance: random.Random, content: Any) -> Any:
    """Right in form, and wrong in time: other lives, other numbers, other gaps."""
    content["seq"] = chance.choice((0, 1, 2, 3, 17, 80, 5_000, 99_999_999))
    content["life"] = chance.choice((0, 1, 11, 12, 13, 2**53 - 1))
    content["low"] = chance.choice((0, 1, 3, 99_999_999))
    content["epoch"] = chance.choice((EPOCH, PEER, f"{chance.randrange(16**12):012x}"))
    content["from"] = chance.choice(("agent", "agent", "hub"))
    content["link"] = chance.choice((LINK, LINK, LINK[::-1]))
    ack = {"epoch": PEER, "life": chance.choice((9, 2**53 - 1)), "seq": chance.randrange(100), "want": list(range(64))}
    content["ack"] = chance.choice((None, ack))
    content.pop("number", None)
    return content


def _parts(chance: random.Random, content: Any) -> Any:
    count = chance.choice((2, 3, 9_999))
    content["messages"] = [
        {"kind": "request", "id": f"p-{chance.randrange(40)}", "part": [chance.randint(1, count), count]}
        for _ in range(chance.randrange(30))
    ]
    for message in content["messages"]:
        if message["part"][0] == 1:
            message["head"] = {"method": "GET", "path": "/", "headers": []}
    return content


STRUCTURE: tuple[Callable[[random.Random, Any], Any], ...] = (_replace, _remove, _add, _number, _parts)


def spoilt_bytes(chance: random.Random, data: bytes) -> bytes:
    """The same bytes but for one thing: some changed, left out, put in, or others altogether."""
    at = chance.randrange(len(data))
    match chance.randrange(6):
        case 0:
            return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
        case 1:
            return data[:at] + data[at + chance.randrange(40) :]
        case 2:
            return data[:at] + chance.randbytes(chance.randrange(40)) + data[at:]
        case 3:
            return data.replace(b":", b":" + NESTED, 1) if chance.random() < 0.02 else data[at:] + data[:at]
        case 4:
            return data.replace(
                chance.choice((b"1", b"[", b"null", b'"')), chance.choice((b"NaN", b"", b"{", b"9" * 400)), 1
            )
        case _:
            return chance.randbytes(chance.randrange(300))


def hostile_frame(chance: random.Random) -> tuple[AnyName, bytes, bool]:
    """A name, what stands under it, and whether the key of the agent's side proves it (else no key)."""
    found = GOLDEN[chance.choice(tuple(GOLDEN))]
    keyed = chance.random() < 0.3
    content = json.loads(unsealed(found.data, found.key))
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        content = chance.choice(STRUCTURE)(chance, content)
        if not content:
            break
    data = json.dumps(content, separators=(",", ":")).encode()
    if chance.random() < 0.3:
        data = spoilt_bytes(chance, data)
    name = found.name
    if isinstance(content, dict) and chance.random() < 0.8:
        seq, epoch, attempt = content.get("seq"), content.get("epoch"), content.get("try")
        if isinstance(seq, int) and isinstance(epoch, str) and isinstance(attempt, int) and seq > 0:
            name = FrameName(epoch, seq, attempt)
    if chance.random() < 0.85:
        data = sealed(data[:-1] or b"{", AGENT.seal_own if keyed else None)
    return name, data, keyed
