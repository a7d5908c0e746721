"""`jira-agent check`: every probe in order, what was seen and what to do about it. Nothing is changed anywhere."""

from typing import Final

import httpx2

from agent.check.jira import jira_probes
from agent.check.machine import HUB_WAIT, machine_probes, tls_probe
from agent.config import AgentConfig, ConfigFault
from agent.jira import JiraClient, network
from agent.records import AnyRecord
from agent.recovery import Memory
from relay.ports import Clock
from relay.probe import Probe

# What needs a way into Jira, in the order of `check.jira`.
OF_JIRA: Final = ("tls", "jira", "clock", "myself", "rate limit", "names", "read permission", "create", "board")


class NoJournal:
    """The probes are no commands and wait for nothing: their calls leave no trace (`ports.Journal`)."""

    memory = Memory()

    def append(self, record: AnyRecord) -> None:
        """Nothing is kept."""

    def compact(self) -> None:
        """Nothing to forget."""

    def keep_orphan(self, record: AnyRecord) -> None:
        """There are no commands here."""


def probes(
    config: AgentConfig, clock: Clock, transport: httpx2.BaseTransport | None = None, *, hub_wait: float = HUB_WAIT
) -> tuple[Probe, ...]:
    """Every probe in order; the later ones are left out where the first ones make them senseless.

    `hub_wait` is how many seconds the hub may take to answer; 0 does not ask it.
    """
    try:
        access = config.access()
    except ConfigFault as error:
        refused = Probe("access", "fail", str(error), error.todo or "set the token")
        skipped = (Probe(name, "warn", "skipped: there is no way into Jira yet") for name in OF_JIRA)
        return (refused, *skipped, *machine_probes(config, clock, hub_wait))
    tls = tls_probe(access, clock)
    client = JiraClient(access, NoJournal(), clock, transport or network(access))
    try:
        return (tls, *jira_probes(config, client.send, clock), *machine_probes(config, clock, hub_wait))
    finally:
        client.close()
