"""Fields of an issue: the one edit that turns what is there into what is wished. Pure."""

from collections.abc import Mapping
from typing import Any

from agent.differences import CannotReach
from agent.site import Site
from agent.writes import EditIssue, SetEpic, Write
from protocol.commands import EnsureFields, EnsureIssue
from protocol.issues import IssueState
from protocol.text import normalised_summary, normalised_text

_TEXTS = ("summary", "description")


def fields_difference(site: Site, want: EnsureFields, have: IssueState) -> tuple[Write, ...]:
    """The writes that turn `have` into `want`; none if it is so. A moved issue is written under its key of today."""
    given = want.model_fields_set
    fields = {
        name: value
        for field in ("summary", "description", "priority", "duedate", "planned_start", "planned_end", "assignee")
        if field in given and not _is_same(site, field, getattr(want, field), getattr(have, field))
        for name, value in [written_field(site, field, getattr(want, field))]
    }
    epic: tuple[Write, ...] = ()
    if "epic_key" in given and want.epic_key != have.epic_key:
        if site.epic_mode == "agile":
            epic = (SetEpic(have.key, want.epic_key),)
        else:
            fields.update([written_field(site, "epic_key", want.epic_key)])
    labels = _label_operations(want, have)
    edit = (EditIssue(have.key, fields, {"labels": labels} if labels else {}),) if fields or labels else ()
    return (*edit, *epic)


def _label_operations(want: EnsureFields, have: IssueState) -> list[dict[str, str]]:
    """Additions and removals, never a replacing set: a label a person adds meanwhile survives."""
    add = [{"add": label} for label in want.labels_add if label not in have.labels]
    remove = [{"remove": label} for label in want.labels_remove if label in have.labels]
    return add + remove


def _is_same(site: Site, field: str, want: str | None, have: str | None) -> bool:
    match field:
        case "summary":
            return normalised_summary(want or "") == normalised_summary(have or "")
        case "description":
            return normalised_text(want) == normalised_text(have)
        case "priority":
            ours, theirs = site.priority(want or ""), site.priority(have or "")
            return want == have or (ours is not None and theirs is not None and ours.jira_id == theirs.jira_id)
        case _:
            return want == have


def written_field(site: Site, field: str, value: str | None) -> tuple[str, Any]:
    """Jira's field id and value for one of our fields; raises `CannotReach` where the site lacks it."""
    match field:
        case "priority":
            known = site.priority(value or "")
            # Unknown here: Jira's own refusal names what it takes.
            return "priority", {"id": known.jira_id} if known else {"name": value}
        case "assignee":
            return "assignee", None if value is None else {"name": value}
        case "planned_start" | "planned_end":
            return _custom(field, getattr(site, f"{field}_field")), _planned(site, value)
        case "epic_key":
            return _custom(field, site.epic_link_field), value
        case "description":
            return "description", normalised_text(value) or None
        case _:
            return field, value


def _custom(field: str, field_id: str | None) -> str:
    if field_id is None:
        raise CannotReach(f"у этой Jira нет поля для {field}: задайте его id в настройке агента")
    return field_id


def _planned(site: Site, day: str | None) -> str | None:
    if day is None or site.planned_kind == "date":
        return day
    # Noon UTC is the same day from UTC-11 to UTC+11. Jira wants exactly three decimals and no colon in the zone.
    return f"{day}T12:00:00.000+0000"


def only_texts(writes: tuple[Write, ...]) -> bool:
    """Whether nothing but texts is left to write: those Jira may rewrite for ever."""
    return bool(writes) and all(
        isinstance(write, EditIssue) and not write.update and set(write.fields) <= set(_TEXTS) for write in writes
    )


def created_fields(site: Site, want: EnsureIssue, identity: str | None) -> Mapping[str, Any]:
    """The fields of a new issue, defaults of the site under them."""
    if want.issue_type not in site.issue_types:
        raise CannotReach(f"в настройке агента нет issue_types.{want.issue_type}")
    fields: dict[str, Any] = {
        **site.create_defaults,
        "project": {"key": site.project},
        "issuetype": {"id": site.issue_types[want.issue_type].jira_id},
        "summary": want.summary,
    }
    for field in ("description", "priority", "duedate", "planned_start", "planned_end", "assignee"):
        if getattr(want, field) not in (None, ""):
            fields.update([written_field(site, field, getattr(want, field))])
    if want.epic_key is not None and site.epic_mode == "create":
        fields.update([written_field(site, "epic_key", want.epic_key)])
    if want.issue_type == "epic" and site.epic_name_field is not None:
        fields[site.epic_name_field] = want.summary  # Jira refuses an epic without one
    labels = [*want.labels, identity] if identity is not None and site.identity_label else list(want.labels)
    if labels:
        fields["labels"] = labels
    return fields
