"""From a delivery to its report: which executor, what is allowed, and how an end is told."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, assert_never

from pydantic import ValidationError

from agent.differences import CannotReach
from agent.executor.changes import ensure_comment, ensure_fields, ensure_link, ensure_sprint, ensure_status
from agent.executor.creation import ensure_issue, look_up
from agent.executor.refreshing import refresh
from agent.executor.work import CommandFailed, Work
from protocol.commands import (
    AnyCommand,
    EnsureComment,
    EnsureFields,
    EnsureIssue,
    EnsureLink,
    EnsureSprint,
    EnsureStatus,
    Refresh,
    command_from,
    keys_used,
)
from protocol.keys import is_temporary, project_of
from protocol.messages import Delivery


@dataclass(frozen=True, slots=True)
class AllowList:
    """What this machine permits, whatever the hub asks: a compromised hub must not reach further."""

    projects: Collection[str]
    types: Collection[str]


def command_of(delivery: Delivery, allowed: AllowList) -> AnyCommand:
    """The command of a delivery; raises `CommandFailed` if it is not understood or not permitted here."""
    try:
        command = command_from(delivery.type, delivery.params)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise CommandFailed(f"агент этой версии не понимает параметров: {place}: {first['msg']}") from error
    if command.type not in allowed.types:
        raise CommandFailed(f"настройка агента (allow_types) не разрешает {command.type}")
    unresolved = [key for key in keys_used(command) if is_temporary(key)]
    if unresolved:
        raise CommandFailed(f"хаб не подставил настоящий ключ вместо {', '.join(unresolved)}")
    foreign = sorted({project_of(key) for key in keys_used(command)} - set(allowed.projects))
    if foreign and not isinstance(command, Refresh):
        raise CommandFailed(f"настройка агента (allow_projects) не разрешает проект {', '.join(foreign)}")
    return command


def execute(work: Work, command: AnyCommand) -> dict[str, Any]:
    """The result of the command, done. Raises `CommandFailed` and what `Work` raises."""
    try:
        result = _executed(work, command)
    except CannotReach as error:
        raise CommandFailed(str(error)) from error
    if isinstance(command, Refresh):
        return result
    return {**result, "operations": list(work.written)}


def _executed(work: Work, command: AnyCommand) -> dict[str, Any]:
    match command:
        case EnsureIssue():
            return ensure_issue(work, command)
        case EnsureFields():
            return ensure_fields(work, command)
        case EnsureComment():
            return ensure_comment(work, command)
        case EnsureStatus():
            return ensure_status(work, command)
        case EnsureLink():
            return ensure_link(work, command)
        case EnsureSprint():
            return ensure_sprint(work, command)
        case Refresh():
            return refresh(work, command)
        case _:
            assert_never(command)


def created_for(work: Work, command: AnyCommand) -> dict[str, Any] | None:
    """The result of a closed `ensure_issue` whose issue exists after all."""
    return look_up(work, command) if isinstance(command, EnsureIssue) else None
