"""The control API, outside /rest and the journal: read what happened, order faults, turn switches, act as people."""

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from examples.jira import edits
from examples.jira.auth import forgive_logins
from examples.jira.context import Context, status_of, user_named
from examples.jira.faults import Fault
from examples.jira.http import Answer, Call, Refusal, answer_json, nothing
from examples.jira.settings import Switches
from examples.jira.store import Store

_FAULTS: Final = TypeAdapter(list[Fault])


def faults(store: Store) -> list[Fault]:
    return _FAULTS.validate_python(store.recall("faults", []))


def remember_faults(store: Store, orders: list[Fault]) -> None:
    store.remember("faults", [order.model_dump() for order in orders])


def get_requests(context: Context, call: Call) -> Answer:
    """`?since=<number>&limit=<n>&executed=true`; `executed` ones wrote, whatever the client was told."""
    found = context.store.requests(call.number("since", 0), call.number("limit", 10_000))
    if call.query("executed"):
        wanted = call.query("executed") == "true"
        found = [one for one in found if one["executed"] == wanted]
    return answer_json(200, {"requests": found})


def get_faults(context: Context, _call: Call) -> Answer:
    return answer_json(200, {"faults": [order.model_dump() for order in faults(context.store)]})


def post_faults(context: Context, call: Call) -> Answer:
    """One order or a list; the answer gives their ids."""
    body = call.json()
    orders = _FAULTS.validate_python(body if isinstance(body, list) else [body])
    numbered = [order.model_copy(update={"id": context.store.next_number("fault", 1)}) for order in orders]
    remember_faults(context.store, [*faults(context.store), *numbered])
    return answer_json(201, {"ids": [order.id for order in numbered]})


def delete_faults(context: Context, _call: Call) -> Answer:
    remember_faults(context.store, [])
    return nothing()


def get_switches(context: Context, _call: Call) -> Answer:
    return answer_json(200, context.switches.model_dump(mode="json"))


def post_switches(context: Context, call: Call) -> Answer:
    """Change the named ones; the answer is all of them."""
    switches = Switches.model_validate(context.switches.model_dump() | call.json_object())
    context.store.remember("switches", switches.model_dump(mode="json"))
    return answer_json(200, switches.model_dump(mode="json"))


def delete_switches(context: Context, _call: Call) -> Answer:
    context.store.remember("switches", {})
    return nothing()


def post_edits(context: Context, call: Call) -> Answer:
    """One edit or a list, each `{"action": …, "user": <login>, …}`; see `edits`."""
    body = call.json()
    return answer_json(
        201, {"done": [perform_edit(context, one) for one in (body if isinstance(body, list) else [body])]}
    )


def perform_edit(context: Context, edit: Mapping[str, Any]) -> Any:
    """One edit by the person it names, `ivanov` by default."""
    user = user_named(str(edit.get("user", "ivanov")))
    if user is None:
        raise Refusal(422, [f"no user '{edit['user']}'"])
    return edits.perform(replace(context, user=user), edit)


def post_logins(context: Context, _call: Call) -> Answer:
    """A person solved the CAPTCHA."""
    forgive_logins(context)
    return nothing()


def get_state(context: Context, _call: Call) -> Answer:
    """Everything remembered, as the database has it (not as REST shows it)."""
    issues: dict[str, Any] = {}
    keys = {issue.id: issue.key for issue in context.store.issues()}
    for issue in context.store.issues():
        issues[issue.key] = asdict(issue) | {
            "status": status_of(issue.status_id).name,
            "comments": [asdict(comment) for comment in context.store.comments(issue.id)],
        }
    links = [
        asdict(link) | {"first_key": keys[link.first], "second_key": keys[link.second]}
        for link in context.store.links()
    ]
    sprints = [asdict(sprint) for sprint in context.store.sprints()]
    return answer_json(200, {"issues": issues, "links": links, "sprints": sprints})


HANDLERS: Final[Mapping[str, Callable[[Context, Call], Answer]]] = {
    "GET /control/requests": get_requests,
    "GET /control/state": get_state,
    "GET /control/faults": get_faults,
    "POST /control/faults": post_faults,
    "DELETE /control/faults": delete_faults,
    "GET /control/switches": get_switches,
    "POST /control/switches": post_switches,
    "DELETE /control/switches": delete_switches,
    "POST /control/edits": post_edits,
    "POST /control/logins": post_logins,
}


def serve(context: Context, call: Call) -> Answer:
    """Answer a control call; 422 with what is wrong with it."""
    handler = HANDLERS.get(f"{call.method} {re.sub('/+$', '', call.path)}")
    if handler is None:
        return answer_json(404, {"error": "no such control call", "known": sorted(HANDLERS)})
    try:
        return handler(context, call)
    except ValidationError as error:
        return answer_json(422, {"error": error.errors(include_url=False, include_context=False, include_input=False)})
    except Refusal as refusal:
        return refusal.answer()
