"""The records of the journal: what the agent must remember over its own death. Forms only, no behaviour."""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from protocol.messages import Delivery, Report


class _Record(BaseModel):
    # A newer agent may have written more than this one understands: going back a version must work.
    model_config = ConfigDict(extra="ignore", frozen=True)
    at: float = Field(description="wall time, seconds since 1970; it may jump: for searches and daily counts")


class Session(_Record):
    """Names this journal's life; the hub serves one session per link.

    Compaction carries the newest own key here, the moments of the claims of the last day, and the creations.
    """

    kind: Literal["session"] = "session"
    session: str
    newest_own_key: str | None = None
    claimed_at: tuple[float, ...] | None = None
    creations: "tuple[Creation, ...] | None" = None


class Claim(_Record):
    """About to claim under this request id."""

    kind: Literal["claim"] = "claim"
    request_id: str


class Claimed(_Record):
    """The claim was answered with a delivery: it is in hand now."""

    kind: Literal["claimed"] = "claimed"
    request_id: str
    delivery: Delivery


class Call(_Record):
    """About to send one request to Jira; monotonic time counts only under the same boot id."""

    kind: Literal["call"] = "call"
    command_id: int | None = None
    request: str
    boot_id: str
    monotonic: float


class Answered(_Record):
    """The request of the last `call` has ended. Not synced: it counts only while the machine has not restarted."""

    kind: Literal["answered"] = "answered"
    boot_id: str
    monotonic: float
    outcome: str


class Intent(_Record):
    """About to write: from here on the effect may exist, whatever becomes of us."""

    kind: Literal["intent"] = "intent"
    command_id: int
    write: str
    boot_id: str
    monotonic: float


class Creation(_Record):
    """Something made under a root that a later command may bear too: an issue, or a comment with a marker.

    With an `intent` nobody knows whether it was made; with a `key` Jira has said so; with neither it surely was not.
    Not a line of its own.
    """

    root: str
    intent: Intent | None = None
    key: str | None = None


class Step(_Record):
    """What became of the last intent: `done`, or `not done` where Jira surely did nothing."""

    kind: Literal["step"] = "step"
    command_id: int
    write: str
    outcome: Literal["done", "not done"]
    created_key: str | None = None


class Finished(_Record):
    """The command is over; this is the report, and the request id it is sent under."""

    kind: Literal["finished"] = "finished"
    command_id: int
    request_id: str
    report: Report


class Reported(_Record):
    """The hub has taken the report."""

    kind: Literal["reported"] = "reported"
    command_id: int


class Closed(_Record):
    """The command is over without a report, and why."""

    kind: Literal["closed"] = "closed"
    command_id: int
    why: str


class Recovering(_Record):
    """Started again with this command in hand."""

    kind: Literal["recovering"] = "recovering"
    command_id: int


class Stopped(_Record):
    """Stopped by a person or the system, in order: the next start is no recovery from a crash."""

    kind: Literal["stopped"] = "stopped"


AnyRecord = (
    Session | Claim | Claimed | Call | Answered | Intent | Step | Finished | Reported | Closed | Recovering | Stopped
)
Session.model_rebuild()
RECORD: Final[TypeAdapter[AnyRecord]] = TypeAdapter(Annotated[AnyRecord, Field(discriminator="kind")])


def record_from(fields: dict[str, Any]) -> AnyRecord:
    """The record of one parsed line; raises `pydantic.ValidationError`."""
    return RECORD.validate_python(fields)
