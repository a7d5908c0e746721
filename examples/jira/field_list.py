"""Which fields this Jira has, as `GET /field` lists them."""

from typing import Any, Final

from examples.jira.context import Context

_LINKS: Final = {"type": "array", "items": "issuelinks", "system": "issuelinks"}
_SYSTEM: Final[tuple[tuple[str, str, str, dict[str, str]], ...]] = (
    ("summary", "Тема", "Summary", {"type": "string", "system": "summary"}),
    ("issuetype", "Тип задачи", "Issue Type", {"type": "issuetype", "system": "issuetype"}),
    ("project", "Проект", "Project", {"type": "project", "system": "project"}),
    ("status", "Статус", "Status", {"type": "status", "system": "status"}),
    ("resolution", "Решение", "Resolution", {"type": "resolution", "system": "resolution"}),
    ("priority", "Приоритет", "Priority", {"type": "priority", "system": "priority"}),
    ("labels", "Метки", "Labels", {"type": "array", "items": "string", "system": "labels"}),
    ("description", "Описание", "Description", {"type": "string", "system": "description"}),
    ("duedate", "Срок исполнения", "Due Date", {"type": "date", "system": "duedate"}),
    ("assignee", "Исполнитель", "Assignee", {"type": "user", "system": "assignee"}),
    ("reporter", "Автор", "Reporter", {"type": "user", "system": "reporter"}),
    ("creator", "Создатель", "Creator", {"type": "user", "system": "creator"}),
    ("created", "Создано", "Created", {"type": "datetime", "system": "created"}),
    ("updated", "Обновлено", "Updated", {"type": "datetime", "system": "updated"}),
    ("archiveddate", "Архивировано", "Archived", {"type": "datetime", "system": "archiveddate"}),
    ("archivedby", "Архивировал", "Archiver", {"type": "user", "system": "archivedby"}),
    ("issuelinks", "Связанные задачи", "Linked Issues", _LINKS),
    ("comment", "Комментарий", "Comment", {"type": "comments-page", "system": "comment"}),
)  # fmt: skip
_GREENHOPPER: Final = "com.pyxis.greenhopper.jira:"
_TYPED: Final = "com.atlassian.jira.plugin.system.customfieldtypes:"
_CUSTOM: Final[tuple[tuple[str, str, str, dict[str, str]], ...]] = (
    ("epic_link", "Ссылка на эпик", "Epic Link", {"type": "any", "custom": f"{_GREENHOPPER}gh-epic-link"}),
    ("epic_name", "Имя эпика", "Epic Name", {"type": "string", "custom": f"{_GREENHOPPER}gh-epic-label"}),
    ("sprint", "Спринт", "Sprint", {"type": "array", "items": "string", "custom": f"{_GREENHOPPER}gh-sprint"}),
    ("planned_start", "Плановое начало", "Planned start", {"type": "date", "custom": f"{_TYPED}datepicker"}),
    ("planned_end", "Плановое окончание", "Planned end", {"type": "date", "custom": f"{_TYPED}datepicker"}),
    ("approved_at", "Согласовано", "Approved at", {"type": "datetime", "custom": f"{_TYPED}datetime"}),
)
_NOT_NAVIGABLE: Final = ("comment",)


def field_catalogue(context: Context) -> list[dict[str, Any]]:
    """`GET /field`. Names may be localised and doubled; `schema.custom` is what to look for."""
    english = context.switches.locale == "en"
    shown: list[tuple[str, str, dict[str, Any], bool]] = [
        (field, en if english else ru, schema, False) for field, ru, en, schema in _SYSTEM
    ]
    for role, ru, en, schema in _CUSTOM:
        field_id = context.field_id(role)
        number = int(field_id.removeprefix("customfield_"))
        shown.append((field_id, en if english else ru, schema | {"customId": number}, True))
    return [
        {
            "id": field,
            "name": name,
            "custom": is_custom,
            "orderable": True,
            "navigable": field not in _NOT_NAVIGABLE,
            "searchable": True,
            "clauseNames": [f"cf[{schema['customId']}]", name] if is_custom else [field],
            "schema": schema,
        }
        for field, name, schema, is_custom in shown
    ]
