"""What became of one HTTP request to Jira: the ten outcomes O1..O10, decided from what was seen. No I/O in here.

The table decides what may be sent again, so it asks one question first: may Jira have executed the write?
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from enum import Enum
from html import unescape
from typing import Any, Final, Literal

from protocol.messages import MAX_ERROR

Kind = Literal["read", "write"]
MIN_RATE_WAIT: Final = 30.0  # Jira answers `Retry-After: 0` while its bucket is empty, so its word alone is not enough


class Outcome(Enum):
    """The values are the names of the table in the specification."""

    NOT_SENT = "O1"
    UNKNOWN = "O2"
    OK = "O3"
    NOT_JIRA = "O4"
    REFUSED = "O5"
    NOT_LET_IN = "O6"
    FORBIDDEN = "O7"
    TOO_MANY = "O8"
    BROKEN = "O9"
    GATEWAY = "O10"


@dataclass(frozen=True, slots=True)
class Expect:
    """The answer a request hopes for: its codes, and the JSON keys without which it is not Jira's.

    `shape` is `none` where the contract is an empty body (204, and 201 of an issue link).
    """

    codes: frozenset[int] = frozenset({200})
    keys: tuple[str, ...] = ()
    shape: Literal["object", "array", "none"] = "object"


@dataclass(frozen=True, slots=True)
class JiraRequest:
    """One request to Jira. `path` starts with `/rest/`; `query` values are encoded by the client."""

    method: str
    path: str
    kind: Kind
    expect: Expect
    body: Mapping[str, Any] | None = None
    query: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Seen:
    """What one exchange showed. Without a `status` there was no answer, and `sent` says whether anything left us.

    Header names are lower case. `cut` marks a body that broke off or was longer than we take.
    """

    sent: bool
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    cut: Literal["no", "broken off", "too long"] = "no"
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """An outcome with what goes with it: the JSON of O3, the text of the others, the wait of O8 in seconds.

    `rate` is what the answer told of the rate limit, for people.
    """

    outcome: Outcome
    json: Any = None
    text: str = ""
    status: int | None = None
    wait_seconds: float = 0.0
    rate: str = ""


def answer(request: JiraRequest, seen: Seen, wall: float) -> Answer:
    """The outcome of `request`. `wall` (seconds since 1970) turns a `Retry-After` date into seconds."""
    if seen.status is None:
        outcome = Outcome.UNKNOWN if seen.sent else Outcome.NOT_SENT
        return Answer(outcome, text=_limited(f"{request.text}: {seen.fault}"))
    text = _limited(f"{request.text}: HTTP {seen.status}: {error_text(seen)}")
    if 200 <= seen.status < 300:
        return replace(_of_success(request, seen, text), rate=_rate_told(seen.headers))
    outcome = _of_failure(seen)
    wait = rate_wait(seen.headers, wall) if outcome is Outcome.TOO_MANY else 0.0
    return Answer(outcome, text=text, status=seen.status, wait_seconds=wait)


def _of_success(request: JiraRequest, seen: Seen, text: str) -> Answer:
    if seen.headers.get("x-ausername", "").lower() == "anonymous" and not _is_html(seen):
        # A token Jira does not know may be served as nobody: its empty 200 must never read as "not found".
        return Answer(Outcome.NOT_JIRA, text=_limited(f"{text} (served as anonymous)"), status=seen.status)
    if seen.cut == "too long" and request.kind == "read":
        return Answer(Outcome.REFUSED, text=_limited(f"{request.text}: the answer is too long"), status=seen.status)
    if seen.cut != "no":
        return Answer(Outcome.UNKNOWN, text=_limited(f"{request.text}: the answer broke off"), status=seen.status)
    if seen.status not in request.expect.codes:
        return Answer(Outcome.NOT_JIRA, text=text, status=seen.status)
    if request.expect.shape == "none":
        # Jira answers with nothing here; a page instead of nothing is a login form or a proxy.
        html = _is_html(seen)
        return Answer(Outcome.NOT_JIRA if html else Outcome.OK, text=text if html else "", status=seen.status)
    if not _is_json(seen):
        return Answer(Outcome.NOT_JIRA, text=text, status=seen.status)
    try:
        found = json.loads(seen.body)
    except (ValueError, RecursionError):
        # Said to be JSON and is not: cut on its way. The write behind it may well have happened.
        return Answer(Outcome.UNKNOWN, text=_limited(f"{request.text}: the answer is no JSON"), status=seen.status)
    whole = _has_shape(request.expect, found)
    return Answer(Outcome.OK if whole else Outcome.NOT_JIRA, found if whole else None, text, seen.status)


def _of_failure(seen: Seen) -> Outcome:
    match seen.status:
        case 429:
            return Outcome.TOO_MANY  # before all else: its body may be HTML
        case 401:
            return Outcome.NOT_LET_IN
        case 403:
            if _is_login_refusal(seen):
                return Outcome.NOT_LET_IN
            return Outcome.FORBIDDEN if _is_jira_error(seen) else Outcome.NOT_JIRA
        case 500:
            return Outcome.GATEWAY if _is_html(seen) else Outcome.BROKEN
        case int(status) if status > 500:
            return Outcome.GATEWAY
        case int(status) if status >= 400:
            return Outcome.REFUSED if _is_jira_error(seen) else Outcome.NOT_JIRA
        case _:
            return Outcome.NOT_JIRA  # 3xx: a login page elsewhere; never followed


def _is_login_refusal(seen: Seen) -> bool:
    return (
        "x-authentication-denied-reason" in seen.headers
        or "AUTHENTICATION_DENIED" in seen.headers.get("x-seraph-loginreason", "")
        or b"XSRF check failed" in seen.body[:1000]
    )


def _has_shape(expect: Expect, found: Any) -> bool:
    if expect.shape == "array":
        return isinstance(found, list)
    return isinstance(found, dict) and all(key in found for key in expect.keys)


def _content_type(seen: Seen) -> str:
    return seen.headers.get("content-type", "").partition(";")[0].strip().lower()


def _is_json(seen: Seen) -> bool:
    return _content_type(seen) == "application/json"


def _is_html(seen: Seen) -> bool:
    return "html" in _content_type(seen) or seen.body[:200].lstrip().lower().startswith((b"<!doctype", b"<html"))


def _is_jira_error(seen: Seen) -> bool:
    return bool(_jira_texts(seen))


def _jira_texts(seen: Seen) -> list[str]:
    """Jira's own words; its modules disagree about the shape: four are known."""
    if not _is_json(seen):
        return []
    try:
        found = json.loads(seen.body)
    except (ValueError, RecursionError):
        return []
    if not isinstance(found, dict):
        return []
    texts = [str(text) for name in ("errorMessages", "warningMessages") for text in _as_list(found.get(name))]
    errors = found.get("errors")
    if isinstance(errors, dict):
        texts += [f"{name}: {text}" for name, text in errors.items()]
    texts += [str(found[name]) for name in ("message", "errorMessage") if isinstance(found.get(name), str)]
    # An empty envelope is still Jira's: `{"errorMessages":[],"errors":{}}`.
    return texts or (["no reason given"] if {"errorMessages", "errors"} & found.keys() else [])


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def error_text(seen: Seen) -> str:
    """Jira's text of a refusal; a page is reduced to its title; the request id is kept for Jira's administrators."""
    texts = _jira_texts(seen)
    body = seen.body[:20_000].decode("utf-8", "replace")
    if not texts and _is_html(seen):
        title = re.search(r"<title[^>]*>(.*?)</title>", body, re.IGNORECASE | re.DOTALL)
        texts = [f"page «{unescape(title.group(1)).strip()}»" if title else "a page without a title"]
    texts = texts or [re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body)).strip() or "empty answer"]
    reason = seen.headers.get("x-authentication-denied-reason") or seen.headers.get("x-seraph-loginreason")
    reason = None if reason == "OK" else reason  # of the log-in, which is not what was refused
    place = seen.headers.get("location")
    request_id = seen.headers.get("x-arequestid")
    notes = [note for note in (reason, place and f"to {place}", request_id and f"request {request_id}") if note]
    return "; ".join(texts) + (f" [{', '.join(notes)}]" if notes else "")


def _limited(text: str) -> str:
    return text if len(text) <= MAX_ERROR else f"{text[: MAX_ERROR - 1]}…"


def rate_wait(headers: Mapping[str, str], wall: float) -> float:
    """Seconds to wait after a 429: the largest of Retry-After, the bucket's interval and our own minimum."""
    return max(
        _retry_after(headers.get("retry-after", ""), wall),
        _number(headers.get("x-ratelimit-interval-seconds", "")),
        MIN_RATE_WAIT,
    )


def _rate_told(headers: Mapping[str, str]) -> str:
    names = ("limit", "remaining", "fillrate", "interval-seconds")
    limit, left, fill, interval = (headers.get(f"x-ratelimit-{name}") for name in names)
    return f"{left} of {limit} left, {fill} more every {interval} s" if limit else ""


def _number(text: str) -> float:
    # At most a day: a server's slip must not put the agent to sleep for ever.
    return min(float(text), 86_400.0) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text.strip()) else 0.0


def _retry_after(text: str, wall: float) -> float:
    if not text or text.strip()[:1].isdigit():
        return _number(text)
    try:
        seconds = parsedate_to_datetime(text).timestamp() - wall
    except (ValueError, TypeError, OverflowError):
        return 0.0
    return min(max(seconds, 0.0), 86_400.0)
