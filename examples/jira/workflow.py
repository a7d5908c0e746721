"""Transitions: which are open to whom, what their screens ask for, and where they really lead."""

from copy import deepcopy
from typing import Any

from examples.jira import fields as writing
from examples.jira.catalogue import RESOLUTIONS, TRANSITIONS, Transition
from examples.jira.comments import add_comment, checked_comment
from examples.jira.context import Context, status_of
from examples.jira.field_list import field_catalogue
from examples.jira.http import Answer, Call, Refusal, answer_json, nothing
from examples.jira.model import Issue
from examples.jira.reading import named_bean, status_bean


def open_transitions(context: Context, issue: Issue) -> list[Transition]:
    """Those of the issue's status that no condition hides from this user."""
    hidden = context.switches.hidden_transitions
    return [one for one in TRANSITIONS if one.source == issue.status_id and one.id not in hidden]


def _screen_bean(context: Context, transition: Transition) -> dict[str, Any]:
    names = {field["id"]: field for field in field_catalogue(context)}
    shown: dict[str, Any] = {}
    for one in transition.screen:
        if one.field == "resolution" and not context.switches.resolution_listed:
            continue  # DC under-reports it, and the POST still demands it (NR PR#207)
        field = names[one.field]
        bean = {
            "required": one.required,
            "schema": field["schema"],
            "name": field["name"],
            "fieldId": field["id"],
            "operations": ["set"],
        }
        if one.field == "resolution":
            bean["allowedValues"] = [named_bean(context, "resolution", resolution) for resolution in RESOLUTIONS]
        shown[one.field] = bean
    return shown


def transitions_bean(context: Context, issue: Issue, *, with_fields: bool) -> list[dict[str, Any]]:
    return [
        {"id": one.id, "name": one.name, "to": status_bean(context, status_of(one.target))}
        | ({"fields": _screen_bean(context, one)} if with_fields else {})
        for one in open_transitions(context, issue)
    ]


def get_transitions(context: Context, call: Call) -> Answer:
    issue = context.issue(call.params["key"])
    shown = transitions_bean(context, issue, with_fields="transitions.fields" in call.query("expand"))
    wanted = call.query("transitionId")
    if wanted:
        shown = [one for one in shown if one["id"] == wanted]
    return answer_json(200, {"expand": "transitions", "transitions": shown})


def _chosen(context: Context, issue: Issue, body: dict[str, Any]) -> Transition:
    given = body.get("transition")
    if not isinstance(given, dict) or given.get("id") is None:
        raise Refusal(400, ["Missing 'transition' identifier"])
    transition_id = str(given["id"])
    if not transition_id.isdigit():
        raise Refusal(500, [f'For input string: "{transition_id}"'])  # a NumberFormatException, as documented
    found = next((one for one in open_transitions(context, issue) if one.id == transition_id), None)
    if found is None:
        raise Refusal(
            400,
            [
                "It seems that you have tried to perform a workflow operation"
                f" that is not valid for the current state of this issue ({issue.key})."
            ],
        )
    return found


def do_transition(context: Context, call: Call) -> Answer:
    """Atomic: a field error moves nothing."""
    issue = context.issue(call.params["key"])
    body = call.json_object()
    transition = _chosen(context, issue, body)
    if issue.archived:
        raise Refusal(400, [f"Issue {issue.key} is archived. You cannot edit an archived issue."])
    draft = deepcopy(issue)
    update = body.get("update")
    comments = update.pop("comment", None) if isinstance(update, dict) else None
    text = _comment_text(context, comments)
    touched = writing.apply(context, draft, body, {one.field: one.field for one in transition.screen})
    names = {field["id"]: field["name"] for field in field_catalogue(context)}
    missing = {
        one.field: f"Field {names[one.field]} is required."
        for one in transition.screen
        if one.required and one.field not in touched
    }
    if missing:
        raise Refusal(400, list(missing.values()), missing)
    draft.status_id = context.switches.redirects.get(transition.id, transition.target)
    if transition.sets_resolution:
        draft.resolution_id = transition.sets_resolution
    elif status_of(draft.status_id).category != "done":
        draft.resolution_id = None
    context.save(draft, f"moved to {status_of(draft.status_id).name}")
    if text is not None:
        add_comment(context, draft, text)
    return nothing()


def _comment_text(context: Context, operations: Any) -> str | None:
    if operations is None:
        return None
    try:
        return checked_comment(context, operations[0]["add"]["body"])
    except (LookupError, TypeError):
        raise Refusal(400, [], {"comment": "Comment body can not be empty!"}) from None
