"""The agent's configuration: a TOML file, `JIRA_AGENT_*` variables over it, command-line flags over both.

Secrets come from the environment or from a file that only its owner may read; nothing here talks to anybody.
"""

import base64
import os
import re
import stat
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from agent.access import Access
from agent.recovery import MAX_CLAIMS
from agent.site import Direction, EpicMode, Wanted
from protocol.commands import COMMAND_TYPES, CommandType

_PREFIX: Final = "JIRA_AGENT_"
HOME_VARIABLE: Final = f"{_PREFIX}HOME"
CONFIG_NAME: Final = "agent.toml"
_ID: Final = r"^[A-Za-z0-9_]{1,100}$"
FieldId = Annotated[str, StringConstraints(pattern=_ID)]
Seconds = Annotated[float, Field(ge=0, le=86_400)]


class ConfigFault(Exception):
    """The configuration cannot be used; the text says what to change, `todo` how, where that is one thing."""

    def __init__(self, text: str, todo: str = "") -> None:
        super().__init__(text)
        self.todo = todo


class LinkTypeConfig(BaseModel):
    """A logical link type: the name of Jira's type or its id, never the text of one direction."""

    model_config = ConfigDict(extra="forbid")
    name: str | None = None
    id: str | None = None
    direction: Direction = "outward"

    @model_validator(mode="after")
    def _one_of_both(self) -> "LinkTypeConfig":
        if (self.name is None) == (self.id is None):
            raise ValueError("takes either name or id")
        return self


class EpicLink(BaseModel):
    """How an issue gets its epic: on creation, by an edit after it, or by the Agile API; left out, as Jira allows."""

    model_config = ConfigDict(extra="forbid")
    mode: EpicMode | None = None
    field_id: FieldId | None = None


class AgentConfig(BaseSettings):
    """Every setting, its default, and what it is for."""

    model_config = SettingsConfigDict(env_prefix=_PREFIX, env_nested_delimiter="__", extra="forbid", secrets_dir=None)

    jira_url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s?#@]+$")] = Field(
        description="address of Jira, with its context path"
    )
    project: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{1,60}$")] = Field(
        description="key of the project the agent works in"
    )
    share: Path = Field(description="the folder both sides see")
    link: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")] = Field(
        default="main", description="name of the link, a folder inside the share"
    )
    journal: Path = Field(
        default_factory=lambda: home() / "journal.jsonl", description="the journal, on a local disk, never in the share"
    )
    state_dir: Path | None = Field(default=None, description="the relay's local state; its own default otherwise")
    pairing_key_file: Path | None = Field(
        default=None, description="file with the pairing key, readable by its owner alone; else the one in state_dir"
    )

    token: SecretStr | None = Field(default=None, description="personal access token")
    token_file: Path | None = Field(default=None, description="file with the token, readable by its owner alone")
    user: str | None = Field(default=None, description="login, for Basic authentication")
    password: SecretStr | None = Field(default=None, description="password, for Basic authentication")
    ca_file: Path | None = Field(default=None, description="PEM file of the corporate certificate authority")
    proxy: str | None = Field(default=None, description="proxy on the way to Jira; the environment's is ignored")

    board_id: int | None = Field(default=None, description="board whose sprints are used")
    epic_link: EpicLink = Field(default_factory=EpicLink, description="mode and field of the Epic Link")
    epic_name_field_id: FieldId | None = Field(default=None, description="found by itself unless there are several")
    sprint_field_id: FieldId | None = Field(default=None, description="found by itself unless there are several")
    planned_start_field_id: FieldId | None = Field(default=None, description="field of planned_start")
    planned_end_field_id: FieldId | None = Field(default=None, description="field of planned_end")
    planned_kind: Literal["date", "datetime"] = Field(default="date", description="kind of the two planned fields")
    issue_types: dict[str, str | list[str]] = Field(
        default={"task": ["Задача", "Task"], "epic": ["Эпик", "Epic"]},
        description="our issue types to Jira's name or id; of several the first that is there",
    )
    priorities: dict[str, str] = Field(default={}, description="more names for Jira's priorities (name or id)")
    statuses: dict[str, str] = Field(default={}, description="more names for Jira's statuses (name or id)")
    link_types: dict[str, LinkTypeConfig] = Field(default={}, description="logical link types")
    create_defaults: dict[str, Any] = Field(default={}, description="fields every creation carries")
    transition_defaults: dict[str, Any] = Field(default={}, description="values of screen fields of transitions")
    identity_label: bool = Field(default=False, description="also write the identity of a creation as a label")

    gap_floor: Seconds = Field(default=1.0, description="least gap before a call in seconds, whatever the hub says")
    gap_floors: dict[CommandType, Seconds] = Field(default={}, description="the same by command type")
    read_gap: Seconds = Field(default=2.0, description="gap before the agent's own readings at the start")
    gap_between_reads: Seconds = Field(default=0.0, description="gap between the readings of one command")
    settle_seconds: Seconds = Field(default=120.0, description="how late a lost write may happen, the index show it")
    claim_wait_seconds: Annotated[int, Field(ge=0, le=120)] = Field(default=25, description="long poll of a claim")
    commands_a_day: Annotated[int, Field(ge=1, le=MAX_CLAIMS)] | None = Field(
        default=None, description="most commands taken in 24 hours, whatever the hub has; no limit if left out"
    )
    allow_projects: list[str] = Field(default=[], description="projects that may be touched; the own one if empty")
    allow_types: list[CommandType] = Field(default=list(COMMAND_TYPES), description="command types that may be done")

    @field_validator("journal", "state_dir", "pairing_key_file", "token_file", "ca_file", "share")
    @classmethod
    def _at_home(cls, path: Path | None) -> Path | None:
        return None if path is None else path.expanduser()

    @property
    def folder(self) -> Path:
        """The link's own folder."""
        return self.share / self.link

    @model_validator(mode="after")
    def _one_way_in(self) -> "AgentConfig":
        if self.user is not None and self.password is None:
            raise ValueError("user is set, password is not: set JIRA_AGENT_PASSWORD")
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, config_file())

    def access(self) -> Access:
        """How to get into Jira; raises `ConfigFault`."""
        if self.user is not None and self.password is not None:
            pair = base64.b64encode(f"{self.user}:{self.password.get_secret_value()}".encode()).decode()
            return self._access(f"Basic {pair}", (self.password.get_secret_value(), pair))
        token = self.token.get_secret_value() if self.token else _secret(self.token_file)
        return self._access(f"Bearer {token}", (token,))

    def access_again(self) -> Access | None:
        """The way in as it is now, for one that was refused: a person may have put a new token into the file."""
        try:
            return self.access()
        except ConfigFault:
            return None

    def _access(self, authorization: str, secrets: tuple[str, ...]) -> Access:
        headers = {"Authorization": authorization}
        return Access(self.jira_url.rstrip("/"), headers, secrets, self.ca_file, self.proxy)

    def wanted(self) -> Wanted:
        """The names this configuration uses for things of Jira's."""
        ids = {
            "epic_link": self.epic_link.field_id,
            "epic_name": self.epic_name_field_id,
            "sprint": self.sprint_field_id,
            "planned_start": self.planned_start_field_id,
            "planned_end": self.planned_end_field_id,
        }
        return Wanted(
            project=self.project,
            board_id=self.board_id,
            field_ids={name: value for name, value in ids.items() if value is not None},
            planned_kind=self.planned_kind,
            epic_mode=self.epic_link.mode,
            issue_types={
                ours: (theirs,) if isinstance(theirs, str) else tuple(theirs)
                for ours, theirs in self.issue_types.items()
            },
            priorities=self.priorities,
            statuses=self.statuses,
            link_types={name: (one.id or one.name or "", one.direction) for name, one in self.link_types.items()},
            identity_label=self.identity_label,
            create_defaults=self.create_defaults,
            transition_defaults=self.transition_defaults,
        )


def home() -> Path:
    """Where configuration and journal live unless told otherwise."""
    return Path(os.environ.get(HOME_VARIABLE) or "~/.local/share/jira-agent").expanduser()


def config_file() -> Path:
    return home() / CONFIG_NAME


def load(**flags: Any) -> AgentConfig:
    """The configuration of file, environment and those flags that were given; raises `ConfigFault`."""
    _refuse_unknown_variables()
    try:
        return AgentConfig(**{name: value for name, value in flags.items() if value is not None})
    except ValidationError as error:
        if not config_file().exists() and all(one["type"] == "missing" for one in error.errors()):
            todo = "run `jira-agent init` and fill in what it writes"
            raise ConfigFault(f"there is no configuration at {config_file()}: {todo}", todo) from error
        faults = "; ".join(_told(one) for one in error.errors(include_url=False, include_input=False))
        raise ConfigFault(f"{config_file()}: {faults}") from error
    except (OSError, ValueError) as error:
        raise ConfigFault(f"{config_file()}: {error}") from error


def _refuse_unknown_variables() -> None:
    """A misspelt variable would be passed over in silence, and its setting would keep what it was meant to change."""
    known = [HOME_VARIABLE, *(f"{_PREFIX}{name.upper()}" for name in AgentConfig.model_fields)]
    for name in sorted(os.environ):
        if name.startswith(_PREFIX) and name.partition("__")[0] not in known:
            raise ConfigFault(f"the variable {name}: there is no such setting{_nearest(name, known)}")


def _told(fault: ErrorDetails) -> str:
    """One fault of the configuration in words; a name that is none is answered with the nearest that is one."""
    place = ".".join(str(part) for part in fault["loc"]) or "configuration"
    if fault["type"] != "extra_forbidden":
        of_variable = f" (or {_PREFIX}{place.upper()})" if f"{_PREFIX}{place.upper()}" in os.environ else ""
        return f"{place}{of_variable}: {fault['msg']}"
    known = list(AgentConfig.model_fields) if len(fault["loc"]) == 1 else []
    return f"{place}: there is no such setting{_nearest(place, known)}"


def _nearest(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f", did you mean {near[0]}?" if near else ""


def _secret(path: Path | None) -> str:
    if path is None:
        raise ConfigFault("no way into Jira: set JIRA_AGENT_TOKEN, or token_file, or user and JIRA_AGENT_PASSWORD")
    write_it = f"write the token into {path}, chmod 600"
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise ConfigFault(f"token_file {path}: {error.strerror}; {write_it}", write_it) from error
    with os.fdopen(file, encoding="utf-8", errors="replace") as opened:
        about = os.fstat(opened.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_mode & 0o077:
            todo = f"chmod 600 {path}"
            raise ConfigFault(f"token_file {path} must be a plain file only its owner can read: {todo}", todo)
        token = opened.read(10_000).strip()
    if not re.fullmatch(r"[!-~]+", token):  # it goes into a header as it is
        what = "holds something else than one token" if token else "is empty"
        raise ConfigFault(f"token_file {path} {what}; {write_it}", write_it)
    return token
