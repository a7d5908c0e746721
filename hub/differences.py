"""How a wish differs from an issue as the mirror shows it: the one comparison behind confirmation and plan. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from protocol.commands import BACKLOG, EnsureFields, EnsureLink, EnsureSprint, SprintId
from protocol.issues import IssueLink, IssueState
from protocol.text import normalised_summary, normalised_text

_PLAIN_FIELDS = ("priority", "duedate", "planned_start", "planned_end", "epic_key", "assignee")


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that a command would make different; JSON values on both sides."""

    field: str
    old: Any
    new: Any


def field_changes(want: EnsureFields, have: IssueState) -> tuple[Change, ...]:
    """The given fields that have another value, texts compared by the shared normaliser; none if it is so."""
    given = want.model_fields_set
    found = []
    if "summary" in given and normalised_summary(want.summary or "") != normalised_summary(have.summary):
        found.append(Change("summary", have.summary, want.summary))
    if "description" in given and normalised_text(want.description) != normalised_text(have.description):
        found.append(Change("description", have.description, want.description))
    found += [
        Change(name, getattr(have, name), getattr(want, name))
        for name in _PLAIN_FIELDS
        if name in given and getattr(have, name) != getattr(want, name)
    ]
    labels = labels_after(want, have)
    return (*found, Change("labels", list(have.labels), list(labels))) if labels != have.labels else tuple(found)


def labels_after(want: EnsureFields, have: IssueState) -> tuple[str, ...]:
    """The labels with those to add and without those to remove; a label nobody speaks of stays where it is."""
    kept = tuple(label for label in have.labels if label not in want.labels_remove)
    return (*kept, *(label for label in want.labels_add if label not in kept))


def sprint_matches(want: EnsureSprint, have: IssueState) -> bool:
    """Whether the issue is in the wished sprint; no sprint at all is the backlog."""
    if isinstance(want.sprint, SprintId):
        return have.sprint_id == want.sprint.id
    if want.sprint == BACKLOG:
        return have.sprint is None and have.sprint_id is None
    return have.sprint is not None and have.sprint.strip() == want.sprint


def link_is_there(want: EnsureLink, links: Iterable[IssueLink]) -> bool:
    """Whether one of the links is the wished one."""
    return any(_agrees(want, link) for link in _between(want, links))


def conflicting_links(want: EnsureLink, links: Iterable[IssueLink]) -> tuple[IssueLink, ...]:
    """Managed links between the two issues of another type or the other way round; symmetric ones have no way."""
    return tuple(link for link in _between(want, links) if not _agrees(want, link))


def _between(want: EnsureLink, links: Iterable[IssueLink]) -> tuple[IssueLink, ...]:
    return tuple(link for link in links if link.managed and {link.source, link.target} == {want.source, want.target})


def _agrees(want: EnsureLink, link: IssueLink) -> bool:
    one_way = (link.source, link.target) == (want.source, want.target)
    return link.link_type == want.link_type and (link.symmetric or one_way)
