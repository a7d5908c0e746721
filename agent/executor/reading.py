"""The readings of Jira that several executors make: issues, searches, comments, sprints; all of a list's pages."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agent.differences.refresh import PAGE, is_last_page
from agent.executor.work import CommandFailed, Work
from agent.outcomes import Answer, Expect, JiraRequest
from agent.writes import AGILE, API

MAX_PAGES: Final = 200  # a list that never ends is a fault of the server's


def issue_request(key: str, fields: Sequence[str], **query: str) -> JiraRequest:
    """Fields are always named: `*all` of an issue with thousands of links takes minutes."""
    return JiraRequest(
        "GET",
        f"{API}/issue/{key}",
        "read",
        Expect(keys=("key", "fields")),
        query=(("fields", ",".join(fields)), *query.items()),
    )


def read_issue(work: Work, key: str, fields: Sequence[str], **query: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = work.read(issue_request(key, fields, **query))
    if not isinstance(found["fields"], dict):
        raise CommandFailed(f"{key}: в ответе Jira поле fields не объект")
    return found


def try_issue(work: Work, key: str, fields: Sequence[str]) -> Answer:
    return work.try_read(issue_request(key, fields))


def search(work: Work, jql: str, fields: Sequence[str], *, validate: bool = True) -> list[Mapping[str, Any]]:
    """Every issue a query finds, each once, in order. By POST: Cyrillic in an address grows sixfold.

    `validate` False lets unknown keys of our own lists fall out silently; a person's query keeps its typos loud.
    """
    found: dict[str, Mapping[str, Any]] = {}
    start = 0
    for _ in range(MAX_PAGES):
        body = {
            "jql": jql,
            "startAt": start,
            "maxResults": PAGE,
            "fields": list(fields),
            "validateQuery": validate,
        }
        request = JiraRequest("POST", f"{API}/search", "read", Expect(keys=("issues",)), body)
        page = work.read(request)
        received = _objects(page, "issues")
        found.update({str(issue.get("id")): issue for issue in received})
        if is_last_page(start, len(received), page.get("total")):
            return list(found.values())
        start += len(received)
    raise CommandFailed(f"поиск не кончается за {MAX_PAGES} страниц")


def comments(work: Work, key: str) -> list[Mapping[str, Any]]:
    return _paged(work, f"{API}/issue/{key}/comment", "comments")


def board_sprints(work: Work, board_id: int) -> list[Mapping[str, Any]]:
    return _paged(work, f"{AGILE}/board/{board_id}/sprint", "values", (("state", "active,future"),))


def _paged(work: Work, path: str, items: str, query: tuple[tuple[str, str], ...] = ()) -> list[Mapping[str, Any]]:
    """Every page of a list: advance by what came, for the server caps what was asked."""
    found: dict[str, Mapping[str, Any]] = {}
    start = 0
    for _ in range(MAX_PAGES):
        asked = (*query, ("startAt", str(start)), ("maxResults", str(PAGE)))
        page = work.read(JiraRequest("GET", path, "read", Expect(keys=(items,)), query=asked))
        received = _objects(page, items)
        found.update({str(item.get("id")): item for item in received})
        if page.get("isLast") is True or is_last_page(start, len(received), page.get("total")):
            return list(found.values())
        start += len(received)
    raise CommandFailed(f"{path} не кончается за {MAX_PAGES} страниц")


def _objects(page: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The list of objects that a page is; what has its keys but not its shape is no answer of Jira's."""
    found = page[name]
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise CommandFailed(f"в ответе Jira {name} не список объектов")
    return found
