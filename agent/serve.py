"""The composition root: a runner of its parts. The only place, beside `cli` and `check`, that builds adapters.

In a test, `assemble` with any httpx2 transport to Jira, any exchange with a hub and a simulated clock is the whole
agent; the journal must be on the local disk and, between processes, under `lock.exclusive`.
"""

import socket
from collections.abc import Callable
from pathlib import Path

import httpx2

from agent.config import AgentConfig
from agent.events import Event
from agent.hub import Exchange, HubClient
from agent.jira import Access, JiraClient
from agent.journal import JournalFile
from agent.learning import LearntSite
from agent.pacer import Pacer
from agent.runner import Runner, Settings
from agent.site import Wanted
from relay.ports import Clock, Ids


def names_cache(journal: Path) -> Path:
    """Where the learnt names are kept, beside the journal."""
    return journal.with_name(f"{journal.name}.names")


def settings_of(config: AgentConfig, *, dry_run: bool = False) -> Settings:
    return Settings(
        host=socket.gethostname()[:255],
        gap_floor=config.gap_floor,
        gap_floors={str(name): seconds for name, seconds in config.gap_floors.items()},
        settle=config.settle_seconds,
        projects=frozenset(config.allow_projects or [config.project]),
        types=frozenset(config.allow_types),
        dry_run=dry_run,
        commands_a_day=config.commands_a_day,
        between_reads=config.gap_between_reads,
    )


def assemble(
    *,
    journal: JournalFile,
    access: Access,
    wanted: Wanted,
    settings: Settings,
    jira_transport: httpx2.BaseTransport,
    exchange: Exchange,
    clock: Clock,
    ids: Ids,
    names: Path,
    read_gap: float = 2.0,
    claim_wait: int = 25,
    listener: Callable[[Event], None] = lambda _: None,
    look_again: Callable[[], Access | None] = lambda: None,
) -> Runner:
    """A runner on this journal. `exchange` is `hub.over_relay(client)` or `hub.over_http(httpx2_client)`; `names` is
    the file that keeps what was learnt of Jira; `claim_wait` 0 asks the hub not to hold a claim;
    `look_again` tells today's way in while the old one is refused."""
    jira = JiraClient(access, journal, clock, jira_transport, look_again=look_again)
    pacer = Pacer(journal, clock)
    site = LearntSite(
        wanted,
        access.url,
        names,
        jira=jira,
        pacer=pacer,
        clock=clock,
        gap_seconds=read_gap,
        whose=access.whose,
    )
    return Runner(
        jira=jira,
        hub=HubClient(exchange, claim_wait=claim_wait),
        journal=journal,
        names=site,
        pacer=pacer,
        clock=clock,
        ids=ids,
        settings=settings,
        listener=listener,
    )
