"""What Jira says about itself: server, user, fields, types, priorities, statuses, projects."""

import json
from typing import Any

from examples.jira.catalogue import ISSUE_TYPES, PRIORITIES, RESOLUTIONS, STATUSES, USERS
from examples.jira.context import Context
from examples.jira.field_list import field_catalogue
from examples.jira.http import Answer, Call, Refusal, answer_json
from examples.jira.reading import (
    named_bean,
    project_bean,
    resolution_bean,
    status_bean,
    type_bean,
    user_bean,
)


def server_info(context: Context, _call: Call) -> Answer:
    """Works for the anonymous too, so it proves nothing about a log-in. DC calls itself "Server"."""
    numbers = [int(part) for part in context.switches.version.split(".")]
    return answer_json(
        200,
        {
            "baseUrl": context.settings.base_url,
            "version": context.switches.version,
            "versionNumbers": numbers,
            "deploymentType": "Server",
            "buildNumber": 912010,
            "buildDate": "2024-04-16T00:00:00.000+0300",
            "serverTime": context.time(context.now + context.switches.clock_skew_seconds),
            "scmInfo": "0000000000000000000000000000000000000000",
            "serverTitle": "Jira",
        },
    )


def myself(context: Context, _call: Call) -> Answer:
    if context.user is None:
        raise Refusal(401, ["You are not authenticated. Authentication required to perform this operation."])
    bean = user_bean(context, context.user)
    assert bean is not None
    locale = "en_US" if context.switches.locale == "en" else "ru_RU"
    return answer_json(200, bean | {"locale": locale, "deleted": False, "expand": "groups,applicationRoles"})


def fields(context: Context, _call: Call) -> Answer:
    return answer_json(200, field_catalogue(context))


def priorities(context: Context, _call: Call) -> Answer:
    shown = [named_bean(context, "priority", one) | {"description": "", "statusColor": "#cccccc"} for one in PRIORITIES]
    return answer_json(200, shown)


def issue_types(context: Context, _call: Call) -> Answer:
    return answer_json(200, [type_bean(context, one) for one in ISSUE_TYPES])


def statuses(context: Context, _call: Call) -> Answer:
    return answer_json(200, [status_bean(context, one) for one in STATUSES])


def named(context: Context, call: Call) -> Answer:
    """`priority/{id}`, `issuetype/{id}`, `status/{id}`, `resolution/{id}`: one entry of a list."""
    kind = call.params["kind"]
    lists = {"priority": priorities, "issuetype": issue_types, "status": statuses, "resolution": resolutions}
    entries = json.loads(lists[kind](context, call).body)
    found = next((one for one in entries if one["id"] == call.params["id"]), None)
    if found is None:
        raise Refusal(404, [f"The {kind} with id '{call.params['id']}' does not exist"])
    return answer_json(200, found)


def resolutions(context: Context, _call: Call) -> Answer:
    return answer_json(200, [resolution_bean(context, one.id) for one in RESOLUTIONS])


def all_projects(context: Context, _call: Call) -> Answer:
    shown = [project_bean(context, one.key) for one in context.projects()] if context.user else []
    return answer_json(200, shown)


def _project(context: Context, call: Call) -> str:
    found = context.project(call.params["project"]) if context.user else None
    if found is None:
        raise Refusal(404, [f"No project could be found with key '{call.params['project']}'."])
    return found.key


def project(context: Context, call: Call) -> Answer:
    bean: dict[str, Any] = project_bean(context, _project(context, call))
    return answer_json(200, bean | {"issueTypes": [type_bean(context, one) for one in ISSUE_TYPES]})


def project_statuses(context: Context, call: Call) -> Answer:
    _project(context, call)
    shown = [status_bean(context, one) for one in STATUSES]
    return answer_json(200, [type_bean(context, one) | {"statuses": shown} for one in ISSUE_TYPES])


def user(context: Context, call: Call) -> Answer:
    context.require_login()
    name, key = call.query("username"), call.query("key")
    found = next((one for one in USERS if one.name == name or one.key == key), None)
    if found is None:
        raise Refusal(404, [f"The user named '{name or key}' does not exist"])
    return answer_json(200, user_bean(context, found))


def permissions(context: Context, _call: Call) -> Answer:
    """`mypermissions`: what the one who asks may do in the main project."""
    may = context.user is not None
    names = ("BROWSE_PROJECTS", "CREATE_ISSUES", "EDIT_ISSUES", "TRANSITION_ISSUES", "LINK_ISSUES", "ADD_COMMENTS",
             "EDIT_OWN_COMMENTS", "MANAGE_SPRINTS_PERMISSION", "SCHEDULE_ISSUES")  # fmt: skip
    shown = {
        name: {
            "id": str(10 + n),
            "key": name,
            "name": name,
            "type": "PROJECT",
            "description": "",
            "havePermission": may,
        }
        for n, name in enumerate(names)
    }
    return answer_json(200, {"permissions": shown})
