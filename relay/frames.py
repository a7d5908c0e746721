"""What a frame holds, and its one form as sealed JSON. Reading raises `NotAFrame` and nothing else."""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError, with_config

from relay.errors import NotAFrame
from relay.names import MAX_ATTEMPT, MAX_SEQ, AckName, AnyName, FrameName
from relay.profile import FRAME_OVERHEAD, MAX_FRAME_BYTES, PART_BYTES, PROTOCOL
from relay.sealing import sealed, unsealed

Kind = Literal["hello", "request", "reply", "withdraw"]
Side = Literal["hub", "agent"]
PEER_OF: Final[dict[Side, Side]] = {"hub": "agent", "agent": "hub"}
REQUEST_ID_PATTERN: Final = r"^[A-Za-z0-9._:-]{1,128}$"
MAX_HEADERS: Final = 256
_METHOD: Final = "[A-Z]{1,32}"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
MAX_HEAD_BYTES: Final = 65_536  # of a path and headers together, as HTTP servers have it
MAX_INTEGER: Final = 2**53 - 1  # what every JSON tool keeps exactly

# From `json.loads` come only JSON's own types; of these pydantic would bend numbers alone, so numbers alone are strict.
_STRICT: Final = ConfigDict(extra="forbid")
Epoch = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{12}$")]
Seq = Annotated[int, Field(strict=True, ge=0, le=MAX_SEQ)]
Number = Annotated[int, Field(strict=True, ge=0, le=MAX_INTEGER)]
Pair = Annotated[list[str], Field(min_length=2, max_length=2)]


@with_config(_STRICT)
@dataclass(frozen=True, slots=True)
class RequestHead:
    """An HTTP request without its body; `path` carries the query too."""

    method: Annotated[str, StringConstraints(pattern=f"^{_METHOD}$")]
    path: Annotated[str, StringConstraints(pattern=r"^/", max_length=MAX_HEAD_BYTES)]
    headers: Annotated[list[Pair], Field(max_length=MAX_HEADERS)]


@with_config(_STRICT)
@dataclass(frozen=True, slots=True)
class ReplyHead:
    """An HTTP response without its body; `error` says that the relay itself answers, and why."""

    status: Annotated[int, Field(strict=True, ge=100, le=599)]
    headers: Annotated[list[Pair], Field(max_length=MAX_HEADERS)]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One message, or one part of a large one (`part` i of n, from 1). Only the first part has a head."""

    kind: Kind
    id: str
    head: RequestHead | ReplyHead | None = None
    body: bytes = b""
    part: tuple[int, int] = (1, 1)


@with_config(_STRICT)
@dataclass(frozen=True, slots=True)
class Ack:
    """Every frame up to `seq` of the peer's `epoch` was taken; `want` names those missed below what is there."""

    epoch: Epoch
    seq: Seq
    want: Annotated[list[Seq], Field(max_length=64)]


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame as read. `low` is the lowest number its sender still keeps: all below were acknowledged once."""

    link: str
    sender: Side
    epoch: str
    life: int
    seq: int
    attempt: int
    low: int
    number: int | None
    ack: Ack | None
    messages: tuple[Message, ...]

    @property
    def name(self) -> AnyName:
        if self.number is not None:
            return AckName(self.epoch, self.number)
        return FrameName(self.epoch, self.seq, self.attempt)


@with_config(_STRICT)
@dataclass(frozen=True, slots=True)
class _Base64:
    base64: str


@with_config(_STRICT)
@dataclass(frozen=True, slots=True)
class _WireMessage:
    kind: Kind
    id: Annotated[str, StringConstraints(pattern=REQUEST_ID_PATTERN)]
    part: Annotated[list[Annotated[int, Field(strict=True, ge=1, le=10_000)]], Field(min_length=2, max_length=2)]
    head: RequestHead | ReplyHead | None = None
    body: str | _Base64 | None = None


@with_config(_STRICT)
@dataclass(frozen=True, slots=True)
class _WireFrame:
    v: Annotated[int, Field(strict=True)]
    link: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
    sender: Annotated[Side, Field(alias="from")]
    epoch: Epoch
    life: Number
    seq: Seq
    attempt: Annotated[int, Field(alias="try", strict=True, ge=0, le=MAX_ATTEMPT)]
    low: Seq
    sent_at: Annotated[float, Field(strict=True, allow_inf_nan=False)]
    ack: Ack | None
    messages: Annotated[list[_WireMessage], Field(max_length=10_000)]
    number: Seq | None = None


_WIRE: Final = TypeAdapter(_WireFrame)


# --- writing


def head_problem(head: RequestHead | ReplyHead) -> str | None:
    """Why no frame carries this head, if so. A frame the peer refuses would block the link, so senders ask before."""
    size = 0
    if isinstance(head, RequestHead):
        if re.fullmatch(_METHOD, head.method) is None or not head.path.startswith("/"):
            return f"{head.method[:40]!r} {head.path[:40]!r} is no method and path"
        size = len(head.path)
    elif not 100 <= head.status <= 599:
        return f"{head.status} is no status"
    size += sum(len(name) + len(value) for name, value in head.headers)
    if size > MAX_HEAD_BYTES or len(head.headers) > MAX_HEADERS:
        return f"more than {MAX_HEAD_BYTES} bytes of path and headers, or more than {MAX_HEADERS} headers"
    texts = [text for pair in head.headers for text in pair]
    texts += [head.path] if isinstance(head, RequestHead) else []
    if any(not text.isascii() and _SURROGATE.search(text) for text in texts):
        return "half of a surrogate pair, which no JSON carries"
    return None


def packed(message: Message, *, as_text: bool = True) -> bytes:
    """The message's JSON, ready to stand in a frame; `as_text`: for people who look, where the body is text."""
    wire: dict[str, Any] = {"kind": message.kind, "id": message.id, "part": message.part}
    match message.head:
        case RequestHead(method, path, headers):
            wire["head"] = {"method": method, "path": path, "headers": headers}
        case ReplyHead(status, headers, error):
            wire["head"] = {"status": status, "headers": headers} | ({"error": error} if error else {})
        case None:
            pass
    if message.body:
        wire["body"] = _body_on_wire(message.body, as_text=as_text)
    return json.dumps(wire, ensure_ascii=False, separators=(",", ":")).encode()


def _body_on_wire(body: bytes, *, as_text: bool) -> str | dict[str, str]:
    if as_text:
        try:
            return body.decode()
        except UnicodeDecodeError:
            pass
    return {"base64": base64.b64encode(body).decode()}


def packed_parts(message: Message) -> tuple[bytes, ...]:
    """The message as one or more pieces, each of which fits into a frame."""
    if len(message.body) <= PART_BYTES:
        whole = packed(message)
        if len(whole) <= MAX_FRAME_BYTES - FRAME_OVERHEAD:
            return (whole,)
    cuts = range(0, len(message.body), PART_BYTES)
    return tuple(
        packed(
            Message(
                message.kind,
                message.id,
                message.head if index == 0 else None,
                message.body[start : start + PART_BYTES],
                (index + 1, len(cuts)),
            ),
            # A cut may go through a character, and as JSON text control characters grow sixfold.
            as_text=False,
        )
        for index, start in enumerate(cuts)
    )


def frame_bytes(
    *,
    link: str,
    sender: Side,
    epoch: str,
    life: int,
    name: AnyName,
    low: int,
    ack: Ack | None,
    sent_at: float,
    messages: Sequence[bytes] = (),
    key: bytes | None = None,
) -> bytes:
    """The sealed frame of messages already packed."""
    seq, attempt = (name.seq, name.attempt) if isinstance(name, FrameName) else (0, 0)
    acked = None if ack is None else {"epoch": ack.epoch, "seq": ack.seq, "want": ack.want}
    head: dict[str, Any] = {"v": PROTOCOL, "link": link, "from": sender, "epoch": epoch, "life": life}
    head |= {"seq": seq, "try": attempt, "low": low, "ack": acked, "sent_at": round(sent_at, 3)}
    if isinstance(name, AckName):
        head["number"] = name.number
    opening = json.dumps(head, separators=(",", ":")).encode()[:-1]
    return sealed(b"".join((opening, b',"messages":[', b",".join(messages), b"]")), key)


# --- reading


def frame_from(data: bytes, name: AnyName, key: bytes | None = None) -> Frame:
    """The frame in `data`, which was found under `name`; raises `NotAFrame` if anything at all is wrong with it."""
    content = unsealed(data, key)
    try:
        wire = _WIRE.validate_python(json.loads(content, object_pairs_hook=_without_twins, parse_constant=_no_constant))
        messages = tuple(_message(message) for message in wire.messages)
    except (ValidationError, UnicodeError, RecursionError, binascii.Error, ValueError) as error:
        raise NotAFrame(f"sealed, but malformed: {error}") from error
    if wire.v != PROTOCOL:
        raise NotAFrame(f"protocol {wire.v}, this side speaks {PROTOCOL}")
    frame = Frame(
        wire.link,
        wire.sender,
        wire.epoch,
        wire.life,
        wire.seq,
        wire.attempt,
        wire.low,
        wire.number,
        wire.ack,
        messages,
    )
    # A copy under another name is not what its sender published, whatever its seal says.
    if frame.name != name or (frame.number is None) == (frame.seq == 0) or (frame.number is not None and messages):
        raise NotAFrame(f"name and content disagree: {frame.name}")
    return frame


def _message(wire: _WireMessage) -> Message:
    index, count = wire.part
    expected = {"request": RequestHead, "reply": ReplyHead}.get(wire.kind)
    if index > count or not _head_fits(wire.head, expected if index == 1 else None):
        raise ValueError(f"{wire.kind} {wire.id}: part or head is wrong")
    match wire.body:
        case None:
            body = b""
        case str(text):
            body = text.encode()
        case _Base64(text):
            body = base64.b64decode(text, validate=True)
    return Message(wire.kind, wire.id, wire.head, body, (index, count))


def _head_fits(head: object, expected: type | None) -> bool:
    return head is None if expected is None else isinstance(head, expected)


def _without_twins(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    # Two readers may take two different twins for the member meant: refused.
    found = list(pairs)
    members = dict(found)
    if len(members) != len(found):
        raise ValueError("a member stands twice")
    return members


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is no JSON")
