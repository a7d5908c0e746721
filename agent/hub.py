"""The hub as the agent sees it, over a relay client or any httpx2 client: one small exchange under both.

Only forms and request ids here; what to do with an answer is the runner's.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from pydantic import ValidationError

from agent.ports import HubUnreachable, HubUnwell, Refusal
from protocol.errors import Problem
from protocol.messages import AgentState, ClaimRequest, Delivery, Report
from relay.errors import (
    DeliveryLimitExceeded,
    MessageTooLarge,
    PeerOffline,
    ProtocolMismatch,
    QueueFull,
    RelayTimeout,
    ShareUnavailable,
)

if TYPE_CHECKING:
    import httpx2

CLAIM_WAIT: Final = 25  # seconds the hub may hold a claim: shorter than any proxy's patience
_SLACK: Final = 35.0  # seconds beyond that for a folder that a sync tool carries


@dataclass(frozen=True, slots=True)
class HubAnswer:
    status: int
    body: bytes


class Reply(Protocol):
    @property
    def status(self) -> int: ...
    @property
    def body(self) -> bytes: ...


class Caller(Protocol):
    """As much of `relay.Client` as is needed here."""

    def call(
        self, method: str, path: str, body: Any = None, *, timeout: float = 30.0, request_id: str | None = None
    ) -> Reply: ...


# method, path with query, body, request id (None: a reading, may be asked anew), seconds to wait
Exchange = Callable[[str, str, Any, str | None, float], HubAnswer]


def over_relay(client: Caller) -> Exchange:
    """Exchanges through the shared folder."""

    def exchange(method: str, path: str, body: Any, request_id: str | None, timeout: float) -> HubAnswer:
        try:
            reply = client.call(method, path, body, timeout=timeout, request_id=request_id)
        except (RelayTimeout, PeerOffline, ShareUnavailable, QueueFull, ProtocolMismatch) as error:
            raise HubUnreachable(f"{type(error).__name__}: {error}") from error
        except (MessageTooLarge, DeliveryLimitExceeded) as error:
            # Final for this request: the same bytes will never come through.
            code = "too_large" if isinstance(error, MessageTooLarge) else "undeliverable"
            return HubAnswer(413, json.dumps({"code": code, "title": code, "detail": str(error)}).encode())
        return HubAnswer(reply.status, reply.body)

    return exchange


def over_http(client: "httpx2.Client") -> Exchange:
    """Exchanges with an httpx2 client whose base URL is the hub; also a client over `FolderTransport`."""
    import httpx2  # not needed over a relay, and what loads longest

    def exchange(method: str, path: str, body: Any, request_id: str | None, timeout: float) -> HubAnswer:
        headers = {} if request_id is None else {"Idempotency-Key": request_id}
        try:
            response = client.request(method, path, json=body, headers=headers, timeout=timeout)
        except httpx2.TransportError as error:
            raise HubUnreachable(f"{type(error).__name__}: {error}") from error
        return HubAnswer(response.status_code, response.content)

    return exchange


class HubClient:
    """The hub's routes for agents (`ports.Hub`)."""

    def __init__(self, exchange: Exchange, *, claim_wait: int = CLAIM_WAIT, timeout: float = 30.0) -> None:
        self._exchange = exchange
        self._claim_wait = claim_wait
        self._timeout = timeout

    def claim(self, request: ClaimRequest, request_id: str) -> Delivery | Refusal | None:
        path = f"/api/v1/agent/claim?wait={self._claim_wait}"
        body = request.model_dump(mode="json", exclude_none=True)
        answer = self._exchange("POST", path, body, request_id, self._claim_wait + _SLACK)
        if answer.status == 204:
            return None
        return _delivery(answer) if answer.status == 200 else _refusal(answer)

    def command(self, command_id: int) -> Delivery | None:
        answer = self._exchange("GET", f"/api/v1/agent/commands/{command_id}", None, None, self._timeout)
        if answer.status in (404, 410):
            return None
        if answer.status != 200:
            raise HubUnreachable(f"the hub answered {_refusal(answer)}")
        return _delivery(answer)

    def report(self, command_id: int, report: Report, request_id: str) -> Refusal | None:
        path = f"/api/v1/agent/commands/{command_id}/result"
        body = report.model_dump(mode="json", exclude_none=True)
        answer = self._exchange("PUT", path, body, request_id, self._timeout)
        return None if answer.status in (200, 204) else _refusal(answer)

    def heartbeat(self, state: AgentState) -> None:
        body = state.model_dump(mode="json", exclude_none=True)
        self._exchange("POST", "/api/v1/agent/heartbeat", body, None, self._timeout)


def _delivery(answer: HubAnswer) -> Delivery:
    try:
        return Delivery.model_validate_json(answer.body)
    except ValidationError as error:
        raise HubUnreachable(f"the hub's answer is no delivery: {error.error_count()} faults") from error


def _refusal(answer: HubAnswer) -> Refusal:
    """5xx is no word on the matter: the hub, or what stands before it, is not well. 503 `paused` is its word."""
    try:
        problem = Problem.model_validate_json(answer.body)
    except ValidationError:
        if answer.status >= 500:
            raise HubUnwell(f"the hub answered HTTP {answer.status}") from None
        return Refusal(answer.status, f"http {answer.status}", answer.body[:500].decode("utf-8", "replace"))
    if answer.status >= 500 and problem.code != "paused":
        raise HubUnwell(f"the hub answered {answer.status} {problem.code}: {problem.detail}")
    return Refusal(answer.status, problem.code, problem.detail, problem.hint)
