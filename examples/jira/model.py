"""What this Jira remembers: issues, comments, links, sprints. Plain records; ids are numbers, times wall seconds."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Issue:
    """`custom` is by role (`epic_link`, …), not by field id; `sprint_ids` keeps closed sprints too, as Jira does."""

    id: int
    project: str
    number: int
    type_id: str
    status_id: str
    summary: str
    priority_id: str
    reporter: str
    creator: str
    created: float
    updated: float
    description: str | None = None
    assignee: str | None = None
    labels: list[str] = field(default_factory=list)
    duedate: str | None = None
    resolution_id: str | None = None
    custom: dict[str, Any] = field(default_factory=dict)
    sprint_ids: list[int] = field(default_factory=list)
    properties: dict[str, Any] = field(default_factory=dict)
    old_keys: list[str] = field(default_factory=list)
    archived_at: float | None = None  # archived by an administrator: readable by its key, read-only
    restricted: bool = False  # a security level hides it from the service user

    @property
    def key(self) -> str:
        return f"{self.project}-{self.number}"

    @property
    def archived(self) -> bool:
        return self.archived_at is not None


@dataclass(slots=True)
class Comment:
    id: int
    issue_id: int
    author: str
    update_author: str
    body: str
    created: float
    updated: float
    visibility: dict[str, str] | None = None


@dataclass(slots=True)
class Link:
    """`first` is the `inwardIssue` of the POST: it does what the type's outward text says to `second`."""

    id: int
    type_id: str
    first: int
    second: int


@dataclass(slots=True)
class Sprint:
    id: int
    name: str
    state: str
    origin_board: int
    boards: list[int]
    start: float | None = None
    end: float | None = None
    complete: float | None = None
    goal: str | None = None
