"""What the agent and the hub say about commands. Version 2 bodies stay valid: newer fields are optional."""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from protocol.commands import CommandType
from protocol.keys import is_issue_key

AGENT_VERSION: Final = 3
MIN_AGENT_VERSION: Final = 2
HUB_VERSION: Final = "jira-hub-version"  # header of every answer to an agent: the hub's release, for people
MAX_ERROR: Final = 1_500  # characters of Jira's text that are kept

Status = Literal["queued", "claimed", "done", "failed", "cancelled", "skipped", "confirmed_by_state"]
TERMINAL: Final[frozenset[Status]] = frozenset({"done", "failed", "cancelled", "skipped", "confirmed_by_state"})
Count = Annotated[int, Field(strict=True, ge=0, lt=2**53)]


class _FromAgent(BaseModel):
    """Requests are strict: an unknown field is a mistake of the sender's."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class _FromHub(BaseModel):
    """Answers are lenient: a newer hub may say more than this agent understands."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class AgentState(_FromAgent):
    """How the agent is; rides on every claim, and alone on a heartbeat."""

    agent_version: Count = MIN_AGENT_VERSION
    session: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    host: Annotated[str, Field(max_length=255)] | None = None
    blocked: Annotated[str, Field(max_length=MAX_ERROR)] | None = None
    current_command_id: Count | None = None


class ClaimRequest(AgentState):
    """The agent has empty hands and asks for the next command."""


class Delivery(_FromHub):
    """A claimed command on its way to the agent; `GET /agent/commands/{id}` answers the same with today's status.

    `pause_seconds` is the gap: since the last Jira call before the first one, and between the writes of this command.
    `identity` belongs to an `ensure_issue` alone. `age_seconds` counts from the first delivery; where an effect may be
    older, of a retry or a restored command, from the moment the root was queued. `restored`: the hub's database was
    restored from a copy since the command was created, so it may have been carried out already, unknown.
    """

    id: int
    type: CommandType
    params: dict[str, Any]
    pause_seconds: float = Field(ge=0)
    status: Status = "claimed"
    delivery: int = 1
    age_seconds: float = 0
    identity: str | None = None
    batch_id: int | None = None
    restored: bool = False


class Report(_FromAgent):
    """The agent's final word on a command. `delivery` echoes the delivery it speaks of."""

    status: Literal["done", "failed"]
    result: dict[str, Any] | None = None
    error: Annotated[str, Field(max_length=MAX_ERROR)] | None = None
    jira_calls: Count = 0
    rate_limited: Count = 0
    delivery: Count | None = None

    @model_validator(mode="after")
    def _failure_says_why(self) -> "Report":
        if self.status == "failed" and not self.error:
            raise ValueError("a failed report needs an error")
        return self

    @property
    def created_key(self) -> str | None:
        """The issue key in the result, where there is a valid one."""
        key = (self.result or {}).get("key")
        return key if isinstance(key, str) and is_issue_key(key) else None
