"""How one fake Jira is set up, and the switches a test may turn while it runs. No behaviour here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from examples.jira.catalogue import SERVICE_USER, USERS

DEFAULT_TOKEN: Final = "fake-jira-token"  # a fake's token guards nothing
# Offsets from the first custom field: ids differ on every real server, so tests may move them all at once.
CUSTOM_FIELDS: Final = ("epic_link", "epic_name", "sprint", "planned_start", "planned_end", "approved_at")


@dataclass(frozen=True, slots=True)
class JiraSettings:
    """Set at start. `database` is a path or ":memory:"; `issues` is the number of seeded ones (41 = 1500…1540)."""

    database: str = ":memory:"
    project: str = "AURORA"
    base_url: str = "http://127.0.0.1"
    issues: int = 41
    first_custom_field: int = 10580
    zone_hours: int = 3
    tokens: Mapping[str, str] = field(default_factory=lambda: {DEFAULT_TOKEN: SERVICE_USER})
    passwords: Mapping[str, str] = field(default_factory=lambda: {user.name: "secret" for user in USERS})

    def field_id(self, role: str) -> str:
        """The id of a custom field by what it is for, e.g. `epic_link` -> `customfield_10580`."""
        return f"customfield_{self.first_custom_field + CUSTOM_FIELDS.index(role)}"


class Bucket(BaseModel):
    """Jira's rate limit: `fill_rate` tokens every `interval_seconds`, `limit` at most."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    limit: int = Field(default=100_000, ge=0)
    interval_seconds: int = Field(default=1, ge=1)
    fill_rate: int = Field(default=100_000, ge=0)
    retry_after_zero: bool = False  # DC 9.12 often answers 429 with `Retry-After: 0`
    html: bool = False


class Switches(BaseModel):
    """What an administrator, a proxy or fate may change under a client (jira.md §1.8)."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    version: str = "9.12.10"
    locale: Literal["ru", "en"] = "ru"
    auth_mode: Literal[
        "ok", "expired", "anonymous_downgrade", "sso_200_html", "sso_302", "basic_disabled", "captcha"
    ] = "ok"
    anonymous_search: Literal["refuse", "empty"] = "refuse"
    captcha_after: int = 3
    xsrf: bool = True
    maintenance: bool = False  # 503 pages from the proxy until it is over
    rate_limit: Bucket = Bucket()
    index_lag_seconds: float = 0.0
    second_node_lag_seconds: float | None = None  # behind a balancer that sends every other request to this node
    search_cap: int = 1000
    sprint_cap: int = 50
    comment_cap: int = 100
    total_offset: int = 0  # makes `total` of searches and comments lie
    clock_skew_seconds: float = 0.0
    epic_link_on_create: bool = True
    assignee_ignored_on_create: bool = False
    assignee_null_reverts: bool = False
    read_only_project: bool = False
    required_on_create: tuple[str, ...] = ()  # field ids an administrator made required, e.g. "duedate"
    text_limit: int = 32_767
    four_byte_characters: bool = True  # False: MySQL `utf8`, an emoji is a 500
    crlf: bool = False
    strip_trailing: bool = False
    text_replacements: Mapping[str, str] = {}  # what a plug-in rewrites in every description and comment
    trim_summary: bool = True
    sprint_field: Literal["string", "older string", "object"] = "string"
    kanban_sprints: Literal["refuse", "empty"] = "refuse"
    link_duplicates: Literal["create", "ignore"] = "create"
    linking: bool = True
    resolution_listed: bool = True
    hidden_transitions: tuple[str, ...] = ()
    redirects: Mapping[str, str] = {}  # post-functions: transition id -> id of the status it really ends in

    def index_lag_at(self, request: int | None) -> float:
        """How old the index is that answers this request: two nodes need not agree."""
        return self.index_lag_seconds if not self.on_second_node(request) else self.second_node_lag_seconds or 0.0

    def on_second_node(self, request: int | None) -> bool:
        """Whether the balancer sends this request to the second node."""
        return self.second_node_lag_seconds is not None and (request or 0) % 2 == 0

    def at_least(self, major: int, minor: int) -> bool:
        """Whether this server is of version `major.minor` or newer."""
        numbers = [int(part) for part in self.version.split(".")]
        return (numbers[0], numbers[1]) >= (major, minor)
