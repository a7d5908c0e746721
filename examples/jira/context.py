"""One request's view of the world: the store, the moment, who asks, what the switches say, and what was changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from examples.jira.catalogue import (
    ISSUE_TYPES,
    PRIORITIES,
    SERVICE_USER,
    STATUSES,
    USERS,
    IssueType,
    Named,
    Project,
    Status,
    User,
    boards,
    projects,
)
from examples.jira.http import Refusal
from examples.jira.model import Issue, Sprint
from examples.jira.settings import JiraSettings, Switches
from examples.jira.store import Store

NO_SUCH_ISSUE = "Issue Does Not Exist"


@dataclass(slots=True)
class Context:
    """`now` is wall seconds. `changes` collects what this request did; empty means it wrote nothing."""

    store: Store
    settings: JiraSettings
    switches: Switches
    now: float
    user: User | None = None
    request: int | None = None
    changes: list[str] = field(default_factory=list)

    # who and when
    @property
    def login(self) -> str:
        """The name of whoever asks; a person must be logged in to get this far."""
        if self.user is None:
            raise Refusal(401, ["You do not have the permission to see the specified issue.", "Login Required"])
        return self.user.name

    def require_login(self) -> None:
        """Turn the anonymous away."""
        assert self.login

    @property
    def zone(self) -> timezone:
        return timezone(timedelta(hours=self.settings.zone_hours))

    def time(self, wall: float | None) -> str | None:
        """Jira's form of a moment: `2026-10-13T09:00:00.000+0300`, no colon in the offset."""
        if wall is None:
            return None
        moment = datetime.fromtimestamp(wall, tz=UTC).astimezone(self.zone)
        return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}{moment:%z}"

    def link(self, path: str) -> str:
        return f"{self.settings.base_url}{path}"

    # names in the user's language
    def name(self, thing: Named) -> str:
        return thing.english if self.switches.locale == "en" else thing.name

    # look-ups
    def sees(self, issue: Issue) -> bool:
        """Whether whoever asks may know of this issue."""
        return not issue.restricted or self.user is None or self.user.name != SERVICE_USER

    def issue(self, key: str) -> Issue:
        """By key (any case, old ones too) or id; a 404 when there is none."""
        found = self.store.issue(int(key)) if key.isdigit() else self.store.issue_by_key(key)
        if found is None or not self.sees(found):
            raise Refusal(404, [NO_SUCH_ISSUE])  # the same for what is forbidden
        self.require_login()  # an anonymous reader learns only here that a log-in is needed, as in Jira
        return found

    def projects(self) -> tuple[Project, ...]:
        return projects(self.settings.project)

    def project(self, key: str) -> Project | None:
        return next((one for one in self.projects() if key.upper() in (one.key, one.id)), None)

    def sprint(self, sprint_id: int) -> Sprint | None:
        return next((one for one in self.store.sprints() if one.id == sprint_id), None)

    def boards(self) -> Mapping[int, Any]:
        return {board.id: board for board in boards(self.settings.project)}

    def field_id(self, role: str) -> str:
        return self.settings.field_id(role)

    # what was done
    def changed(self, issue: Issue, text: str) -> None:
        self.changes.append(f"{issue.key}: {text}")
        self.store.add_change(self.request, issue.id, self.now, self.user.name if self.user else "anonymous", text)

    def save(self, issue: Issue, text: str) -> None:
        issue.updated = self.now
        self.store.save_issue(issue, self.now)
        self.changed(issue, text)


def user_named(name: str) -> User | None:
    return next((user for user in USERS if user.name == name), None)


def status_of(status_id: str) -> Status:
    return next(status for status in STATUSES if status.id == status_id)


def type_of(type_id: str) -> IssueType:
    return next(one for one in ISSUE_TYPES if one.id == type_id)


def priority_of(priority_id: str) -> Named:
    return next(one for one in PRIORITIES if one.id == priority_id)
