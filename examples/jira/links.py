"""Links between issues: `inwardIssue` of a POST is the one that blocks, `outwardIssue` the blocked one."""

from typing import Any

from examples.jira.catalogue import LINK_TYPES, LinkType
from examples.jira.comments import add_comment, checked_comment
from examples.jira.context import Context
from examples.jira.http import Answer, Call, Refusal, answer_json, nothing
from examples.jira.model import Issue, Link
from examples.jira.reading import link_bean, link_type_bean

_LINKING_OFF = "Issue linking is currently disabled."


def link_types(context: Context, _call: Call) -> Answer:
    _linking_on(context)
    return answer_json(200, {"issueLinkTypes": [link_type_bean(context, one) for one in LINK_TYPES]})


def link_type(context: Context, call: Call) -> Answer:
    _linking_on(context)
    found = next((one for one in LINK_TYPES if one.id == call.params["id"]), None)
    if found is None:
        raise Refusal(404, [f"No issue link type with id '{call.params['id']}' found."])
    return answer_json(200, link_type_bean(context, found))


def _linking_on(context: Context) -> None:
    if not context.switches.linking:
        raise Refusal(404, [_LINKING_OFF])


def _type(given: Any) -> LinkType:
    if not isinstance(given, dict) or not ("id" in given or "name" in given):
        raise Refusal(400, ["The issue link type is required."])
    for one in LINK_TYPES:
        if given.get("id", one.id) == one.id and given.get("name", one.name) == one.name:
            return one
    raise Refusal(404, [f"No issue link type with name '{given.get('name', given.get('id'))}' found."])


def _end(context: Context, given: Any, side: str) -> Issue:
    if not isinstance(given, dict) or not (given.get("key") or given.get("id")):
        raise Refusal(400, [f"The {side} is required."])
    return context.issue(str(given.get("key") or given["id"]))


def post_link(context: Context, call: Call) -> Answer:
    """201 with nothing in it: the link's id is only found by reading the issue."""
    _linking_on(context)
    body = call.json_object()
    one_type = _type(body.get("type"))
    first = _end(context, body.get("inwardIssue"), "inwardIssue")
    second = _end(context, body.get("outwardIssue"), "outwardIssue")
    if first.id == second.id:
        raise Refusal(400, ["You cannot link an issue to itself."])
    if first.archived or second.archived:
        raise Refusal(401, ["No Link Issue Permission for issue '" + first.key + "'"])
    comment = body.get("comment")
    text = checked_comment(context, comment.get("body")) if isinstance(comment, dict) else None
    add_link(context, one_type, first, second)
    if text is not None:
        add_comment(context, first, text)
    return nothing(201)


def add_link(context: Context, one_type: LinkType, first: Issue, second: Issue) -> None:
    """Link two issues; an equal link a second time is added or swallowed, as the switch says."""
    wanted = (one_type.id, first.id, second.id)
    equal = [one for one in context.store.links_of(first.id) if (one.type_id, one.first, one.second) == wanted]
    if equal and context.switches.link_duplicates == "ignore":
        return
    number = context.store.next_number("link")
    context.store.save_link(Link(number, *wanted))
    context.save(first, f"link {number} added: {one_type.outward} {second.key}")
    context.save(second, f"link {number} added: {one_type.inward} {first.key}")


def remove_link(context: Context, link: Link) -> None:
    context.store.delete_link(link.id)
    for issue_id in (link.first, link.second):
        issue = context.store.issue(issue_id)
        assert issue is not None, link
        context.save(issue, f"link {link.id} deleted")


def _link(context: Context, call: Call) -> Link:
    _linking_on(context)
    text = call.params["id"]
    found = context.store.link(int(text)) if text.isdigit() else None
    if found is None:
        raise Refusal(404, [f"No issue link with id '{text}' exists."])
    context.require_login()
    return found


def get_link(context: Context, call: Call) -> Answer:
    link = _link(context, call)
    seen_by_first, seen_by_second = link_bean(context, link, link.first), link_bean(context, link, link.second)
    return answer_json(200, seen_by_first | seen_by_second)


def delete_link(context: Context, call: Call) -> Answer:
    remove_link(context, _link(context, call))
    return nothing()
