"""The composition root: a runner of its parts. The only place, beside `cli` and `check`, that builds adapters.

In a test, `assemble` with any httpx2 transport to Jira, any exchange with a hub and a simulated clock is the whole
agent; the journal must be on the local disk and, between processes, under `lock.exclusive`.
"""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agent.access import Access
from agent.config import AgentConfig
from agent.events import Event
from agent.hub import Exchange, HubClient
from agent.journal import JournalFile
from agent.learning import LearntSite
from agent.outcomes import Answer, JiraRequest
from agent.pacer import Pacer
from agent.ports import Jira
from agent.runner import Runner, Settings
from agent.site import Wanted
from relay.ports import Clock, Ids

if TYPE_CHECKING:
    import httpx2


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


class OnFirstUse:
    """Jira's client (`ports.Jira`), made when Jira is first asked: the claim before waits for none of it."""

    def __init__(self, make: Callable[[], Jira]) -> None:
        self._make = make
        self._made: Jira | None = None

    def _jira(self) -> Jira:
        if self._made is None:
            self._made = self._make()
        return self._made

    def send(self, request: JiraRequest, *, command_id: int | None = None) -> Answer:
        return self._jira().send(request, command_id=command_id)

    def renewed(self) -> bool:
        return self._jira().renewed()


def assemble(
    *,
    journal: JournalFile,
    access: Access,
    wanted: Wanted,
    settings: Settings,
    jira_transport: "httpx2.BaseTransport | Callable[[], httpx2.BaseTransport]",
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
    `look_again` tells today's way in while the old one is refused; a function that makes the transport is called
    when Jira is first asked."""

    def client() -> Jira:
        from agent.jira import JiraClient

        transport = jira_transport() if callable(jira_transport) else jira_transport
        return JiraClient(access, journal, clock, transport, look_again=look_again)

    jira = OnFirstUse(client)
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
