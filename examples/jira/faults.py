"""What goes wrong on order: dropped connections, proxies' pages, cut bodies, refusals for speed. Chosen, not done."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import httpx2
from pydantic import BaseModel, ConfigDict, Field, field_validator

from examples.jira.http import Answer, Refusal, answer_html, answer_json
from examples.jira.settings import Bucket


class ConnectionDropped(httpx2.RemoteProtocolError):
    """The connection ends without an answer.

    In process it reaches the client as what a real drop is to httpx2; the real server aborts the TCP connection on it.
    """

    def __init__(self) -> None:
        super().__init__("Server disconnected without sending a response.")


class Fault(BaseModel):
    """One order. It hits request `number`, or requests by `method` and `path` (a regular expression): it lets `skip`
    of them pass and hits the next `times`."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    kind: Literal[
        "drop_before_execute",
        "execute_then_drop",
        "delay",
        "html",
        "error_after_execute",
        "truncate_json",
        "rate_limit",
        "refuse",
        "edit",
    ]
    id: int = 0
    number: int | None = None
    method: str | None = None
    path: str = ".*"
    skip: int = Field(default=0, ge=0)
    times: int = Field(default=1, ge=1)
    seconds: float = Field(default=0.0, ge=0)  # of a delay, which comes before the execution
    status: int = Field(default=503, ge=200, le=599)  # of an html page or a refusal
    messages: tuple[str, ...] = ()  # of a refusal in Jira's own JSON: nothing was executed
    errors: Mapping[str, str] = {}
    edit: Mapping[str, Any] = {}  # what a person does just before the request is executed
    executed: bool = False  # whether Jira worked before the proxy's html page went out
    retry_after: str | None = "0"  # of a rate_limit; may be an HTTP date
    interval_seconds: int = 60
    html: bool = False  # whether the 429 carries a page instead of JSON

    @field_validator("path")
    @classmethod
    def _a_regular_expression(cls, path: str) -> str:
        try:
            re.compile(path)
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from None
        return path

    def matches(self, number: int, method: str, path: str) -> bool:
        if self.number is not None:
            return self.number == number
        return self.method in (None, method) and re.search(self.path, path) is not None

    @property
    def executes(self) -> bool:
        """Whether Jira does its work under this fault."""
        return self.kind in ("execute_then_drop", "delay", "error_after_execute", "truncate_json", "edit") or (
            self.kind == "html" and self.executed
        )


def take_fault(faults: Sequence[Fault], number: int, method: str, path: str) -> tuple[Fault | None, list[Fault]]:
    """The fault that hits this request, and the orders that remain after it."""
    remaining: list[Fault] = []
    hit: Fault | None = None
    for fault in faults:
        if hit is not None or not fault.matches(number, method, path):
            remaining.append(fault)
        elif fault.skip:
            remaining.append(fault.model_copy(update={"skip": fault.skip - 1}))
        else:
            hit = fault
            if fault.times > 1:
                remaining.append(fault.model_copy(update={"times": fault.times - 1}))
    return hit, remaining


def spoiled(fault: Fault, answer: Answer) -> Answer:
    """What the client gets instead of `answer`."""
    match fault.kind:
        case "drop_before_execute" | "execute_then_drop":
            raise ConnectionDropped
        case "html":
            return answer_html(fault.status, f"{fault.status} Service Unavailable", "The proxy has no backend.")
        case "refuse":
            return Refusal(fault.status, fault.messages, fault.errors).answer()
        case "error_after_execute":
            return answer_json(500, {"errorMessages": ["Internal server error"], "errors": {}})
        case "truncate_json":
            return Answer(answer.status, answer.body[: len(answer.body) // 2], answer.headers)
        case "rate_limit":
            bucket = Bucket(limit=0, interval_seconds=fault.interval_seconds, fill_rate=1, html=fault.html)
            return too_many(bucket, fault.retry_after)
        case "delay" | "edit":
            return answer


def too_many(bucket: Bucket, retry_after: str | None) -> Answer:
    """429 with the five headers."""
    headers = rate_headers(bucket, 0)
    if retry_after is not None:
        headers.append(("retry-after", retry_after))
    if bucket.html:
        return answer_html(429, "Rate limit exceeded", "", headers)
    return answer_json(429, {"message": "Rate limit exceeded."}, headers)


def rate_headers(bucket: Bucket, remaining: int) -> list[tuple[str, str]]:
    return [
        ("x-ratelimit-limit", str(bucket.limit)),
        ("x-ratelimit-remaining", str(remaining)),
        ("x-ratelimit-interval-seconds", str(bucket.interval_seconds)),
        ("x-ratelimit-fillrate", str(bucket.fill_rate)),
    ]


class Buckets:
    """Tokens by user. In memory: a restarted node fills its buckets too."""

    def __init__(self) -> None:
        self._levels: dict[str, tuple[int, float]] = {}

    def take(self, bucket: Bucket, user: str, now: float) -> tuple[int, float] | None:
        """(tokens left, 0), or None with nothing left; `now` is monotonic."""
        level, filled = self._levels.get(user, (bucket.limit, now))
        batches = int((now - filled) // bucket.interval_seconds)
        level = min(bucket.limit, level + batches * bucket.fill_rate)
        filled += batches * bucket.interval_seconds
        self._levels[user] = (max(level - 1, 0), filled)
        return None if level <= 0 else (level - 1, 0.0)

    def wait_seconds(self, bucket: Bucket, user: str, now: float) -> int:
        """Whole seconds until new tokens come."""
        _, filled = self._levels.get(user, (0, now))
        return max(1, int(filled + bucket.interval_seconds - now + 0.999))
