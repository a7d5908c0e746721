"""A page to look at the issues with a browser. Shows, never changes."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from examples.jira.catalogue import LINK_TYPES, RESOLUTIONS, STATUSES
from examples.jira.context import Context, priority_of, status_of, type_of, user_named
from examples.jira.http import HTML_TYPE, Answer, Call, answer_html
from examples.jira.model import Issue
from examples.jira.words import WORDS, language_of

_FRESH_SECONDS: Final = 60.0  # how long a changed row stays marked
_RECENT: Final = 8
_TEMPLATES: Final = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def serve(context: Context, call: Call) -> Answer | None:
    """The answer to a browser, or None when there is no such page."""
    if call.method != "GET":
        return None
    if call.path == "/login.jsp":
        return answer_html(200, "Log in", "This server has no browser log-in.")
    language = language_of(call.headers.get("accept-language", ""))
    if call.path == "/":
        return _render("board.html", language, **_board(context))
    if call.path.startswith("/browse/"):
        issue = context.store.issue_by_key(call.path.removeprefix("/browse/"))
        if issue is None:
            return answer_html(404, WORDS[language]["missing"])
        return _render("issue.html", language, **_issue(context, issue))
    return None


def _render(template: str, language: str, **values: Any) -> Answer:
    text = _TEMPLATES.get_template(template).render(words=WORDS[language], language=language, **values)
    return Answer(200, text.encode(), (("content-type", HTML_TYPE), ("cache-control", "no-store")))


def _board(context: Context) -> dict[str, Any]:
    issues = sorted(context.store.issues(), key=lambda issue: (issue.project, issue.number), reverse=True)
    keys = {issue.id: issue.key for issue in issues}
    linked: dict[int, int] = {}
    for link in context.store.links():
        for end in (link.first, link.second):
            linked[end] = linked.get(end, 0) + 1
    came, wrote = context.store.request_counts()
    changes = [
        _change(context, change) | {"key": keys.get(change["issue_id"])}
        for change in context.store.changes(limit=_RECENT)
    ]
    by_status = [(status, sum(issue.status_id == status.id for issue in issues)) for status in STATUSES]
    return {
        "project": context.settings.project,
        "version": context.switches.version,
        "rows": [_row(context, issue) | {"links": linked.get(issue.id, 0)} for issue in issues],
        "requests": came,
        "writes": wrote,
        "changes": changes,
        "by_status": [(status, count) for status, count in by_status if count],
    }


def _row(context: Context, issue: Issue) -> dict[str, Any]:
    sprints = [one for one in context.store.sprints() if one.id in issue.sprint_ids]
    assignee = user_named(issue.assignee or "")
    return {
        "key": issue.key,
        "issue": issue,
        "type": type_of(issue.type_id),
        "status": status_of(issue.status_id),
        "priority": priority_of(issue.priority_id),
        "sprints": [one for one in sprints if one.state != "closed"],
        "closed_sprints": [one for one in sprints if one.state == "closed"],
        "assignee": assignee.display if assignee else "",
        "updated": _moment(context, issue.updated),
        "fresh": 0 <= context.now - issue.updated < _FRESH_SECONDS,
    }


def _issue(context: Context, issue: Issue) -> dict[str, Any]:
    links = []
    for link in context.store.links_of(issue.id):
        link_type = next(one for one in LINK_TYPES if one.id == link.type_id)
        outward = link.first == issue.id
        other = context.store.issue(link.second if outward else link.first)
        if other is not None:
            links.append({"text": link_type.outward if outward else link_type.inward, "other": _row(context, other)})
    comments = [
        {
            "author": _person(one.author),
            "at": _moment(context, one.created),
            "body": one.body,
            "edited": one.updated > one.created,
        }
        for one in context.store.comments(issue.id)
    ]
    resolution = next((one.name for one in RESOLUTIONS if one.id == issue.resolution_id), "")
    return {
        "project": context.settings.project,
        "row": _row(context, issue),
        "links": links,
        "comments": comments,
        "changes": [_change(context, change) for change in context.store.changes(issue.id)],
        "reporter": _person(issue.reporter),
        "created": _moment(context, issue.created),
        "resolution": resolution,
    }


def _change(context: Context, change: dict[str, Any]) -> dict[str, Any]:
    return {**change, "at": _moment(context, change["at"]), "user": _person(change["user"])}


def _person(login: str) -> str:
    user = user_named(login)
    return user.display if user else login


def _moment(context: Context, wall: float) -> str:
    return f"{datetime.fromtimestamp(wall, tz=UTC).astimezone(context.zone):%d.%m.%Y %H:%M:%S}"
