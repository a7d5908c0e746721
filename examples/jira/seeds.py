"""The project as people left it before the bridge came: the same issues every time, as many as asked for."""

from typing import Final

from examples.jira.catalogue import (
    BUG,
    DEVELOPMENT,
    DONE,
    EPIC,
    NEIGHBOUR_BOARD,
    REJECTED,
    SCRUM_BOARD,
    SERVICE_USER,
    TASK,
    TESTING,
    WAITING,
)
from examples.jira.context import Context
from examples.jira.model import Comment, Issue, Link, Sprint

LAST_NUMBER: Final = 1540
_DAY: Final = 86_400.0
_PEOPLE: Final = ("ivanov", "petrova", "sidorov")
_EPICS: Final = (
    "Перенос отчётности на новую платформу",
    "Личный кабинет партнёра",
    "Контроль качества данных",
    "Единая точка входа",
    "Подготовка к аудиту",
)
_WORK: Final = (
    "Описать требования к выгрузке", "Согласовать форматы обмена", "Сверить остатки за квартал",
    "Настроить права доступа", "Подготовить стенд для проверки", "Исправить расчёт сроков",
    "Обновить справочник подразделений", "Собрать замечания пользователей", "Проверить восстановление из копии",
    "Подключить уведомления", "Ускорить построение сводки", "Написать инструкцию для поддержки",
    "Перенести архив договоров",
)  # fmt: skip
_OBJECTS: Final = ("по складу", "по филиалам", "по договорам", "по платежам", "по заявкам", "по кадрам", "по активам")
_LABELS: Final = ("отчётность", "интеграция", "q4", "срочно", "backend", "аналитика")
_MONTHS: Final = (
    "январь", "февраль", "март", "апрель", "май", "июнь", "июль", "август", "сентябрь", "октябрь", "ноябрь", "декабрь",
)  # fmt: skip
_RECENT: Final = 1500  # what is older was finished long ago, in sprints that are over
_OLD_SPRINT: Final = 16  # issues of one of those
_FLOW: Final = (WAITING, WAITING, DEVELOPMENT, TESTING, DONE, WAITING, DEVELOPMENT, REJECTED)


def plant(context: Context) -> None:
    """Fill an empty store."""
    first = LAST_NUMBER + 1 - context.settings.issues
    for sprint in (*_sprints(context.now), *_old_sprints(context.now, first)):
        context.store.save_sprint(sprint)
    issues = {number: _issue(context, number) for number in range(first, LAST_NUMBER + 1)}
    for issue in issues.values():
        context.store.save_issue(issue, issue.updated)
    context.store.next_number(f"issue of {context.settings.project}", LAST_NUMBER)
    context.store.next_number("issue", 20_000)
    _link(context, issues[1537], issues[1538], "10200")
    _link(context, issues[1533], issues[1534], "10201")
    for number in range(first + 3, LAST_NUMBER - 5, 9):
        _link(context, issues[number], issues[number + 2], ("10000", "10201", "10200")[number % 3])
    for number in range(first + 1, LAST_NUMBER, 4):
        _comment(context, issues[number], number)


def _sprints(now: float) -> tuple[Sprint, ...]:
    week = 7 * _DAY
    return (
        Sprint(5, "Спринт 0", "closed", SCRUM_BOARD, [SCRUM_BOARD], now - 3 * week, now - week, now - week),
        Sprint(7, "Спринт 1", "active", SCRUM_BOARD, [SCRUM_BOARD], now - week, now + week, goal="Отчётность"),
        Sprint(9, "Спринт 2", "future", SCRUM_BOARD, [SCRUM_BOARD]),
        Sprint(11, "Общий спринт, [обе команды]", "future", NEIGHBOUR_BOARD, [SCRUM_BOARD, NEIGHBOUR_BOARD]),
    )


def _old_sprints(now: float, first: int) -> tuple[Sprint, ...]:
    """Two weeks each, back to the first issue; their ids stay below those that people give out."""
    fortnight = 14 * _DAY
    return tuple(
        Sprint(
            id=_old_sprint(number),
            name=f"Итерация {_old_sprint(number)}",
            state="closed",
            origin_board=SCRUM_BOARD,
            boards=[SCRUM_BOARD],
            start=now - (back + 3) * fortnight,
            end=now - (back + 2) * fortnight,
            complete=now - (back + 2) * fortnight,
        )
        for back, number in enumerate(range(_RECENT - 1, first - 1, -_OLD_SPRINT))
    )


def _old_sprint(number: int) -> int:
    return max(20, 99 - (_RECENT - 1 - number) // _OLD_SPRINT)


def _issue(context: Context, number: int) -> Issue:
    age = (LAST_NUMBER - number) * _DAY * 0.9 + 2 * _DAY
    is_epic = number % 10 == 0
    author = SERVICE_USER if number % 13 == 0 or number == 1539 else _PEOPLE[number % 3]
    status = _FLOW[number % len(_FLOW)] if number >= _RECENT else (REJECTED if number % 9 == 0 else DONE)
    issue = Issue(
        id=10_000 + number,
        project=context.settings.project,
        number=number,
        type_id=EPIC.id if is_epic else BUG.id if number % 7 == 0 else TASK.id,
        status_id=WAITING.id if (is_epic and number >= _RECENT) or number in (1533, 1537, 1538) else status.id,
        summary=_summary(number, is_epic=is_epic),
        priority_id=str(1 + number % 5),
        reporter=author,
        creator=author,
        created=context.now - age,
        updated=context.now - age / 3,
        description=None if number % 6 == 0 else f"h3. Зачем\nЧтобы работа №{number} была понятна.\n\n* шаг 1\n* шаг 2",
        assignee=None if number % 5 == 0 else _PEOPLE[number % 3],
        labels=sorted({_LABELS[number % 6], _LABELS[number % 4]}) if number % 3 else [],
        duedate="2026-10-23"
        if number == 1533
        else f"2026-{10 + number % 3}-{1 + number % 28:02d}"
        if number % 4
        else None,
    )
    if issue.status_id in (DONE.id, REJECTED.id):
        issue.resolution_id = "10000" if issue.status_id == DONE.id else "10001"
    if is_epic:
        issue.custom["epic_name"] = issue.summary
        return issue
    epic = number - number % 10
    if number % 4 and epic > LAST_NUMBER - context.settings.issues:
        issue.custom["epic_link"] = f"{issue.project}-{epic}"
    if number < _RECENT:
        issue.sprint_ids = [_old_sprint(number)] if number % 4 else []
        return issue
    # What is finished was so in a sprint that is over, never in one that has not begun.
    issue.sprint_ids = [5] if issue.resolution_id else {0: [5], 1: [7], 2: [9], 3: [5, 7]}.get(number % 6, [])
    return issue


def _summary(number: int, *, is_epic: bool) -> str:
    if is_epic:
        name = _EPICS[number // 10 % len(_EPICS)]
        return name if number >= 1500 else f"{name}, очередь {(1550 - number) // 50}"
    work = f"{_WORK[number % len(_WORK)]} {_OBJECTS[number // 2 % len(_OBJECTS)]}"
    return work if number >= _RECENT else f"{work} за {_MONTHS[number % len(_MONTHS)]}"


def _link(context: Context, first: Issue, second: Issue, type_id: str) -> None:
    context.store.save_link(Link(context.store.next_number("link"), type_id, first.id, second.id))


def _comment(context: Context, issue: Issue, number: int) -> None:
    author = _PEOPLE[(number + 1) % 3]
    texts = (
        "Уточнил у заказчика: берём только текущий год.",
        "Прошу посмотреть до пятницы.",
        "Готово к проверке, стенд обновлён.",
    )
    comment_id = context.store.next_number("comment")
    at = issue.created + _DAY
    context.store.save_comment(Comment(comment_id, issue.id, author, author, texts[number // 4 % 3], at, at))
