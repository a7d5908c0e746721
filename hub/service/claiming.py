"""A claim in the open transaction: who may claim, what was answered before, what goes out (queue.md, Claim 1-6)."""

from collections.abc import Callable
from dataclasses import dataclass

from hub.errors import Refusal, Said
from hub.restoring import Epochs
from hub.service.answers import Answer, store, stored
from hub.service.delivering import FROM_THE_START, BackupFirst, Copy, Delivered, Terms, next_out
from hub.service.settings import LinkSettings, link_settings
from hub.store.connection import Row, Transaction
from protocol.messages import AgentState, ClaimRequest

NOTHING_TO_DO = Answer(204, "")


@dataclass(frozen=True, slots=True)
class Look:
    """One look of a claim at the queue.

    `wanted` is asked under the write lock: a newer claim, or the withdrawal of this one, leaves it without effect.
    So does, at another look than the `first`, a newer claim that another hub of this database has looked for since.
    `last` means that an empty answer is final; else the claim goes on waiting. `copy` was just made, where copies are
    made at all (`copies`).
    """

    request_key: str | None
    wanted: Callable[[], bool]
    last: bool
    copies: bool
    first: bool = True
    copy: Copy | None = None


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The claim was superseded or given up: it answers empty and has done nothing."""


@dataclass(frozen=True, slots=True)
class KeepWaiting:
    """Nothing to hand out yet."""


def claim(
    transaction: Transaction, link: str, request: ClaimRequest, look: Look, epochs: Epochs
) -> Answer | BackupFirst | Withdrawn | KeepWaiting | Refusal:
    """One look. A `Refusal` is answered after the commit, for the agent's status is kept with it."""
    transaction.ahead("due", link=link, **FROM_THE_START)
    before = stored(transaction, link, look.request_key)
    if not look.wanted():
        return Withdrawn()
    if before is not None:
        return before
    agent = _agent(transaction, link)
    if agent is not None and not look.first and look.request_key is not None and agent["claim"] != look.request_key:
        return Withdrawn()
    hold_session(transaction, link, agent, request)
    settings = link_settings(transaction, link)
    refusal = _refused(request, settings, transaction.now)
    terms = Terms(link, settings, epochs, look.copies, look.copy)
    out = None if refusal else next_out(transaction, terms)
    if isinstance(out, BackupFirst):
        return out
    seen(transaction, link, agent, request, out.command_id if isinstance(out, Delivered) else None, look.request_key)
    if refusal is not None:
        return refusal
    if out is not None:
        return store(transaction, link, look.request_key, Answer(200, out.body), {out.command_id: out.params})
    return store(transaction, link, look.request_key, NOTHING_TO_DO) if look.last else KeepWaiting()


def _agent(transaction: Transaction, link: str) -> Row | None:
    met: Row | None = transaction.kept.get(("agent", link))
    if met is None:
        return transaction.one("agent", link=link)
    return None if met["agent_link"] is None else met


def seen(
    transaction: Transaction, link: str, agent: Row | None, state: AgentState, current: int | None, claim: str | None
) -> None:
    """Keep how the agent is. A session that was once said stays until another agent holds the link."""
    transaction.run(
        "agent_seen",
        link=link,
        version=state.agent_version,
        at=transaction.now,
        session=state.session or (agent["session"] if agent else None),
        host=state.host or (agent["host"] if agent else None),
        blocked=state.blocked,
        current_command_id=current,
        claim=claim,
    )


def hold_session(transaction: Transaction, link: str, agent: Row | None, state: AgentState) -> None:
    """Refuse an agent that may not speak for the link: one session at a time, never taken over by a timer (H16, H17).

    A restart keeps its session in the journal. A new session is another journal, of a clone or a second home as likely
    as of a lost disk, and only a person can tell which: nothing but `adopt` lets it in.
    """
    holder = agent["session"] if agent else None
    if agent is None or (holder is not None and holder == state.session):
        return
    if holder is not None:
        name = agent["host"] or holder
        raise _conflict(
            Said(
                f"the link {link} is held by the agent on {name}, last seen {agent['last_seen_at']}",
                f"канал {link} занят агентом на {name}, последний раз был {agent['last_seen_at']}",
            )
        )
    if transaction.one("session_retired", link=link, session=state.session) is not None:
        raise _conflict(
            Said(
                f"a person took the link {link} from this agent, for another one that has not claimed yet",
                f"человек передал канал {link} другому агенту, тот ещё не обращался",
            )
        )


def _conflict(what: Said) -> Refusal:
    return Refusal(
        "session_conflict",
        what,
        hint=Said(
            "stop the other agent, or let this one take over with: jira-hub agent adopt",
            "остановите другого агента или передайте канал: jira-hub agent adopt",
        ),
    )


def release(transaction: Transaction, link: str) -> None:
    """A person's word: the holder is retired, whoever was retired may come back, the next one that claims holds."""
    agent = transaction.one("agent", link=link)
    transaction.run("forget_retired", link=link)
    if agent is not None and agent["session"] is not None:
        transaction.run("retire_session", link=link, session=agent["session"], host=agent["host"], at=transaction.now)
    transaction.run("agent_released", link=link)


def _refused(request: ClaimRequest, settings: LinkSettings, now: str) -> Refusal | None:
    wanted = settings.min_agent_version
    if request.agent_version < wanted:
        return Refusal(
            "upgrade_required",
            Said(
                f"agent version {request.agent_version} is too old, {wanted} is needed",
                f"версия агента {request.agent_version} устарела, нужна {wanted}",
            ),
            hint=Said(
                f"install the agent bundle of version {wanted} or newer",
                f"установите сборку агента версии {wanted} или новее",
            ),
        )
    if settings.paused(now):
        until = settings.paused_until
        return Refusal(
            "paused",
            Said(f"the link is paused: {until}", f"канал на паузе: {until}"),
            hint=Said("let it go on with: jira-hub resume", "продолжить: jira-hub resume"),
        )
    return None
