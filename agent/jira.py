"""The Jira client: one request, one exchange, one outcome. It never resends, redirects, pools or hides anything.

What an outcome means for a command is decided elsewhere.
"""

import json
import ssl
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, Literal

import httpx2

from agent.access import Access as Access  # whoever builds a client takes both from here
from agent.outcomes import Answer, JiraRequest, Seen, answer
from agent.ports import Journal
from agent.records import Answered, Call
from relay.ports import Clock

USER_AGENT: Final = "jira-hub-agent/3"  # not a browser's: Jira refuses writes of browsers as XSRF
MAX_ANSWER: Final = 32 * 2**20  # bytes; a page of 100 issues takes about one
# httpx2's default of 5 s makes unknown outcomes out of slow answers.
CONNECT_SECONDS: Final = 10.0
READ_SECONDS: Final[Mapping[str, float]] = {"read": 60.0, "write": 120.0}

# Raised before a byte of the request has left: Jira cannot have executed anything.
_NOT_SENT: Final = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
    httpx2.LocalProtocolError,
)


def tls_context(access: Access) -> ssl.SSLContext:
    """Whom to trust: the system's authorities, or the configured one."""
    context = ssl.create_default_context(cafile=None if access.ca_file is None else str(access.ca_file))
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def network(access: Access) -> httpx2.BaseTransport:
    """A transport to the real network: a fresh connection for each request, the corporate CA, no environment."""
    # A pooled connection dies after a 500, and with gaps of 30 to 120 s there is nothing to gain.
    limits = httpx2.Limits(max_connections=1, max_keepalive_connections=0)
    return httpx2.HTTPTransport(
        verify=tls_context(access), trust_env=False, limits=limits, proxy=access.proxy, retries=0
    )


class JiraClient:
    """Jira over any httpx2 transport (`ports.Jira`). Every request is in the journal before it leaves."""

    def __init__(
        self,
        access: Access,
        journal: Journal,
        clock: Clock,
        transport: httpx2.BaseTransport,
        *,
        look_again: Callable[[], Access | None] = lambda: None,
    ) -> None:
        self._access = access
        self._look_again = look_again
        self._journal = journal
        self._clock = clock
        self._client = httpx2.Client(
            transport=transport,
            follow_redirects=False,
            trust_env=False,
            headers={
                "Accept": "application/json",
                "User-Agent": USER_AGENT,
                "X-Atlassian-Token": "no-check",
                "Connection": "close",
            },
        )

    def send(self, request: JiraRequest, *, command_id: int | None = None) -> Answer:
        """Send `request` once and say what became of it; never raises for what Jira or the network does."""
        boot_id = self._clock.boot_id()
        self._journal.append(
            Call(
                at=self._clock.wall(),
                command_id=command_id,
                request=request.text,
                boot_id=boot_id,
                monotonic=self._clock.monotonic(),
            )
        )
        found = answer(request, self._masked(self._exchange(request)), self._clock.wall())
        self._journal.append(
            Answered(
                at=self._clock.wall(),
                boot_id=boot_id,
                monotonic=self._clock.monotonic(),
                outcome=found.outcome.value,
            )
        )
        return found

    def _exchange(self, request: JiraRequest) -> Seen:
        content = None if request.body is None else json.dumps(request.body, ensure_ascii=False).encode()
        wait = READ_SECONDS[request.kind]
        built = self._client.build_request(
            request.method,
            self._access.url.rstrip("/") + request.path,
            params=dict(request.query) or None,
            content=content,
            headers={**self._access.headers, **({"Content-Type": "application/json"} if content is not None else {})},
            timeout=httpx2.Timeout(wait, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS),
        )
        try:
            response = self._client.send(built, stream=True)
        except _NOT_SENT as error:
            return Seen(sent=False, fault=_said(error))
        except httpx2.TransportError as error:
            return Seen(sent=True, fault=_said(error))
        try:
            return self._read(response, self._clock.monotonic() + wait)
        finally:
            response.close()

    def _read(self, response: httpx2.Response, deadline: float) -> Seen:
        body = bytearray()
        cut: Literal["no", "broken off", "too long"] = "no"
        try:
            for part in response.iter_bytes():
                body += part
                if len(body) > MAX_ANSWER:
                    cut = "too long"
                    break
                if self._clock.monotonic() > deadline:
                    # A trickle keeps every single read inside its timeout.
                    cut = "broken off"
                    break
        except (httpx2.TransportError, httpx2.DecodingError):
            cut = "broken off"
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Seen(sent=True, status=response.status_code, headers=headers, body=bytes(body), cut=cut)

    def _masked(self, seen: Seen) -> Seen:
        """`seen` without our secrets: an echoed header must not reach a report, a log or the journal."""
        body, fault, headers = seen.body, seen.fault, dict(seen.headers)
        for secret in self._access.secrets:
            body = body.replace(secret.encode(), b"***")
            fault = fault.replace(secret, "***")
            headers = {name: value.replace(secret, "***") for name, value in headers.items()}
        return replace(seen, headers=headers, body=body, fault=fault)

    def renewed(self) -> bool:
        found = self._look_again()
        if found is None or found.headers == self._access.headers:
            return False
        self._access = found
        return True

    def close(self) -> None:
        self._client.close()


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
