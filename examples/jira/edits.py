"""What people do to issues in the browser, behind the bridge's back: the control API's `edits`."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from examples.jira import fields as writing
from examples.jira.agile import move_to_sprint
from examples.jira.catalogue import EPIC, LINK_TYPES, SCRUM_BOARD, STATUSES, SUBTASK, TASK
from examples.jira.comments import add_comment
from examples.jira.context import Context
from examples.jira.http import Refusal
from examples.jira.links import add_link, remove_link
from examples.jira.model import Issue, Sprint

Edit = Mapping[str, Any]


def _create(context: Context, edit: Edit) -> Any:
    """`summary`, optional `fields`, `type` (`task`/`epic`/`subtask`), `age_seconds`, `project`."""
    store, project = context.store, str(edit.get("project", context.settings.project))
    issue_type = {"epic": EPIC, "subtask": SUBTASK}.get(str(edit.get("type")), TASK)
    at = context.now - float(edit.get("age_seconds", 0))
    issue = Issue(
        id=store.next_number("issue"),
        project=project,
        number=store.next_number(f"issue of {project}", 1),
        type_id=issue_type.id,
        status_id=STATUSES[0].id,
        summary=str(edit["summary"]),
        priority_id="3",
        reporter=context.login,
        creator=context.login,
        created=at,
        updated=at,
    )
    _apply(context, issue, edit.get("fields", {}))
    context.save(issue, "created by a person")
    return issue.key


def _apply(context: Context, issue: Issue, values: Mapping[str, Any]) -> None:
    allowed = writing.screen(context, issue.type_id, creating=False)
    writing.apply(context, issue, {"fields": dict(values)}, allowed)


def _edit(context: Context, edit: Edit) -> Any:
    """`key`, `fields` as in a PUT."""
    issue = context.issue(edit["key"])
    _apply(context, issue, edit["fields"])
    context.save(issue, "edited by a person")


def _comment(context: Context, edit: Edit) -> Any:
    """`key`, `body`, optional `visibility` `{"type", "value"}`, optional `count`."""
    issue = context.issue(edit["key"])
    for n in range(int(edit.get("count", 1))):
        text = str(edit["body"]).replace("{n}", str(n + 1))
        last = add_comment(context, issue, text, edit.get("visibility"))
    return str(last.id)


def _delete_comment(context: Context, edit: Edit) -> Any:
    context.store.delete_comment(int(edit["id"]))


def _status(context: Context, edit: Edit) -> Any:
    """`key`, `status` by id or name, past any workflow."""
    issue = context.issue(edit["key"])
    issue.status_id = next(one.id for one in STATUSES if edit["status"] in (one.id, one.name))
    context.save(issue, f"moved to {edit['status']} by a person")


def _link(context: Context, edit: Edit) -> Any:
    """`first` does the outward text of `type` (id or name) to `second`."""
    wanted = next(one for one in LINK_TYPES if edit["type"] in (one.id, one.name))
    add_link(context, wanted, context.issue(edit["first"]), context.issue(edit["second"]))


def _unlink(context: Context, edit: Edit) -> Any:
    """`id` of a link."""
    link = context.store.link(int(edit["id"]))
    if link is None:
        raise Refusal(404, [f"no link {edit['id']}"])
    remove_link(context, link)


def _move(context: Context, edit: Edit) -> Any:
    """`key`, `project`: a new key, the old one still leads here."""
    issue = context.issue(edit["key"])
    issue.old_keys.append(issue.key)
    issue.project = str(edit["project"])
    issue.number = context.store.next_number(f"issue of {issue.project}", 1)
    context.save(issue, f"moved from {issue.old_keys[-1]}")
    return issue.key


def _delete(context: Context, edit: Edit) -> Any:
    context.store.delete_issue(context.issue(edit["key"]).id)


def _archive(context: Context, edit: Edit) -> Any:
    """`key`, optional `archived` (false brings it back)."""
    issue = context.issue(edit["key"])
    issue.archived_at = context.now if edit.get("archived", True) else None
    context.save(issue, "archived" if issue.archived else "restored")


def _restrict(context: Context, edit: Edit) -> Any:
    """`key`, optional `restricted`: a security level that hides the issue from the service user."""
    issue = context.issue(edit["key"])
    issue.restricted = bool(edit.get("restricted", True))
    context.save(issue, "restricted" if issue.restricted else "opened")


def _sprint(context: Context, edit: Edit) -> Any:
    """`key`, `sprint` (id, or null for the backlog)."""
    sprint = None if edit.get("sprint") is None else context.sprint(int(edit["sprint"]))
    move_to_sprint(context, context.issue(edit["key"]), sprint)


def _save_sprint(context: Context, edit: Edit) -> Any:
    """A new sprint, or with a known `id` a changed one: `name`, `state`, `boards`, `origin_board`; `count` of them."""
    known = context.sprint(int(edit.get("id", 0)))
    made = []
    for n in range(int(edit.get("count", 1))):
        sprint = Sprint(
            id=known.id if known else int(edit.get("id", 0)) or context.store.next_number("sprint", 100),
            name=str(edit.get("name", known.name if known else "")).replace("{n}", str(n + 1)),
            state=str(edit.get("state", known.state if known else "future")),
            origin_board=int(edit.get("origin_board", SCRUM_BOARD)),
            boards=list(edit.get("boards", [SCRUM_BOARD])),
            start=None if edit.get("state", "future") == "future" else context.now,
        )
        context.store.save_sprint(sprint)
        made.append(sprint.id)
    return made


ACTIONS: Final[Mapping[str, Callable[[Context, Edit], Any]]] = {
    "create": _create,
    "edit": _edit,
    "comment": _comment,
    "delete_comment": _delete_comment,
    "status": _status,
    "link": _link,
    "unlink": _unlink,
    "move": _move,
    "delete": _delete,
    "archive": _archive,
    "restrict": _restrict,
    "sprint": _sprint,
    "save_sprint": _save_sprint,
}


def perform(context: Context, edit: Edit) -> Any:
    """Do one edit as `context.user`; what it made (a key, an id), else null."""
    action = ACTIONS.get(str(edit.get("action")))
    if action is None:
        raise Refusal(422, [f"no action '{edit.get('action')}'; known: {', '.join(sorted(ACTIONS))}"])
    try:
        return action(context, edit)
    except KeyError as lacking:
        raise Refusal(422, [f"the edit '{edit['action']}' lacks {lacking}: {(action.__doc__ or '').strip()}"]) from None
    except StopIteration:
        raise Refusal(422, [f"the edit '{edit['action']}' names a status or link type that does not exist"]) from None
