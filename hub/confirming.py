"""Whether the mirror shows what a claimed command wishes. Creations, comments and readings are never confirmed so."""

from collections.abc import Iterable, Mapping

from protocol.commands import (
    BACKLOG,
    AnyCommand,
    EnsureFields,
    EnsureLink,
    EnsureSprint,
    EnsureStatus,
    SprintId,
)
from protocol.issues import IssueLink, IssueState
from protocol.text import normalised_summary, normalised_text

_PLAIN_FIELDS = ("priority", "duedate", "planned_start", "planned_end", "epic_key", "assignee")


def confirmed_by_state(command: AnyCommand, mirror: Mapping[str, IssueState]) -> bool:
    """Whether `mirror` shows the wish. `mirror` holds only issues read after the command was claimed (P13)."""
    match command:
        case EnsureFields():
            return command.key in mirror and fields_match(command, mirror[command.key])
        case EnsureStatus():
            return command.key in mirror and mirror[command.key].status == command.path[-1]
        case EnsureSprint():
            return command.key in mirror and sprint_matches(command, mirror[command.key])
        case EnsureLink():
            return command.source in mirror and link_stands_alone(command, mirror[command.source].links)
        case _:
            return False


def fields_match(want: EnsureFields, have: IssueState) -> bool:
    """Whether every field that was given has its value, texts compared by the shared normaliser."""
    given = want.model_fields_set
    labels = set(have.labels)
    return (
        ("summary" not in given or normalised_summary(want.summary or "") == normalised_summary(have.summary))
        and ("description" not in given or normalised_text(want.description) == normalised_text(have.description))
        and all(getattr(want, name) == getattr(have, name) for name in _PLAIN_FIELDS if name in given)
        and labels.issuperset(want.labels_add)
        and labels.isdisjoint(want.labels_remove)
    )


def sprint_matches(want: EnsureSprint, have: IssueState) -> bool:
    """Whether the issue is in the wished sprint; no sprint at all is the backlog."""
    if isinstance(want.sprint, SprintId):
        return have.sprint_id == want.sprint.id
    if want.sprint == BACKLOG:
        return have.sprint is None and have.sprint_id is None
    return have.sprint is not None and have.sprint.strip() == want.sprint


def link_stands_alone(want: EnsureLink, links: Iterable[IssueLink]) -> bool:
    """Whether the wished link is there and no other managed link between the two issues contradicts it."""
    between = [link for link in links if link.managed and {link.source, link.target} == {want.source, want.target}]
    agrees = [
        link.link_type == want.link_type
        and (link.symmetric or (link.source, link.target) == (want.source, want.target))
        for link in between
    ]
    return bool(agrees) and all(agrees)
