"""Issues and what belongs to them as Jira shows them. Reads only."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from examples.jira.catalogue import CATEGORIES, LINK_TYPES, RESOLUTIONS, IssueType, LinkType, Named, Status, User
from examples.jira.context import Context, priority_of, status_of, type_of, user_named
from examples.jira.field_list import field_catalogue
from examples.jira.model import Comment, Issue, Link, Sprint

EXPAND: Final = "renderedFields,names,schema,operations,editmeta,changelog,versionedRepresentations"


def user_bean(context: Context, user: User | None) -> dict[str, Any] | None:
    if user is None:
        return None
    return {
        "self": context.link(f"/rest/api/2/user?username={user.name}"),
        "name": user.name,
        "key": user.key,
        "emailAddress": user.email,
        "avatarUrls": {"48x48": context.link("/secure/useravatar?avatarId=10122")},
        "displayName": user.display,
        "active": user.active,
        "timeZone": "Europe/Moscow",
    }


def named_bean(context: Context, kind: str, thing: Named) -> dict[str, Any]:
    return {
        "self": context.link(f"/rest/api/2/{kind}/{thing.id}"),
        "iconUrl": context.link(f"/images/icons/{kind}.svg"),
        "name": context.name(thing),
        "id": thing.id,
    }


def type_bean(context: Context, issue_type: IssueType) -> dict[str, Any]:
    return {**named_bean(context, "issuetype", issue_type), "description": "", "subtask": issue_type.subtask}


def status_bean(context: Context, status: Status) -> dict[str, Any]:
    category = CATEGORIES[status.category]
    url = context.link(f"/rest/api/2/statuscategory/{category['id']}")
    return {**named_bean(context, "status", status), "description": "", "statusCategory": {"self": url, **category}}


def resolution_bean(context: Context, resolution_id: str | None) -> dict[str, Any] | None:
    found = next((one for one in RESOLUTIONS if one.id == resolution_id), None)
    return None if found is None else {**named_bean(context, "resolution", found), "description": ""}


def project_bean(context: Context, key: str) -> dict[str, Any]:
    project = context.project(key)
    assert project is not None, key
    url = context.link(f"/rest/api/2/project/{project.id}")
    return {"self": url, "id": project.id, "key": project.key, "name": project.name, "projectTypeKey": "software"}


def link_type_bean(context: Context, one: LinkType) -> dict[str, Any]:
    url = context.link(f"/rest/api/2/issueLinkType/{one.id}")
    return {"id": one.id, "name": one.name, "inward": one.inward, "outward": one.outward, "self": url}


def link_bean(context: Context, link: Link, seen_from: int) -> dict[str, Any]:
    """The first issue (which blocks) sees the other one as `outwardIssue`, the second sees `inwardIssue` (§1.5)."""
    link_type = next(one for one in LINK_TYPES if one.id == link.type_id)
    side, other_id = ("outwardIssue", link.second) if seen_from == link.first else ("inwardIssue", link.first)
    other = context.store.issue(other_id)
    assert other is not None, link
    shown = {
        "id": str(other.id),
        "key": other.key,
        "self": context.link(f"/rest/api/2/issue/{other.id}"),
        "fields": {
            "summary": other.summary,
            "status": status_bean(context, status_of(other.status_id)),
            "priority": named_bean(context, "priority", priority_of(other.priority_id)),
            "issuetype": type_bean(context, type_of(other.type_id)),
        },
    }
    url = context.link(f"/rest/api/2/issueLink/{link.id}")
    return {"id": str(link.id), "self": url, "type": link_type_bean(context, link_type), side: shown}


def _seen(context: Context, link: Link) -> bool:
    """A link to a hidden issue is hidden too."""
    ends = (context.store.issue(link.first), context.store.issue(link.second))
    return all(end is not None and context.sees(end) for end in ends)


def comment_bean(context: Context, issue: Issue, comment: Comment) -> dict[str, Any]:
    bean = {
        "self": context.link(f"/rest/api/2/issue/{issue.id}/comment/{comment.id}"),
        "id": str(comment.id),
        "author": user_bean(context, user_named(comment.author)),
        "body": comment.body,
        "updateAuthor": user_bean(context, user_named(comment.update_author)),
        "created": context.time(comment.created),
        "updated": context.time(comment.updated),
    }
    return bean | ({"visibility": comment.visibility} if comment.visibility else {})


def sprint_bean(context: Context, sprint: Sprint) -> dict[str, Any]:
    """Agile beans; ids are numbers here and nowhere else."""
    bean: dict[str, Any] = {
        "id": sprint.id,
        "self": context.link(f"/rest/agile/1.0/sprint/{sprint.id}"),
        "state": sprint.state,
        "name": sprint.name,
        "startDate": context.time(sprint.start),
        "endDate": context.time(sprint.end),
        "completeDate": context.time(sprint.complete),
        "activatedDate": context.time(sprint.start) if sprint.state != "future" else None,
        "originBoardId": sprint.origin_board,
        "goal": sprint.goal,
        "synced": False,
    }
    return {name: value for name, value in bean.items() if value is not None}


def older_sprint_text(context: Context, sprint: Sprint) -> str:
    """The shape of Jira 6 and 7: the name first, no goal, the id last."""
    values = {
        "name": sprint.name,
        "startDate": context.time(sprint.start),
        "endDate": context.time(sprint.end),
        "completeDate": context.time(sprint.complete),
        "sequence": sprint.id,
        "rapidViewId": sprint.origin_board,
        "state": sprint.state.upper(),
        "id": sprint.id,
    }
    return _java_text(sprint, values)


def sprint_text(context: Context, sprint: Sprint) -> str:
    """The old shape of the sprint field: a Java `toString`, whose names may hold commas and brackets."""
    values = {
        "id": sprint.id,
        "rapidViewId": sprint.origin_board,
        "state": sprint.state.upper(),
        "name": sprint.name,
        "startDate": context.time(sprint.start),
        "endDate": context.time(sprint.end),
        "completeDate": context.time(sprint.complete),
        "activatedDate": context.time(sprint.start) if sprint.state != "future" else None,
        "sequence": sprint.id,
        "goal": sprint.goal,
        "synced": "false",
        "autoStartStop": "false",
    }
    return _java_text(sprint, values)


def _java_text(sprint: Sprint, values: Mapping[str, Any]) -> str:
    inside = ",".join(f"{name}={'<null>' if value is None else value}" for name, value in values.items())
    return f"com.atlassian.greenhopper.service.sprint.Sprint@{sprint.id * 2654435761 % 2**32:x}[{inside}]"


def _sprint_field(context: Context, issue: Issue) -> list[Any] | None:
    sprints = [sprint for sprint in context.store.sprints() if sprint.id in issue.sprint_ids]
    if not sprints:
        return None
    shapes = {"string": sprint_text, "older string": older_sprint_text, "object": sprint_bean}
    shape = shapes[context.switches.sprint_field]
    return [shape(context, sprint) for sprint in sprints]


def visible_comments(context: Context, issue: Issue) -> list[Comment]:
    """A comment restricted to a role we do not have is simply not there."""
    login = context.user.name if context.user else ""
    comments = context.store.comments(issue.id)
    return [
        one for one in comments if one.visibility is None or one.author == login or one.visibility["value"] == "Users"
    ]


def _field_value(context: Context, issue: Issue, field: str) -> Any:
    match field:
        case "summary" | "description" | "duedate" | "labels":
            return getattr(issue, field)
        case "issuetype":
            return type_bean(context, type_of(issue.type_id))
        case "project":
            return project_bean(context, issue.project)
        case "status":
            return status_bean(context, status_of(issue.status_id))
        case "resolution":
            return resolution_bean(context, issue.resolution_id)
        case "priority":
            return named_bean(context, "priority", priority_of(issue.priority_id))
        case "assignee" | "reporter" | "creator":
            return user_bean(context, user_named(getattr(issue, field) or ""))
        case "created" | "updated":
            return context.time(getattr(issue, field))
        case "archiveddate":
            return context.time(issue.archived_at)
        case "archivedby":
            return user_bean(context, user_named("petrova") if issue.archived else None)
        case "issuelinks":
            return [
                link_bean(context, link, issue.id) for link in context.store.links_of(issue.id) if _seen(context, link)
            ]
        case "comment":
            comments = [comment_bean(context, issue, one) for one in visible_comments(context, issue)]
            return {"comments": comments, "maxResults": len(comments), "total": len(comments), "startAt": 0}
    if field == context.field_id("sprint"):
        return _sprint_field(context, issue)
    return next((issue.custom.get(role) for role in ROLES if context.field_id(role) == field), None)


ROLES: Final = ("epic_link", "epic_name", "planned_start", "planned_end", "approved_at")


def chosen_fields(context: Context, wanted: Iterable[str], default: str) -> list[str]:
    """Which fields to show; unknown names are ignored, as Jira ignores them."""
    known = field_catalogue(context)
    everything = [field["id"] for field in known]
    groups = {"*all": everything, "*navigable": [field["id"] for field in known if field["navigable"]]}
    names = [name.strip() for name in wanted if name.strip()] or [default]
    if all(name.startswith("-") for name in names):
        names = [default, *names]
    chosen: set[str] = set()
    for name in names:
        if name.startswith("-"):
            chosen.discard(name[1:])
        else:
            chosen.update(groups.get(name, [name]))
    return [field for field in everything if field in chosen]


def issue_bean(context: Context, issue: Issue, fields: Iterable[str], properties: Iterable[str] = ()) -> dict[str, Any]:
    """An issue with the named fields; `properties` are entity properties to show beside them."""
    bean: dict[str, Any] = {
        "expand": EXPAND,
        "id": str(issue.id),
        "self": context.link(f"/rest/api/2/issue/{issue.id}"),
        "key": issue.key,
        "fields": {field: _field_value(context, issue, field) for field in fields},
    }
    wanted = [name for name in properties if name]
    if wanted:
        everything = "*all" in wanted
        bean["properties"] = {name: value for name, value in issue.properties.items() if everything or name in wanted}
    return bean
