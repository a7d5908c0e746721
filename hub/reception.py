"""What a report does to the command it speaks of. The rule alone; `service.reporting` carries it out."""

from dataclasses import dataclass

from protocol.commands import CommandType
from protocol.messages import TERMINAL, Status


@dataclass(frozen=True, slots=True)
class Reported:
    """A command as a report meets it."""

    status: Status
    type: CommandType
    deliveries: int
    has_result: bool


@dataclass(frozen=True, slots=True)
class Spoken:
    """What matters of a report: its word, the key it brings, the delivery it echoes."""

    status: Status
    created_key: str | None
    delivery: int | None


@dataclass(frozen=True, slots=True)
class Accept:
    """The command ends as the report says."""


@dataclass(frozen=True, slots=True)
class NotClaimed:
    """The command was never handed out: the report cannot be its own."""


@dataclass(frozen=True, slots=True)
class KeepCreation:
    """Cancelled while the agent created the issue: the result is kept, the status stays (design decision 6)."""


@dataclass(frozen=True, slots=True)
class KeepAside:
    """The command stays as it is; the report is kept as a late result only."""


def reception(command: Reported, report: Spoken) -> Accept | NotClaimed | KeepCreation | KeepAside:
    """Choose what the report does; `queue.md`, Report 1-5."""
    if command.status == "queued":
        return NotClaimed()
    if command.status in TERMINAL:
        creation = command.type == "ensure_issue" and report.status == "done" and report.created_key is not None
        if command.status == "cancelled" and creation and not command.has_result:
            return KeepCreation()
        return KeepAside()
    outdated = report.delivery is not None and report.delivery < command.deliveries
    # A newer delivery is on its way and may yet succeed; what was done, however, is done, whoever says so.
    return KeepAside() if outdated and report.status == "failed" else Accept()
