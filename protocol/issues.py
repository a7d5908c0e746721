"""An issue as the mirror keeps it and a refresh reports it. Names are as configured, texts as Jira gave them."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from protocol.keys import IssueKey


class IssueLink(BaseModel):
    """One link seen from its source: `source` blocks (refers to) `target`.

    `link_type` is the logical name of the agent's `link_types` where the type is one of them (`managed`), else Jira's.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)
    source: IssueKey
    target: IssueKey
    link_type: str
    managed: bool = True
    symmetric: bool = False
    jira_id: str | None = None


class IssueState(BaseModel):
    """One issue at the moment it was read. Times are Jira's own strings, dates `YYYY-MM-DD`.

    `archived_at` is set while the issue is archived: it can be read by its key then, and not written.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)
    key: IssueKey
    jira_id: str | None = None
    summary: str = ""
    description: str | None = None
    issue_type: str | None = None
    status: str | None = None
    status_id: str | None = None
    priority: str | None = None
    assignee: str | None = None
    duedate: str | None = None
    planned_start: str | None = None
    planned_end: str | None = None
    labels: tuple[str, ...] = ()
    epic_key: str | None = None
    sprint: str | None = None
    sprint_id: int | None = None
    created: str | None = None
    updated: str | None = None
    archived_at: str | None = None
    links: tuple[IssueLink, ...] = ()


class Reading(BaseModel):
    """The result of a refresh: what was found, what is gone, what has moved, and whether neighbours were left out."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    issues: tuple[IssueState, ...] = ()
    missing: tuple[IssueKey, ...] = ()
    moved: dict[IssueKey, IssueKey] = Field(default_factory=dict)
    truncated: bool = False
    part: Annotated[tuple[int, int], Field(description="part i of n, from 1")] = (1, 1)
