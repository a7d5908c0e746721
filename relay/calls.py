"""Requests and replies as their users see them: plain HTTP shapes, and how they become messages."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from relay.frames import Message, ReplyHead, RequestHead, head_problem

JSON_TYPE: Final = "application/json"
DELIVERY_LIMIT: Final = "delivery_limit"
REPLY_TOO_LARGE: Final = "reply_too_large"
# Of one hop only; the relay is another, and a body is never compressed or chunked on its way.
HOP_BY_HOP: Final = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "proxy-connection", "content-length"}
)


@dataclass(frozen=True, slots=True)
class Request:
    """What a handler gets. `path` carries the query; header names are lower-case; `id` is the idempotency key."""

    id: str
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    link: str = ""

    def json(self) -> Any:
        """The body read as JSON; raises `ValueError`."""
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP response. Header names are lower-case; a repeated header is joined by commas (`set-cookie` by lines)."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    request_id: str = ""

    @classmethod
    def of(cls, content: Any, status: int = 200) -> "Reply":
        """A reply with `content` as JSON."""
        return cls(status, {"content-type": JSON_TYPE}, json.dumps(content, ensure_ascii=False).encode())

    def json(self) -> Any:
        """The body read as JSON; raises `ValueError`."""
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


def body_bytes(body: Any, headers: Mapping[str, str] | None) -> tuple[bytes, list[list[str]]]:
    """A caller's body and headers as they travel: bytes as they are, anything else as JSON."""
    pairs = [[name.lower(), value] for name, value in (headers or {}).items()]
    if body is None:
        return b"", pairs
    if isinstance(body, bytes):
        return body, pairs
    if not any(name == "content-type" for name, _ in pairs):
        pairs.append(["content-type", JSON_TYPE])
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(), pairs


def request_from(message: Message, link: str) -> Request:
    """What the handler sees of a request message."""
    assert isinstance(message.head, RequestHead)
    headers = joined(message.head.headers) | {"idempotency-key": message.id}
    return Request(message.id, message.head.method, message.head.path, headers, message.body, link)


def reply_from(message: Message) -> Reply:
    """What the caller sees of a reply message."""
    assert isinstance(message.head, ReplyHead)
    return Reply(message.head.status, joined(message.head.headers), message.body, message.id)


def reply_message(request_id: str, reply: Reply, limit: int) -> Message:
    """The reply message; one that no link carries becomes a 500 that says so."""
    pairs = [[name.lower(), value] for name, value in reply.headers.items()]
    return fitting(Message("reply", request_id, ReplyHead(reply.status, pairs), reply.body), limit)


def fitting(reply: Message, limit: int) -> Message:
    """The reply itself, or the 500 that takes its place where no link carries it."""
    assert isinstance(reply.head, ReplyHead)
    if len(reply.body) > limit:
        return relay_reply(reply.id, 500, REPLY_TOO_LARGE, f"the reply has {len(reply.body)} bytes, {limit} at most")
    if (problem := head_problem(reply.head)) is not None:
        return relay_reply(reply.id, 500, "reply_invalid", f"the handler's reply cannot be sent: {problem}")
    return reply


def relay_reply(request_id: str, status: int, error: str, detail: str) -> Message:
    """An answer of the relay itself, in the shape of every refusal."""
    problem = {"code": error, "title": error.replace("_", " "), "detail": detail}
    head = ReplyHead(status, [["content-type", "application/problem+json"]], error)
    return Message("reply", request_id, head, json.dumps(problem).encode())


def joined(pairs: list[list[str]]) -> dict[str, str]:
    """Header pairs as a mapping with lower-case names."""
    headers: dict[str, str] = {}
    for name, value in pairs:
        key = name.lower()
        separator = "\n" if key == "set-cookie" else ", "
        headers[key] = f"{headers[key]}{separator}{value}" if key in headers else value
    return headers
