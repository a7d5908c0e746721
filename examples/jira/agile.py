"""Jira Software's own API: boards, sprints, backlog, epics. Its errors lack `errors`, its ids are numbers."""

from typing import Any, Final

from examples.jira.catalogue import EPIC, SUBTASK, Board
from examples.jira.context import Context
from examples.jira.http import Answer, Call, Refusal, answer_json, nothing
from examples.jira.model import Issue, Sprint
from examples.jira.reading import sprint_bean

_MAX_MOVED: Final = 50


def _refusal(status: int, text: str) -> Refusal:
    return Refusal(status, [text], agile=True)


def _board_bean(context: Context, board: Board) -> dict[str, Any]:
    url = context.link(f"/rest/agile/1.0/board/{board.id}")
    return {"id": board.id, "self": url, "name": board.name, "type": board.kind}


def _page(context: Context, call: Call, values: list[dict[str, Any]]) -> Answer:
    """No `total`, and never more than the cap whatever was asked for."""
    cap = context.switches.sprint_cap
    start, size = call.number("startAt", 0), min(call.number("maxResults", cap), cap)
    shown = values[start : start + size]
    last = start + len(shown) >= len(values)
    return answer_json(200, {"maxResults": size, "startAt": start, "isLast": last, "values": shown})


def get_boards(context: Context, call: Call) -> Answer:
    context.require_login()
    wanted = call.query("projectKeyOrId").upper(), call.query("type"), call.query("name").lower()
    boards = [
        board
        for board in context.boards().values()
        if wanted[0] in ("", board.project) and wanted[1] in ("", board.kind) and wanted[2] in board.name.lower()
    ]
    return _page(context, call, [_board_bean(context, board) for board in boards])


def _board(context: Context, call: Call) -> Board:
    text = call.params["board"]
    found: Board | None = context.boards().get(int(text)) if text.isdigit() and context.user else None
    if found is None:
        raise _refusal(404, "The requested board cannot be viewed because it either does not exist or you do not have"
                            " permission to view it.")  # fmt: skip
    return found


def get_board(context: Context, call: Call) -> Answer:
    return answer_json(200, _board_bean(context, _board(context, call)))


def get_sprints(context: Context, call: Call) -> Answer:
    board = _board(context, call)
    if not board.mapped:
        raise _refusal(422, "The board has no columns mapped to statuses.")
    if board.kind == "kanban":
        if context.switches.kanban_sprints == "empty":
            return _page(context, call, [])
        raise _refusal(400, "The board does not support sprints")
    states = {state for state in call.query("state").split(",") if state}
    if states - {"active", "future", "closed"}:
        raise _refusal(400, f"Invalid value for 'state': {', '.join(sorted(states))}")
    sprints = [one for one in context.store.sprints() if board.id in one.boards and (not states or one.state in states)]
    return _page(context, call, [sprint_bean(context, one) for one in sprints])


def _sprint(context: Context, call: Call) -> Sprint:
    text = call.params["sprint"]
    found = context.sprint(int(text)) if text.isdigit() and context.user else None
    if found is None:
        raise _refusal(404, "The requested sprint cannot be viewed because it either does not exist or you do not have"
                            " permission to view it.")  # fmt: skip
    return found


def get_sprint(context: Context, call: Call) -> Answer:
    return answer_json(200, sprint_bean(context, _sprint(context, call)))


def _issues(context: Context, call: Call) -> list[Issue]:
    keys = call.json_object().get("issues")
    if not isinstance(keys, list) or not keys:
        raise _refusal(400, "No issues were specified.")
    if len(keys) > _MAX_MOVED:
        raise _refusal(400, f"You can only move up to {_MAX_MOVED} issues at a time.")
    found = []
    for key in keys:
        issue = context.store.issue_by_key(str(key))
        if issue is None or context.user is None or not context.sees(issue):
            raise _refusal(404, f"Issue '{key}' does not exist or you do not have permission to view it.")
        if issue.archived:
            raise _refusal(400, f"Issue '{key}' is archived.")
        found.append(issue)
    return found


def open_sprints(context: Context, issue: Issue) -> list[int]:
    """Sprints of the issue that are not over."""
    closed = {one.id for one in context.store.sprints() if one.state == "closed"}
    return [one for one in issue.sprint_ids if one not in closed]


def move_to_sprint(context: Context, issue: Issue, sprint: Sprint | None) -> None:
    """Into a sprint or, with None, into the backlog; the history of closed sprints stays."""
    open_now = open_sprints(context, issue)
    issue.sprint_ids = [one for one in issue.sprint_ids if one not in open_now]
    if sprint is not None:
        issue.sprint_ids.append(sprint.id)
    context.save(issue, f"moved to sprint {sprint.name}" if sprint else "moved to the backlog")


def post_sprint_issues(context: Context, call: Call) -> Answer:
    sprint = _sprint(context, call)
    issues = _issues(context, call)
    if sprint.state == "closed":
        raise _refusal(400, "Issues can only be moved to open or active sprints.")
    if any(issue.type_id == SUBTASK.id for issue in issues):
        raise _refusal(400, "A sub-task goes where its parent goes.")
    for issue in issues:
        move_to_sprint(context, issue, sprint)
    return nothing()


def post_backlog(context: Context, call: Call) -> Answer:
    for issue in _issues(context, call):
        move_to_sprint(context, issue, None)
    return nothing()


def post_epic_issues(context: Context, call: Call) -> Answer:
    """`epic/{key}/issue`, and `epic/none/issue` to take issues out of their epics."""
    name = call.params["epic"]
    issues = _issues(context, call)
    epic = (
        None
        if name == "none"
        else context.store.issue_by_key(name) or context.store.issue(int(name) if name.isdigit() else 0)
    )
    if name != "none" and (epic is None or epic.type_id != EPIC.id):
        raise _refusal(404, "The requested epic either does not exist or you do not have permission to view it.")
    if any(issue.type_id == EPIC.id for issue in issues):
        raise _refusal(400, "Epics cannot be added to epics.")
    for issue in issues:
        if epic is None:
            issue.custom.pop("epic_link", None)
        else:
            issue.custom["epic_link"] = epic.key
        context.save(issue, f"epic set to {epic.key}" if epic else "epic cleared")
    return nothing()
