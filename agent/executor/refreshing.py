"""Executor of `refresh`: read issues and their neighbours for the hub's mirror. Nothing is written to Jira."""

from collections.abc import Iterable, Mapping
from typing import Any

from agent.differences.refresh import chunks, issue_state, mirror_fields, neighbours
from agent.executor.reading import search, try_issue
from agent.executor.work import Work
from agent.jql import ordered, these_keys
from agent.outcomes import Outcome
from protocol.commands import Refresh
from protocol.issues import IssueState, Reading


def refresh(work: Work, want: Refresh) -> dict[str, Any]:
    """The `Reading` of what was asked for and of its neighbours, one hop."""
    read: dict[str, IssueState] = {}
    missing: list[str] = []
    moved: dict[str, str] = {}
    if want.jql is not None:
        _take(work, read, search(work, ordered(want.jql), mirror_fields(work.site)))
    else:
        keys = want.keys or ()
        _take(work, read, _by_keys(work, keys))
        for key in keys:
            if key not in read:
                _look_for(work, key, read, missing, moved)
    near, truncated = neighbours(read)
    _take(work, read, _by_keys(work, near))
    reading = Reading(issues=tuple(read.values()), missing=tuple(missing), moved=moved, truncated=truncated)
    return reading.model_dump(mode="json")


def _by_keys(work: Work, keys: Iterable[str]) -> list[Mapping[str, Any]]:
    """One deleted key would fail the whole query, so unknown keys may fall out of it."""
    pages = (search(work, these_keys(chunk), mirror_fields(work.site), validate=False) for chunk in chunks(tuple(keys)))
    return [issue for page in pages for issue in page]


def _take(work: Work, read: dict[str, IssueState], issues: Iterable[Mapping[str, Any]]) -> None:
    for issue in issues:
        state = issue_state(work.site, issue)
        read[state.key] = state


def _look_for(work: Work, key: str, read: dict[str, IssueState], missing: list[str], moved: dict[str, str]) -> None:
    """A key the search did not return: moved, archived, not yet indexed, or gone, which takes two answers."""
    for _ in range(2):
        found = try_issue(work, key, mirror_fields(work.site))
        if found.outcome is Outcome.OK:
            state = issue_state(work.site, found.json)
            read[state.key] = state
            if state.key != key:
                moved[key] = state.key
            return
    missing.append(key)
