"""The probes of this machine: TLS to Jira, journal, lock, the share and the way to the hub and back."""

import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Final
from urllib.parse import urlsplit

from agent.config import AgentConfig
from agent.jira import Access, tls_context
from agent.journal import read_records
from agent.lock import AlreadyRunning, exclusive
from protocol.messages import HUB_VERSION
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
    if hub_wait:
        yield from _round_trip(config, clock, hub_wait)
    else:
        yield Probe("share", "ok", f"{config.folder}, the hub not asked")


def _round_trip(config: AgentConfig, clock: Clock, hub_wait: float) -> Iterator[Probe]:
    """A question to the hub that changes nothing: about a command that never was."""
    began = clock.monotonic()
    try:
        key_file = config.pairing_key_file
        with Client(config.folder, side="agent", state_dir=config.state_dir, key_file=key_file) as client:
            reply = client.call("GET", "/api/v1/agent/commands/0", timeout=hub_wait)
    except (LinkInUse, PeerOffline, RelayTimeout) as error:
        busy = isinstance(error, LinkInUse)
        todo = "the agent at work holds the link" if busy else "is `jira-hub serve` running, and is the folder carried?"
        yield Probe("share", "warn", f"{config.folder}: {type(error).__name__}: {error}", todo)
        return
    except RelayError as error:
        todo = "both sides need the same release" if "rotocol" in type(error).__name__ else "see docs of the relay"
        yield Probe("share", "fail", f"{config.folder}: {type(error).__name__}: {error}", todo)
        return
    yield Probe("share", "ok", f"{config.folder}: the hub answered in {clock.monotonic() - began:.1f} s")
    yield _hub_version(reply.headers.get(HUB_VERSION))


def _hub_version(told: str | None) -> Probe:
    """Releases may differ, both sides say what they can: this is for people."""
    ours = version("jira-hub")
    if told is None:
        return Probe(
            "hub", "warn", "does not tell its version", f"it is older than this agent, {ours}: bring it up to it"
        )
    return Probe("hub", "ok", f"version {told}" + ("" if told == ours else f", the agent has {ours}"))
