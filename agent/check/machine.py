"""The probes of this machine: TLS to Jira, journal, lock, the share and the way to the hub and back."""

import json
import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

from agent.config import AgentConfig
from agent.jira import Access, tls_context
from agent.journal import read_records
from agent.lock import AlreadyRunning, exclusive
from relay import AlreadyRunning as LinkInUse
from relay import Client, PeerOffline, RelayError, RelayTimeout
from relay.ports import Clock
from relay.probe import Probe

TLS_SECONDS: Final = 10.0
SOON_DAYS: Final = 14
HUB_WAIT: Final = 15.0  # seconds; a sync tool may take its time


def tls_probe(access: Access, clock: Clock) -> Probe:
    """Whether Jira's certificate is trusted, and for how long."""
    address = urlsplit(access.url)
    if address.scheme != "https":
        return Probe("tls", "warn", "plain http: the token crosses the network as it is", "use https in jira_url")
    if access.proxy is not None:
        return Probe("tls", "ok", f"by way of {urlsplit(access.proxy).hostname}, not looked at here")
    host, port = str(address.hostname), address.port or 443
    try:
        with (
            socket.create_connection((host, port), TLS_SECONDS) as plain,
            tls_context(access).wrap_socket(plain, server_hostname=host) as sealed,
        ):
            ends = ssl.cert_time_to_seconds(str((sealed.getpeercert() or {}).get("notAfter")))
    except ssl.SSLError as error:
        return Probe("tls", "fail", f"{host}: {error.reason or error}", "set ca_file to your authority's PEM file")
    except OSError as error:
        return Probe("tls", "fail", f"{host}:{port}: {error}", "check jira_url, the network and the proxy")
    days = (ends - clock.wall()) / 86_400
    until = datetime.fromtimestamp(ends, UTC).date().isoformat()
    todo = "" if days > SOON_DAYS else "ask Jira's administrator for a new certificate"
    return Probe("tls", "warn" if todo else "ok", f"{host}: trusted until {until}", todo)


def machine_probes(config: AgentConfig, clock: Clock, hub_wait: float) -> Iterator[Probe]:
    """The local ones, and what they say of the hub."""
    damaged = list(read_records(config.journal)).count(None)
    todo = "the disk may be failing; nothing is lost that was not torn" if damaged else ""
    yield Probe("journal", "warn" if damaged else "ok", f"{config.journal}: {damaged} damaged lines", todo)
    try:
        with exclusive(config.journal, clock):
            yield Probe("lock", "ok", "free")
    except AlreadyRunning as error:
        yield Probe("lock", "warn", str(error), "that is the agent at work; two cannot run")
    if not config.folder.is_dir():
        todo = "mount the share; `jira-hub init` on the other side makes the link"
        yield Probe("share", "fail", f"{config.folder} is not there", todo)
        return
    yield (
        _round_trip(config, clock, hub_wait)
        if hub_wait
        else Probe("share", "ok", f"{config.folder}, the hub not asked")
    )


def _round_trip(config: AgentConfig, clock: Clock, hub_wait: float) -> Probe:
    """A question to the hub that changes nothing: about a command that never was."""
    began = clock.monotonic()
    try:
        key_file = config.pairing_key_file
        with Client(config.folder, side="agent", state_dir=config.state_dir, key_file=key_file) as client:
            reply = client.call("GET", "/api/v1/agent/commands/0", timeout=hub_wait)
    except (LinkInUse, PeerOffline, RelayTimeout) as error:
        busy = isinstance(error, LinkInUse)
        todo = "the agent at work holds the link" if busy else "is `jira-hub serve` running, and is the folder carried?"
        return Probe("share", "warn", f"{config.folder}: {type(error).__name__}: {error}", todo)
    except RelayError as error:
        todo = "both sides need the same release" if "rotocol" in type(error).__name__ else "see docs of the relay"
        return Probe("share", "fail", f"{config.folder}: {type(error).__name__}: {error}", todo)
    seconds = clock.monotonic() - began
    return Probe("share", "ok", f"{config.folder}: the hub answered in {seconds:.1f} s{_version(reply.headers)}")


def _version(headers: dict[str, Any]) -> str:
    told = headers.get("x-jira-hub-version") or headers.get("server")
    return f", {json.dumps(told)}" if told else ""
