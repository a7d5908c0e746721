"""What may be written into an issue's fields, and Jira's words for what may not. Changes a draft, stores nothing."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from typing import Any, Final

from examples.jira.catalogue import EPIC, PRIORITIES, RESOLUTIONS
from examples.jira.context import Context, user_named
from examples.jira.http import Refusal
from examples.jira.model import Issue

MAX_SUMMARY: Final = 255  # UTF-16 units: Java counts chars, an emoji is two
MAX_LABEL: Final = 255
_DATETIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d{4}")  # three decimals, no colon
EDITABLE: Final = ("summary", "description", "priority", "duedate", "labels", "assignee")


class FieldError(Exception):
    """One field's refusal."""


def utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise FieldError("Operation value must be a string")
    return value


def stored_text(context: Context, value: Any) -> str | None:
    """A description or comment as this server keeps it; empty becomes null."""
    if value is None:
        return None
    text = _string(value)
    limit = context.switches.text_limit
    if utf16_units(text) > limit:
        raise FieldError(f"The entered text is too long. It exceeds the allowed limit of {limit:,} characters.")
    if not context.switches.four_byte_characters and any(ord(character) > 0xFFFF for character in text):
        raise Refusal(500, ["Internal server error"])  # MySQL `utf8` cannot hold it; Jira has no better word
    if context.switches.strip_trailing:
        text = "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").split("\n")).rstrip()
    for old, new in context.switches.text_replacements.items():
        text = text.replace(old, new)
    if context.switches.crlf:
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    return text or None


def _set_summary(context: Context, draft: Issue, value: Any) -> None:
    text = "" if value is None else _string(value)
    if not text.strip():
        raise FieldError("You must specify a summary of the issue.")
    if "\n" in text or "\r" in text:
        raise FieldError("The summary is invalid because it contains newline characters.")
    if utf16_units(text) > MAX_SUMMARY:
        raise FieldError("Summary can't exceed 255 characters.")
    draft.summary = text.strip() if context.switches.trim_summary else text


def _set_description(context: Context, draft: Issue, value: Any) -> None:
    draft.description = stored_text(context, value)


def _set_priority(_context: Context, draft: Issue, value: Any) -> None:
    if not isinstance(value, dict) or not ("id" in value or "name" in value):
        raise FieldError("Could not find valid 'id' or 'name' in priority object.")
    # Only the configured name is taken, never the translation a user is shown.
    found = [one for one in PRIORITIES if value.get("id", one.id) == one.id and value.get("name", one.name) == one.name]
    if not found:
        text = (
            f"Priority name '{value['name']}' is not valid" if "name" in value else "The priority selected is invalid."
        )
        raise FieldError(text)
    draft.priority_id = found[0].id


def checked_date(value: Any) -> str | None:
    """`YYYY-MM-DD` or null, nothing else."""
    if value is None or value == "":
        return None
    text = _string(value)
    try:
        if len(text) != 10:
            raise ValueError(text)
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise FieldError(f"Error parsing date string: {text}") from None


def _set_duedate(_context: Context, draft: Issue, value: Any) -> None:
    draft.duedate = checked_date(value)


def _label(value: Any) -> str:
    text = _string(value)
    if re.search(r"\s", text):
        raise FieldError(f"The label '{text}' contains spaces which is invalid.")
    if not text or len(text) > MAX_LABEL:
        raise FieldError(f"The label '{text}' exceeds the maximum length of 255 characters.")
    return text


def _set_labels(_context: Context, draft: Issue, value: Any) -> None:
    if value is None:
        value = []
    if not isinstance(value, list):
        raise FieldError("data was not an array")
    draft.labels = sorted({_label(one) for one in value})


def _set_assignee(context: Context, draft: Issue, value: Any) -> None:
    if value is not None and (not isinstance(value, dict) or "name" not in value):
        raise FieldError("expected Object containing a 'name' property")
    name = None if value is None else value["name"]
    if not name:
        draft.assignee = "ivanov" if context.switches.assignee_null_reverts else None
        return
    if name == "-1":  # automatic
        draft.assignee = "ivanov"
        return
    user = user_named(str(name))
    if user is None:
        raise FieldError(f"User '{name}' does not exist.")
    if not user.active:
        raise FieldError(f"User '{name}' cannot be assigned issues.")
    draft.assignee = user.name


def _set_resolution(_context: Context, draft: Issue, value: Any) -> None:
    if value is None:
        draft.resolution_id = None
        return
    if not isinstance(value, dict) or not ("id" in value or "name" in value):
        raise FieldError("Could not find valid 'id' or 'name' in resolution object.")
    found = [
        one for one in RESOLUTIONS if value.get("id", one.id) == one.id and value.get("name", one.name) == one.name
    ]
    if not found:
        text = f"Resolution name '{value['name']}' is not valid" if "name" in value else "The resolution is invalid."
        raise FieldError(text)
    draft.resolution_id = found[0].id


def _set_epic_link(context: Context, draft: Issue, value: Any) -> None:
    if value is None:
        draft.custom.pop("epic_link", None)
        return
    if not isinstance(value, str):
        raise FieldError("String value expected as the Epic Key")
    epic = context.store.issue_by_key(value)
    if epic is None:
        raise FieldError(f"Issue with key '{value}' does not exist.")
    if epic.type_id != EPIC.id:
        raise FieldError(f"Issue '{value}' must be of type 'Epic'.")
    draft.custom["epic_link"] = epic.key


def _set_epic_name(_context: Context, draft: Issue, value: Any) -> None:
    if value is None or not _string(value).strip():
        raise FieldError("Epic Name is required.")
    draft.custom["epic_name"] = value


def _custom_date(role: str) -> "Setter":
    def set_date(_context: Context, draft: Issue, value: Any) -> None:
        draft.custom[role] = checked_date(value)

    return set_date


def _set_approved_at(context: Context, draft: Issue, value: Any) -> None:
    if value is not None and not _DATETIME.fullmatch(_string(value)):
        raise FieldError("Operation value must be a string in the format yyyy-MM-dd'T'HH:mm:ss.SSSZ")
    draft.custom["approved_at"] = value


Setter = Callable[[Context, Issue, Any], None]
_SETTERS: Final[Mapping[str, Setter]] = {
    "summary": _set_summary,
    "description": _set_description,
    "priority": _set_priority,
    "duedate": _set_duedate,
    "labels": _set_labels,
    "assignee": _set_assignee,
    "resolution": _set_resolution,
    "epic_link": _set_epic_link,
    "epic_name": _set_epic_name,
    "planned_start": _custom_date("planned_start"),
    "planned_end": _custom_date("planned_end"),
    "approved_at": _set_approved_at,
}


def screen(context: Context, type_id: str, *, creating: bool) -> dict[str, str]:
    """Which fields this screen takes: field id -> the setter's name."""
    roles = ["planned_start", "planned_end", "approved_at"]
    roles.append("epic_name" if type_id == EPIC.id else "epic_link")
    if creating and not context.switches.epic_link_on_create and "epic_link" in roles:
        roles.remove("epic_link")
    return {name: name for name in EDITABLE} | {context.field_id(role): role for role in roles}


def _labels_after(current: list[str], operations: Iterable[Mapping[str, Any]]) -> list[str]:
    labels = list(current)
    for operation in operations:
        for verb, value in operation.items():
            if verb == "set":
                labels = list(value or [])
            elif verb == "add":
                labels.append(_label(value))
            elif verb == "remove":
                labels = [one for one in labels if one != value]
            else:
                raise FieldError(f"Unknown operation '{verb}'")
    return labels


def _updated_value(draft: Issue, setter: str, operations: Any) -> Any:
    if not isinstance(operations, list) or not all(isinstance(one, dict) for one in operations):
        raise FieldError("data was not an array")
    if setter == "labels":
        return _labels_after(draft.labels, operations)
    if len(operations) != 1 or set(operations[0]) != {"set"}:
        raise FieldError("Field does not support this operation")
    return operations[0]["set"]


def apply(context: Context, draft: Issue, body: Mapping[str, Any], allowed: Mapping[str, str]) -> list[str]:
    """Write `fields` and `update` of a body into the draft; all field errors at once. Returns the fields touched."""
    fields, update = body.get("fields") or {}, body.get("update") or {}
    if not isinstance(fields, dict) or not isinstance(update, dict):
        raise Refusal(400, ["Can not deserialize instance of java.util.LinkedHashMap out of this token"])
    errors: dict[str, str] = {}
    for field in (*fields, *update):
        if field in fields and field in update:
            errors[field] = f"Field '{field}' cannot appear in both 'fields' and 'update'"
        elif field not in allowed:
            errors[field] = f"Field '{field}' cannot be set. It is not on the appropriate screen, or unknown."
        else:
            setter = allowed[field]
            try:
                value = fields[field] if field in fields else _updated_value(draft, setter, update[field])
                _SETTERS[setter](context, draft, value)
            except FieldError as error:
                errors[field] = str(error)
    if errors:
        raise Refusal(400, [], errors)
    return [*fields, *update]
