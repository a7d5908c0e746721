"""What the mirror takes from Jira's answers: issue states, neighbours, pages. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from agent.differences.sprint import sprints_of
from agent.site import Site
from protocol.issues import IssueLink, IssueState
from protocol.keys import is_issue_key

PAGE: Final = 100
MAX_NEIGHBOURS: Final = 500

_FIELDS: Final = (
    "summary", "description", "issuetype", "status", "priority", "assignee", "duedate", "labels", "issuelinks",
    "created", "updated", "archiveddate",
)  # fmt: skip


def mirror_fields(site: Site) -> list[str]:
    """The fields to ask for: always named, `*all` of an issue with many links takes minutes."""
    custom = (site.epic_link_field, site.sprint_field, site.planned_start_field, site.planned_end_field)
    return [*_FIELDS, *(field for field in custom if field is not None)]


def issue_state(site: Site, issue: Mapping[str, Any]) -> IssueState:
    """One issue of an answer as the mirror keeps it; a field that was not asked for reads as empty."""
    fields: Mapping[str, Any] = issue.get("fields") or {}
    key = str(issue["key"])
    sprint = _sprint(fields.get(site.sprint_field) if site.sprint_field else None)
    return IssueState(
        key=key,
        jira_id=str(issue["id"]) if "id" in issue else None,
        summary=_text(fields.get("summary")) or "",
        description=_text(fields.get("description")),
        issue_type=_name(fields.get("issuetype")),
        status=_name(fields.get("status")),
        status_id=_id(fields.get("status")),
        priority=_priority(site, fields.get("priority")),
        assignee=_name(fields.get("assignee")),
        duedate=_day(fields.get("duedate")),
        planned_start=_day(fields.get(site.planned_start_field or "")),
        planned_end=_day(fields.get(site.planned_end_field or "")),
        labels=tuple(str(label) for label in fields.get("labels") or ()),
        epic_key=_text(fields.get(site.epic_link_field or "")),
        sprint=sprint[1],
        sprint_id=sprint[0],
        created=_text(fields.get("created")),
        updated=_text(fields.get("updated")),
        archived_at=_text(fields.get("archiveddate")),
        links=tuple(_links(site, key, fields.get("issuelinks") or ())),
    )


def _sprint(field: Any) -> tuple[int | None, str | None]:
    """The sprint the issue is in: an active one before a future one."""
    current = sorted(sprints_of(field), key=lambda sprint: (sprint.state != "active", sprint.id))
    return (current[0].id, current[0].name) if current else (None, None)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _name(value: Any) -> str | None:
    return _text(value.get("name")) if isinstance(value, dict) else None


def _id(value: Any) -> str | None:
    return str(value["id"]) if isinstance(value, dict) and "id" in value else None


def _day(value: Any) -> str | None:
    return value[:10] if isinstance(value, str) else None  # the day of a date or datetime field, untouched by zones


def _priority(site: Site, value: Any) -> str | None:
    number = _id(value)
    known = next((one for one in site.priorities if one.jira_id == number), None)
    return known.name if known else _name(value)


def _links(site: Site, key: str, links: Iterable[Mapping[str, Any]]) -> Iterable[IssueLink]:
    for link in links:
        kind: Mapping[str, Any] = link.get("type") or {}
        managed = site.managed(str(kind.get("id")))
        for side in ("outwardIssue", "inwardIssue"):
            other = (link.get(side) or {}).get("key")
            if not isinstance(other, str) or not is_issue_key(other):
                continue
            forward = side == "outwardIssue"
            if managed is not None and managed.direction == "inward":
                forward = not forward
            yield IssueLink(
                source=key if forward else other,
                target=other if forward else key,
                link_type=managed.logical if managed else str(kind.get("name", "")),
                managed=managed is not None,
                symmetric=kind.get("inward") == kind.get("outward"),
                jira_id=str(link["id"]) if "id" in link else None,
            )


def neighbours(read: Mapping[str, IssueState]) -> tuple[tuple[str, ...], bool]:
    """Keys one link away from the issues of `read` and not among them; and whether some were left out."""
    ends = (end for state in read.values() for link in state.links for end in (link.source, link.target))
    keys = tuple(dict.fromkeys(end for end in ends if end not in read))
    return keys[:MAX_NEIGHBOURS], len(keys) > MAX_NEIGHBOURS


def chunks(keys: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """`keys` by the page: a query must not grow without end."""
    return tuple(tuple(keys[start : start + PAGE]) for start in range(0, len(keys), PAGE))


def is_last_page(start: int, received: int, total: Any) -> bool:
    """Whether a page ends the list. Jira's cap is whatever it sent; its total may lie, an empty page does not."""
    return received == 0 or (isinstance(total, int) and start + received >= total)
