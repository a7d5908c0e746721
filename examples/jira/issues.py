"""Issues over REST: creating, reading, editing, deleting, metadata for creating."""

from collections.abc import Collection
from copy import deepcopy
from typing import Any, Final

from examples.jira import fields as writing
from examples.jira.catalogue import EPIC, ISSUE_TYPES, PRIORITIES, WAITING, IssueType, Project
from examples.jira.context import NO_SUCH_ISSUE, Context, type_of
from examples.jira.field_list import field_catalogue
from examples.jira.http import Answer, Call, Refusal, answer_json, nothing
from examples.jira.model import Issue
from examples.jira.reading import chosen_fields, issue_bean, named_bean, project_bean, type_bean
from examples.jira.workflow import transitions_bean

_DEFAULT_PRIORITY: Final = "3"
_MAX_PROPERTY: Final = 32_768


def _chosen(value: Any, options: tuple[Any, ...], names: tuple[str, ...]) -> Any:
    """The option a `{"id"|"key"|"name": …}` object points to, or None."""
    if not isinstance(value, dict):
        return None
    return next((one for one in options for name in names if name in value and getattr(one, name) == value[name]), None)


def _new_issue(context: Context, fields: dict[str, Any]) -> Issue:
    project: Project | None = _chosen(fields.pop("project", None), context.projects(), ("id", "key"))
    if project is None:
        raise Refusal(400, [], {"project": "project is required"})
    given_type = fields.pop("issuetype", None)
    issue_type: IssueType | None = _chosen(given_type, ISSUE_TYPES, ("id", "name"))
    if issue_type is None:
        text = "issue type is required" if given_type is None else "valid issue type is required"
        raise Refusal(400, [], {"issuetype": text})
    if issue_type.subtask:
        raise Refusal(400, [], {"parent": "Issue type is a sub-task but parent issue key or id not specified."})
    return Issue(
        id=0,
        project=project.key,
        number=0,
        type_id=issue_type.id,
        status_id=WAITING.id,
        summary="",
        priority_id=_DEFAULT_PRIORITY,
        reporter=context.login,
        creator=context.login,
        created=context.now,
        updated=context.now,
    )


def _required(context: Context, draft: Issue, given: Collection[str]) -> dict[str, str]:
    missing = {} if draft.summary else {"summary": "You must specify a summary of the issue."}
    if draft.type_id == EPIC.id and not draft.custom.get("epic_name"):
        missing[context.field_id("epic_name")] = "Epic Name is required."
    for field in context.switches.required_on_create:
        if field not in given:
            name = next((one["name"] for one in field_catalogue(context) if one["id"] == field), field)
            missing[field] = f"{name} is required."
    return missing


def _properties(body: dict[str, Any]) -> dict[str, Any]:
    given = body.get("properties") or []
    if not isinstance(given, list) or not all(
        isinstance(one, dict) and "key" in one and "value" in one for one in given
    ):
        raise Refusal(400, ["Entity properties must be a list of objects with 'key' and 'value'."])
    return {str(one["key"]): one["value"] for one in given}


def create_issue(context: Context, call: Call) -> Answer:
    body = call.json_object()
    if not isinstance(body.get("fields"), dict):
        raise Refusal(400, ["one of 'fields' or 'update' required"])
    login = context.login
    fields = dict(body["fields"])
    draft = _new_issue(context, fields)
    reporter = fields.pop("reporter", None)
    if reporter is not None and (not isinstance(reporter, dict) or reporter.get("name") != login):
        raise Refusal(400, [], {"reporter": "The reporter specified is not a user."})
    allowed = writing.screen(context, draft.type_id, creating=True)
    errors: dict[str, str] = {}
    try:
        writing.apply(context, draft, {**body, "fields": fields}, allowed)
    except Refusal as refusal:
        if refusal.status != 400 or refusal.messages:
            raise
        errors = refusal.errors
    required = {field: text for field, text in _required(context, draft, fields).items() if field not in errors}
    if errors or required:
        raise Refusal(400, [], {**required, **errors})
    if context.switches.assignee_ignored_on_create:
        draft.assignee = None
    draft.properties = _properties(body)
    draft.id = context.store.next_number("issue")
    draft.number = context.store.next_number(f"issue of {draft.project}", 1)
    context.save(draft, "created")
    url = context.link(f"/rest/api/2/issue/{draft.id}")
    return answer_json(201, {"id": str(draft.id), "key": draft.key, "self": url})


def get_issue(context: Context, call: Call) -> Answer:
    issue = context.issue(call.params["key"])
    fields = chosen_fields(context, call.query("fields").split(","), "*all")
    bean = issue_bean(context, issue, fields, call.query("properties").split(","))
    expand = call.query("expand")
    if "transitions" in expand:
        bean["transitions"] = transitions_bean(context, issue, with_fields="transitions.fields" in expand)
    if "names" in expand.split(","):
        bean["names"] = {one["id"]: one["name"] for one in field_catalogue(context) if one["id"] in fields}
    return answer_json(200, bean)


def edit_issue(context: Context, call: Call) -> Answer:
    issue = context.issue(call.params["key"])
    body = call.json_object()
    if not ("fields" in body or "update" in body):
        raise Refusal(400, ["one of 'fields' or 'update' required"])
    if call.query("notifyUsers") == "false":
        raise Refusal(403, ["To discard the user notification either admin or project admin permissions are required."])
    writable(context, issue)
    draft = deepcopy(issue)
    touched = writing.apply(context, draft, body, writing.screen(context, issue.type_id, creating=False))
    context.save(draft, f"edited {', '.join(sorted(touched))}")
    return nothing()


def writable(context: Context, issue: Issue) -> None:
    """Refuse to write into what an administrator closed."""
    if issue.archived:
        raise Refusal(400, [f"Issue {issue.key} is archived. You cannot edit an archived issue."])
    if context.switches.read_only_project:
        raise Refusal(403, ["You do not have permission to edit issues in this project."])


def delete_issue(context: Context, call: Call) -> Answer:
    issue = context.issue(call.params["key"])
    raise Refusal(403, [f"You do not have permission to delete issue {issue.key}."])


def get_properties(context: Context, call: Call) -> Answer:
    issue = context.issue(call.params["key"])
    base = context.link(f"/rest/api/2/issue/{issue.id}/properties/")
    return answer_json(200, {"keys": [{"self": base + key, "key": key} for key in sorted(issue.properties)]})


def get_property(context: Context, call: Call) -> Answer:
    issue, name = context.issue(call.params["key"]), call.params["property"]
    if name not in issue.properties:
        raise Refusal(404, [f"The property with key '{name}' does not exist."])
    return answer_json(200, {"key": name, "value": issue.properties[name]})


def put_property(context: Context, call: Call) -> Answer:
    issue, name = context.issue(call.params["key"]), call.params["property"]
    writable(context, issue)
    value = call.json()
    if len(call.body) > _MAX_PROPERTY:
        raise Refusal(400, ["The property value is too long."])
    created = name not in issue.properties
    issue.properties[name] = value
    context.save(issue, f"property {name} set")
    return nothing(201 if created else 200)


# metadata for creating
def _field_bean(context: Context, field: dict[str, Any], *, required: bool) -> dict[str, Any]:
    bean = {
        "required": required,
        "schema": field["schema"],
        "name": field["name"],
        "fieldId": field["id"],
        "hasDefaultValue": field["id"] == "priority",
        "operations": ["add", "set", "remove"] if field["id"] == "labels" else ["set"],
    }
    if field["id"] == "priority":
        bean["allowedValues"] = [named_bean(context, "priority", one) for one in PRIORITIES]
    if field["id"] == "project":
        bean["allowedValues"] = [project_bean(context, one.key) for one in context.projects()]
    if field["id"] == "issuetype":
        bean["allowedValues"] = [type_bean(context, one) for one in ISSUE_TYPES]
    return bean


def _create_fields(context: Context, issue_type: IssueType) -> list[dict[str, Any]]:
    allowed = {"project", "issuetype", *writing.screen(context, issue_type.id, creating=True)}
    needed = {"project", "issuetype", "summary", *context.switches.required_on_create}
    if issue_type == EPIC:
        needed.add(context.field_id("epic_name"))
    known = [field for field in field_catalogue(context) if field["id"] in allowed]
    return [_field_bean(context, field, required=field["id"] in needed) for field in known]


def _page(call: Call, values: list[Any]) -> Answer:
    start, size = call.number("startAt", 0), min(call.number("maxResults", 50), 200)
    shown = values[start : start + size]
    last = start + len(shown) >= len(values)
    body = {"maxResults": size, "startAt": start, "total": len(values), "isLast": last, "values": shown}
    return answer_json(200, body)


def _visible_project(context: Context, key: str) -> Project:
    project = context.project(key) if context.user else None
    if project is None:
        raise Refusal(400, [f"No project could be found with key '{key}'."])
    return project


def createmeta_types(context: Context, call: Call) -> Answer:
    """`createmeta/{project}/issuetypes`, since 8.4."""
    if not context.switches.at_least(8, 4):
        raise Refusal(404, [NO_SUCH_ISSUE])
    _visible_project(context, call.params["project"])
    return _page(call, [type_bean(context, one) for one in ISSUE_TYPES])


def createmeta_fields(context: Context, call: Call) -> Answer:
    if not context.switches.at_least(8, 4):
        raise Refusal(404, [NO_SUCH_ISSUE])
    _visible_project(context, call.params["project"])
    if call.params["type"] not in {one.id for one in ISSUE_TYPES}:
        raise Refusal(400, ["The issue type selected is invalid."])
    return _page(call, _create_fields(context, type_of(call.params["type"])))


def createmeta(context: Context, call: Call) -> Answer:
    """The old path: from 9.0 on it is parsed as an issue key, hence the odd 404."""
    if context.switches.at_least(9, 0):
        raise Refusal(404, [NO_SUCH_ISSUE])
    wanted = [key for key in call.query("projectKeys").split(",") if key]
    with_fields = "projects.issuetypes.fields" in call.query("expand")
    shown = []
    for project in context.projects() if context.user else ():
        if wanted and project.key not in wanted:
            continue
        types = [
            type_bean(context, one)
            | ({"fields": {field["fieldId"]: field for field in _create_fields(context, one)}} if with_fields else {})
            for one in ISSUE_TYPES
        ]
        shown.append(project_bean(context, project.key) | {"issuetypes": types})
    return answer_json(200, {"expand": "projects", "projects": shown})
