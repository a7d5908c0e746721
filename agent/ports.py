"""What the drivers of the agent need from outside: Jira, the hub, the journal. Time comes from `relay.ports`."""

from dataclasses import dataclass
from typing import Protocol

from agent.outcomes import Answer, JiraRequest
from agent.records import AnyRecord
from agent.recovery import Memory
from protocol.messages import AgentState, ClaimRequest, Delivery, Report


class HubUnreachable(Exception):
    """No answer of the hub's within the deadline. What was asked may have happened: ask again under the same id."""


class HubUnwell(HubUnreachable):
    """The hub answered that it is not well. That answer is kept under the request's id: ask anew under a fresh one."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The hub answered and said no. `code` is one of `protocol.errors`, or `http <status>` of something foreign."""

    status: int
    code: str
    detail: str
    hint: str | None = None

    @property
    def said(self) -> str:
        """For a person: what, and the way out where the hub names one."""
        return self.detail if self.hint is None else f"{self.detail} → {self.hint}"


class Jira(Protocol):
    """Sends exactly one HTTP request per call; the journal knows of it before it leaves."""

    def send(self, request: JiraRequest, *, command_id: int | None = None) -> Answer: ...

    def renewed(self) -> bool:
        """Whether a person has changed the token since the last look; the new one is used from now on."""
        ...


class Hub(Protocol):
    """The hub's four routes for agents. Every method may raise `HubUnreachable`."""

    def claim(self, request: ClaimRequest, request_id: str) -> Delivery | Refusal | None:
        """The next command, or None where the queue stayed empty for the length of the long poll."""
        ...

    def command(self, command_id: int) -> Delivery | None:
        """The command as the hub sees it today; None: it knows none of this id."""
        ...

    def report(self, command_id: int, report: Report, request_id: str) -> Refusal | None:
        """None: taken."""
        ...

    def heartbeat(self, state: AgentState) -> None: ...


class Journal(Protocol):
    """The agent's durable memory."""

    @property
    def memory(self) -> Memory: ...

    def append(self, record: AnyRecord) -> None:
        """Durable when this returns, except `answered`."""
        ...

    def compact(self) -> None:
        """Forget what no longer matters, if there is much of it; only with empty hands."""
        ...

    def keep_orphan(self, record: AnyRecord) -> None:
        """Set aside the result of a command that the hub does not know."""
        ...
