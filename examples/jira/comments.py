"""Comments: pages, adding, editing one's own."""

from typing import Any

from examples.jira import fields as writing
from examples.jira.context import Context
from examples.jira.http import Answer, Call, Refusal, answer_json
from examples.jira.model import Comment, Issue
from examples.jira.reading import comment_bean, visible_comments

_PAGE = 50  # what a caller gets who names no maxResults


def checked_comment(context: Context, value: Any) -> str:
    """A comment's text as it will be stored."""
    try:
        text = writing.stored_text(context, value)
    except writing.FieldError as error:
        raise Refusal(400, [], {"comment": str(error)}) from None
    if text is None or not text.strip():
        raise Refusal(400, [], {"comment": "Comment body can not be empty!"})
    return text


def add_comment(context: Context, issue: Issue, text: str, visibility: dict[str, str] | None = None) -> Comment:
    """Store a comment of whoever asks."""
    number, login = context.store.next_number("comment"), context.login
    comment = Comment(number, issue.id, login, login, text, context.now, context.now, visibility)
    context.store.save_comment(comment)
    context.save(issue, f"comment {number} added")
    return comment


def get_comments(context: Context, call: Call) -> Answer:
    issue = context.issue(call.params["key"])
    comments = visible_comments(context, issue)
    if call.query("orderBy") == "-created":
        comments.reverse()
    start = call.number("startAt", 0)
    size = min(call.number("maxResults", _PAGE), context.switches.comment_cap)
    shown = [comment_bean(context, issue, one) for one in comments[start : start + size]]
    total = len(comments) + context.switches.total_offset
    return answer_json(200, {"startAt": start, "maxResults": size, "total": total, "comments": shown})


def get_comment(context: Context, call: Call) -> Answer:
    issue = context.issue(call.params["key"])
    return answer_json(200, comment_bean(context, issue, _comment(context, issue, call)))


def _comment(context: Context, issue: Issue, call: Call) -> Comment:
    wanted = call.params["comment"]
    found = next((one for one in visible_comments(context, issue) if str(one.id) == wanted), None)
    if found is None:
        raise Refusal(404, [f"Can not find a comment for the id: {wanted}."])
    return found


def _visibility(body: dict[str, Any]) -> dict[str, str] | None:
    given = body.get("visibility")
    if given is None:
        return None
    if not isinstance(given, dict) or given.get("type") not in ("role", "group") or not given.get("value"):
        raise Refusal(400, [], {"commentLevel": "Invalid visibility."})
    return {"type": given["type"], "value": str(given["value"])}


def post_comment(context: Context, call: Call) -> Answer:
    issue = context.issue(call.params["key"])
    body = call.json_object()
    text, visibility = checked_comment(context, body.get("body")), _visibility(body)
    if issue.archived:
        raise Refusal(400, [f"Issue {issue.key} is archived. You cannot edit an archived issue."])
    return answer_json(201, comment_bean(context, issue, add_comment(context, issue, text, visibility)))


def put_comment(context: Context, call: Call) -> Answer:
    issue = context.issue(call.params["key"])
    comment = _comment(context, issue, call)
    body = call.json_object()
    text, visibility = checked_comment(context, body.get("body")), _visibility(body)
    if comment.author != context.login:
        raise Refusal(400, [f"You do not have the permission to edit the comment with id {comment.id}."])
    comment.body, comment.visibility = text, visibility  # an omitted visibility drops the restriction
    comment.updated, comment.update_author = context.now, context.login
    context.store.save_comment(comment)
    context.save(issue, f"comment {comment.id} edited")
    return answer_json(200, comment_bean(context, issue, comment))
