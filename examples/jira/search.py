"""Search: what the index knew, by JQL. Issues are matched as indexed and shown as they are, which is how lag looks."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from examples.jira.context import Context
from examples.jira.http import Answer, Call, Refusal, answer_json
from examples.jira.jql import BadJql, Clause, Node, Query, Value, clauses, holds, parse, relative_seconds
from examples.jira.model import Issue
from examples.jira.reading import chosen_fields, issue_bean

_KEYS: Final = frozenset({"jql", "startAt", "maxResults", "fields", "validateQuery", "expand"})
_DEFAULT_PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class _Asked:
    jql: str
    start: int
    size: int
    fields: list[str]
    validate: bool
    properties: list[str]


class _Index:
    """What values of one query mean to this server and this user."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._known: dict[tuple[str, Value], Any] = {}

    def complaint(self, clause: Clause, value: Value) -> str | None:
        """Jira's words when a value does not exist; None when it does."""
        if value.function:
            return None if self.context.user else "Function 'currentUser' cannot be called as anonymous user"
        return None if self.meaning(clause, value) is not None else self._words(clause.field, value.text)

    @staticmethod
    def _words(field: str, text: str) -> str:
        if field == "key":
            return f"An issue with key '{text}' does not exist for field 'key'."
        if field == "created":
            return (
                f"Date value '{text}' for field '{field}' is invalid. Valid formats include: 'yyyy/MM/dd HH:mm',"
                " 'yyyy-MM-dd HH:mm', 'yyyy/MM/dd', 'yyyy-MM-dd', or a period format e.g. '-5d', '4w 2d'."
            )
        return f"The value '{text}' does not exist for the field '{field}'."

    def meaning(self, clause: Clause, value: Value) -> Any:
        """The stored value a literal stands for; None when there is no such thing."""
        asked = (clause.field, value)
        if asked not in self._known:  # once a query, not once an issue
            self._known[asked] = self._looked_up(clause, value)
        return self._known[asked]

    def _looked_up(self, clause: Clause, value: Value) -> Any:
        text, context = value.text, self.context
        match clause.field:
            case "project":
                named = next((one for one in context.projects() if one.name.lower() == text.lower()), None)
                found = (context.project(text) or named) if context.user else None
                return found.key if found else None
            case "reporter" | "creator":
                # A person's name is no clause of ours: only whoever asks.
                return context.user.name if value.function and context.user else None
            case "key":
                issue = context.store.issue(int(text)) if text.isdigit() else context.store.issue_by_key(text)
                return issue.id if issue and context.user and context.sees(issue) else None
            case "created":
                seconds = relative_seconds(text)  # absolute literals depend on the reader's zone: none of ours
                return None if seconds is None else context.now + seconds
            case "labels":
                return text
        raise AssertionError(clause.field)

    def clause_holds(self, clause: Clause, issue: Issue) -> bool:
        # Values that do not exist (validateQuery=false) match nothing.
        meanings = [found for found in (self.meaning(clause, one) for one in clause.values) if found is not None]
        if clause.field == "created":
            return bool(meanings) and issue.created >= meanings[0]
        if clause.field == "labels":
            return bool(set(issue.labels) & set(meanings))
        return getattr(issue, "id" if clause.field == "key" else clause.field) in meanings

    def holds(self, where: Node | None, issue: Issue) -> bool:
        return holds(where, lambda clause: self.clause_holds(clause, issue))


def _sorted(issues: list[Issue], query: Query) -> list[Issue]:
    found = sorted(issues, key=partial(_sort_key, "key"), reverse=True)  # without ORDER BY: the newest keys first
    for field, descending in reversed(query.order):
        found.sort(key=partial(_sort_key, field), reverse=descending)
    return found


def _sort_key(field: str, issue: Issue) -> Any:
    if field == "key":
        return (issue.project, issue.number)
    return getattr(issue, field)


def _search(context: Context, asked: _Asked) -> Answer:
    try:
        query = parse(asked.jql)
    except BadJql as error:
        raise Refusal(400, [str(error)]) from None
    index = _Index(context)
    wrong = [text for one in clauses(query.where) for value in one.values if (text := index.complaint(one, value))]
    if context.user is None and context.switches.anonymous_search == "empty":
        wrong = []
    if wrong and asked.validate:
        raise Refusal(400, wrong)
    lag = context.switches.index_lag_at(context.request)
    known = context.store.indexed_issues(context.now - lag) if context.user else []
    found = [one for one in known if not one.archived and context.sees(one) and index.holds(query.where, one)]
    cap = context.switches.search_cap
    size = cap if asked.size < 0 else min(asked.size, cap)
    fields = chosen_fields(context, asked.fields, "*navigable")
    shown = []
    for stale in _sorted(found, query)[asked.start : asked.start + size]:
        issue = context.store.issue(stale.id)
        if issue is not None:
            shown.append(issue_bean(context, issue, fields, asked.properties))
    body: dict[str, Any] = {
        "expand": "schema,names",
        "startAt": asked.start,
        "maxResults": size,
        "total": len(found) + context.switches.total_offset,
        "issues": shown,
    }
    return answer_json(200, body | ({"warningMessages": wrong} if wrong else {}))


def post_search(context: Context, call: Call) -> Answer:
    body = call.json_object()
    unknown = sorted(set(body) - _KEYS)
    if unknown:
        bean = "Class com.atlassian.jira.rest.v2.search.SearchRequestBean"
        raise Refusal(400, [f'Unrecognized field "{unknown[0]}" ({bean}), not marked as ignorable'])
    start, size, fields = body.get("startAt", 0), body.get("maxResults", _DEFAULT_PAGE), body.get("fields", [])
    if type(start) is not int or type(size) is not int or not isinstance(fields, list):
        raise Refusal(400, ["Can not deserialize instance of int out of this token"])
    validate = str(body.get("validateQuery", True)).lower() != "false"
    asked = _Asked(str(body.get("jql") or ""), max(start, 0), size, [str(f) for f in fields], validate, [])
    return _search(context, asked)


def get_search(context: Context, call: Call) -> Answer:
    validate = call.query("validateQuery", "true").lower() != "false"
    asked = _Asked(
        call.query("jql"),
        max(call.number("startAt", 0), 0),
        call.number("maxResults", _DEFAULT_PAGE),
        call.query("fields").split(","),
        validate,
        call.query("properties").split(","),
    )
    return _search(context, asked)
