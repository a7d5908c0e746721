"""The page's few words in two languages. Data of the project is shown as it is, whatever the language."""

from collections.abc import Mapping
from typing import Final

WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "ru": {
        "title": "Учебная Jira",
        "issues": "Задачи",
        "requests": "Запросы",
        "writes": "Изменения",
        "recent": "Последние изменения",
        "none": "Пока ничего не менялось.",
        "key": "Ключ",
        "type": "Тип",
        "summary": "Тема",
        "status": "Статус",
        "sprint": "Спринт",
        "links": "Связи",
        "labels": "Метки",
        "assignee": "Исполнитель",
        "due": "Срок",
        "updated": "Обновлено",
        "priority": "Приоритет",
        "epic": "Эпик",
        "resolution": "Решение",
        "reporter": "Автор",
        "created": "Создано",
        "description": "Описание",
        "comments": "Комментарии",
        "history": "История изменений",
        "by_request": "запрос",
        "by_person": "вручную",
        "nothing_here": "Нет.",
        "back": "Все задачи",
        "missing": "Такой задачи нет",
    },
    "en": {
        "title": "Practice Jira",
        "issues": "Issues",
        "requests": "Requests",
        "writes": "Writes",
        "recent": "Recent changes",
        "none": "Nothing has changed yet.",
        "key": "Key",
        "type": "Type",
        "summary": "Summary",
        "status": "Status",
        "sprint": "Sprint",
        "links": "Links",
        "labels": "Labels",
        "assignee": "Assignee",
        "due": "Due",
        "updated": "Updated",
        "priority": "Priority",
        "epic": "Epic",
        "resolution": "Resolution",
        "reporter": "Reporter",
        "created": "Created",
        "description": "Description",
        "comments": "Comments",
        "history": "History of changes",
        "by_request": "request",
        "by_person": "by hand",
        "nothing_here": "None.",
        "back": "All issues",
        "missing": "There is no such issue",
    },
}


def language_of(accept_language: str) -> str:
    """The first known language a browser asks for; Russian without one."""
    for part in accept_language.split(","):
        code = part.partition(";")[0].strip().lower()[:2]
        if code in WORDS:
            return code
    return "ru"
