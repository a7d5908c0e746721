"""What an administrator configured in this Jira: types, statuses, transitions, links, fields, people. Constants."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Named:
    """An id with the configured name and what a user with an English profile sees instead."""

    id: str
    name: str
    english: str


@dataclass(frozen=True, slots=True)
class IssueType(Named):
    subtask: bool = False


@dataclass(frozen=True, slots=True)
class Status(Named):
    category: str = "new"


@dataclass(frozen=True, slots=True)
class LinkType:
    """`outward` is what the first issue (`inwardIssue` of a POST) does to the second."""

    id: str
    name: str
    inward: str
    outward: str


@dataclass(frozen=True, slots=True)
class ScreenField:
    """A field on a transition's screen; an unlisted one is demanded by a validator only."""

    field: str
    required: bool = False
    listed: bool = True


@dataclass(frozen=True, slots=True)
class Transition:
    id: str
    name: str
    source: str
    target: str
    screen: tuple[ScreenField, ...] = ()
    sets_resolution: str | None = None


@dataclass(frozen=True, slots=True)
class User:
    name: str
    key: str
    display: str
    email: str
    active: bool = True


@dataclass(frozen=True, slots=True)
class Project:
    id: str
    key: str
    name: str


@dataclass(frozen=True, slots=True)
class Board:
    id: int
    name: str
    kind: str
    project: str
    mapped: bool = True


EPIC: Final = IssueType("10000", "Эпик", "Epic")
TASK: Final = IssueType("10001", "Задача", "Task")
BUG: Final = IssueType("10002", "Ошибка", "Bug")
SUBTASK: Final = IssueType("10003", "Подзадача", "Sub-task", subtask=True)
ISSUE_TYPES: Final = (EPIC, TASK, BUG, SUBTASK)

WAITING: Final = Status("10300", "Ожидание разработки", "Waiting for development", "new")
DEVELOPMENT: Final = Status("10301", "Разработка", "Development", "indeterminate")
TESTING: Final = Status("10302", "Тестирование", "Testing", "indeterminate")
DONE: Final = Status("10303", "Готово", "Done", "done")
REJECTED: Final = Status("10304", "Отклонено", "Rejected", "done")
SUSPENDED: Final = Status("10305", "Приостановлено", "Suspended", "indeterminate")
STATUSES: Final = (WAITING, DEVELOPMENT, TESTING, DONE, REJECTED, SUSPENDED)
CATEGORIES: Final = {
    "new": {"id": 2, "key": "new", "colorName": "blue-gray", "name": "К выполнению"},
    "indeterminate": {"id": 4, "key": "indeterminate", "colorName": "yellow", "name": "В работе"},
    "done": {"id": 3, "key": "done", "colorName": "green", "name": "Выполнено"},
}

PRIORITIES: Final = (
    Named("1", "Наивысший", "Highest"),
    Named("2", "Высокий", "High"),
    Named("3", "Средний", "Medium"),
    Named("4", "Низкий", "Low"),
    Named("5", "Самый низкий", "Lowest"),
)
RESOLUTIONS: Final = (Named("10000", "Готово", "Done"), Named("10001", "Не будет исправлено", "Won't Fix"))

_RESOLUTION = ScreenField("resolution", required=True)
# Names of transitions are not names of statuses; one even bears the name of another status, as real workflows do.
TRANSITIONS: Final = (
    Transition("9", "Взять срочно", WAITING.id, DEVELOPMENT.id, (ScreenField("duedate", required=True),)),
    Transition("11", "Начать работу", WAITING.id, DEVELOPMENT.id),
    Transition("41", "Отклонить", WAITING.id, REJECTED.id, (_RESOLUTION,)),
    Transition("13", "Вернуть в очередь", DEVELOPMENT.id, WAITING.id),
    Transition("21", "Передать на проверку", DEVELOPMENT.id, TESTING.id),
    Transition("31", "Завершить", DEVELOPMENT.id, DONE.id, (), "10000"),
    Transition("35", "Закрыть с итогом", DEVELOPMENT.id, DONE.id, (_RESOLUTION,)),
    Transition("51", "Отложить", DEVELOPMENT.id, SUSPENDED.id),
    Transition("22", "Вернуть на доработку", TESTING.id, DEVELOPMENT.id),
    Transition("33", "Принять", TESTING.id, DONE.id, (_RESOLUTION,)),
    Transition("61", "Открыть заново", DONE.id, WAITING.id),
    Transition("62", "Пересмотреть", REJECTED.id, WAITING.id),
    Transition("71", "Готово", SUSPENDED.id, DEVELOPMENT.id),
)

LINK_TYPES: Final = (
    LinkType("10000", "Blocks", "is blocked by", "blocks"),
    LinkType("10001", "Relates", "relates to", "relates to"),
    LinkType("10002", "Duplicate", "is duplicated by", "duplicates"),
    LinkType("10200", "Блокировка", "начало заблокировано", "блокирует начало"),
    LinkType("10201", "Связь", "связанные", "связанные"),
)

SERVICE_USER: Final = "svc_hub"
USERS: Final = (
    User(SERVICE_USER, "JIRAUSER10100", "Служба планирования", "svc_hub@example.invalid"),
    User("ivanov", "JIRAUSER10101", "Иванов Иван", "ivanov@example.invalid"),
    User("petrova", "JIRAUSER10102", "Петрова Анна", "petrova@example.invalid"),
    User("sidorov", "JIRAUSER10103", "Сидоров Пётр", "sidorov@example.invalid"),
    User("former", "JIRAUSER10104", "Уволенный Фёдор", "former@example.invalid", active=False),
)
SCRUM_BOARD: Final = 12
NEIGHBOUR_BOARD: Final = 13
KANBAN_BOARD: Final = 14
UNMAPPED_BOARD: Final = 15


def projects(main: str) -> tuple[Project, ...]:
    """The main project, a neighbour to move issues to, and one whose key is a reserved JQL word."""
    rest = (Project("10001", "BOREAS", "Борей"), Project("10002", "AS", "Архив систем"))
    return (Project("10000", main, "Аврора"), *(one for one in rest if one.key != main))


def boards(main: str) -> tuple[Board, ...]:
    return (
        Board(SCRUM_BOARD, f"Доска {main}", "scrum", main),
        Board(NEIGHBOUR_BOARD, "Соседняя доска", "scrum", "BOREAS"),
        Board(KANBAN_BOARD, "Канбан", "kanban", main),
        Board(UNMAPPED_BOARD, "Доска без колонок", "scrum", main, mapped=False),
    )
