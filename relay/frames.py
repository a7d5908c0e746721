"""What a frame holds, and its one form as sealed JSON. Reading raises `NotAFrame` and nothing else."""

import base64
import binascii
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError, with_config

from relay.errors import NotAFrame
from relay.names import MAX_ATTEMPT, MAX_SEQ, AckName, AnyName, FrameName
from relay.ports import Cipher
from relay.profile import FRAME_OVERHEAD, MAX_FRAME_BYTES, PART_BYTES, PROTOCOL
from relay.sealing import sealed, unsealed

Kind = Literal["hello", "request", "reply", "withdraw"]
Side = Literal["hub", "agent"]
PEER_OF: Final[dict[Side, Side]] = {"hub": "agent", "agent": "hub"}
REQUEST_ID_PATTERN: Final = r"^[A-Za-z0-9._:-]{1,128}$"
MAX_HEADERS: Final = 256
MAX_MESSAGES: Final = 10_000  # in one frame
_METHOD: Final = "[A-Z]{1,32}"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
MAX_HEAD_BYTES: Final = 65_536  # of a path and headers together, as HTTP servers have it
_ESCAPED: Final = 6  # bytes of JSON that one character may become
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
    """Every frame up to `seq` of the peer's `epoch` was taken; `want` names those missed below what is there.

    `life` is that epoch's: a peer who finds it not below its own is taken for an older one, and begins another.
    """

    epoch: Epoch
    life: Number
    seq: Seq
    want: Annotated[list[Seq], Field(max_length=64)]


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame as read. `low` is the lowest number its sender still keeps: all below were acknowledged once.

    `malformed` of its messages made no sense under a right seal and are left out: no repetition would better them.
    """

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
    malformed: int = 0

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
    hidden: str | None = None


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
    messages: Annotated[list[_WireMessage], Field(max_length=MAX_MESSAGES)]
    number: Seq | None = None


_WIRE: Final = TypeAdapter(_WireFrame)
_WIRE_MESSAGE: Final = TypeAdapter(_WireMessage)
_HEAD: Final[TypeAdapter[RequestHead | ReplyHead | None]] = TypeAdapter(RequestHead | ReplyHead | None)
# Made once: the functions of `json` make a coder anew for each call that has options.
_ENCODE: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


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
    texts = [text for pair in head.headers for text in pair]
    texts += [head.path] if isinstance(head, RequestHead) else []
    if any(not text.isascii() and _SURROGATE.search(text) for text in texts):
        return "half of a surrogate pair, which no JSON carries"
    if size * _ESCAPED > MAX_HEAD_BYTES:  # rare, so the true length is only then worth its cost
        size = len(json.dumps(texts, ensure_ascii=False).encode())
    if size > MAX_HEAD_BYTES or len(head.headers) > MAX_HEADERS:
        return f"more than {MAX_HEAD_BYTES} bytes of path and headers, or more than {MAX_HEADERS} headers"
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
    return _ENCODE(wire).encode()


def _body_on_wire(body: bytes, *, as_text: bool) -> str | dict[str, str]:
    if as_text:
        try:
            return body.decode()
        except UnicodeDecodeError:
            pass
    return {"base64": base64.b64encode(body).decode()}


def hidden(data: bytes, cipher: Cipher) -> bytes:
    """A packed message with its head and body encrypted. The parts of a large one still fit: the body travels raw."""
    wire = json.loads(data)
    head, body = wire.pop("head", None), wire.pop("body", "")
    raw = base64.b64decode(body["base64"]) if isinstance(body, dict) else body.encode()
    plain = json.dumps(head, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" + raw
    wire["hidden"] = cipher.hide(plain, _context(wire["kind"], wire["id"], wire["part"]))
    return json.dumps(wire, ensure_ascii=False, separators=(",", ":")).encode()


def _context(kind: str, message_id: str, part: Sequence[int]) -> str:
    # Bound to the content, so that what was hidden for one message never passes for another's.
    return f"{kind} {message_id} {part[0]} {part[1]}"


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
    acked = None if ack is None else {"epoch": ack.epoch, "life": ack.life, "seq": ack.seq, "want": ack.want}
    head: dict[str, Any] = {"v": PROTOCOL, "link": link, "from": sender, "epoch": epoch, "life": life}
    head |= {"seq": seq, "try": attempt, "low": low, "ack": acked, "sent_at": round(sent_at, 3)}
    if isinstance(name, AckName):
        head["number"] = name.number
    opening = _ENCODE(head).encode()[:-1]
    return sealed(b"".join((opening, b',"messages":[', b",".join(messages), b"]")), key)


# --- reading


def frame_from(data: bytes, name: AnyName, key: bytes | None = None, cipher: Cipher | None = None) -> Frame:
    """The frame in `data`, which was found under `name`; raises `NotAFrame` if it proves nothing.

    Where the seal is right and the frame is the one its name says, messages without sense are left out and counted.
    """
    content = unsealed(data, key)
    try:
        wire = _WIRE.validate_python(_DECODE(content.decode()))
        messages: list[Message | None] = [_message(message, cipher) for message in wire.messages]
    except _MALFORMED as error:
        try:
            wire, messages = _what_makes_sense(content, cipher)
        except _MALFORMED:
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
        tuple(message for message in messages if message is not None),
        messages.count(None),
    )
    # A copy under another name is not what its sender published, whatever its seal says.
    if frame.name != name or (frame.number is None) == (frame.seq == 0) or (frame.number is not None and messages):
        raise NotAFrame(f"name and content disagree: {frame.name}")
    return frame


_MALFORMED: Final = (ValidationError, UnicodeError, RecursionError, binascii.Error, ValueError)


def _what_makes_sense(content: bytes, cipher: Cipher | None) -> tuple[_WireFrame, list[Message | None]]:
    """The frame without the messages that make no sense, which are `None`; raises what reading JSON may.

    A frame nobody can read would hold up all behind it for ever, so what says who it is counts as taken.
    """
    found = json.loads(content)
    if not isinstance(found, dict) or not isinstance(wires := found.get("messages"), list) or len(wires) > MAX_MESSAGES:
        raise ValueError("no frame at all")
    try:
        strict = json.loads(content, object_pairs_hook=_without_twins, parse_constant=_no_constant)
        wire = _WIRE.validate_python({**strict, "messages": []})
    except _MALFORMED:
        who = {member: found.get(member) for member in ("v", "link", "from", "epoch", "life", "seq", "try")}
        rest: dict[str, Any] = {"low": 0, "sent_at": 0.0, "ack": None, "messages": []}
        return _WIRE.validate_python(who | rest), [None] * max(1, len(wires))
    messages: list[Message | None] = []
    for each in wires:
        try:
            messages.append(_message(_WIRE_MESSAGE.validate_python(each), cipher))
        except _MALFORMED:
            messages.append(None)
    return wire, messages


def _message(wire: _WireMessage, cipher: Cipher | None) -> Message:
    index, count = wire.part
    head = wire.head
    if wire.hidden is not None:
        if cipher is None or head is not None or wire.body is not None:
            raise ValueError(f"{wire.kind} {wire.id}: hidden, and not by the key of this link")
        head_part, _, body = cipher.show(wire.hidden, _context(wire.kind, wire.id, wire.part)).partition(b"\n")
        head = _HEAD.validate_python(json.loads(head_part))
    else:
        match wire.body:
            case None:
                body = b""
            case str(text):
                body = text.encode()
            case _Base64(text):
                body = base64.b64decode(text, validate=True)
    expected = {"request": RequestHead, "reply": ReplyHead}.get(wire.kind)
    if index > count or not _head_fits(head, expected if index == 1 else None):
        raise ValueError(f"{wire.kind} {wire.id}: part or head is wrong")
    return Message(wire.kind, wire.id, head, body, (index, count))


def _head_fits(head: object, expected: type | None) -> bool:
    return head is None if expected is None else isinstance(head, expected)


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Two readers may take two different twins for the member meant: refused.
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member stands twice")
    return members


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is no JSON")


_DECODE: Final = json.JSONDecoder(object_pairs_hook=_without_twins, parse_constant=_no_constant).decode
