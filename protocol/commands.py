"""The seven commands: one desired state of one issue, or one reading. Forms and limits only, no behaviour.

Absent means "do not touch", `null` means "clear"; `model_fields_set` tells them apart, so dump with `exclude_unset`.
"""

import re
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Final, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StringConstraints,
    TypeAdapter,
    field_validator,
    model_validator,
)

from protocol.keys import AnyKey, IssueKey, TemporaryKey, is_temporary
from protocol.text import (
    SUMMARY_LIMIT,
    TEXT_LIMIT,
    has_lone_surrogate,
    normalised_summary,
    normalised_text,
    utf16_length,
)

BACKLOG: Final = "backlog"
MAX_KEYS: Final = 1_000  # of one refresh: ten pages of Jira's search
MAX_JQL: Final = 10_000


def _storable(text: str) -> str:
    if has_lone_surrogate(text):
        raise ValueError("holds half of a surrogate pair, which no database stores")
    return text


def _checked_summary(text: str) -> str:
    summary = normalised_summary(_storable(text))
    if not summary:
        raise ValueError("is empty")
    if any(mark in summary for mark in ("\n", "\r", "\u2028", "\u2029")):
        raise ValueError("has a line break")
    if utf16_length(summary) > SUMMARY_LIMIT:
        raise ValueError(f"is {utf16_length(summary)} long, Jira takes {SUMMARY_LIMIT}")
    return summary


def _checked_text(text: str) -> str:
    normalised = normalised_text(_storable(text))
    if utf16_length(normalised) > TEXT_LIMIT:
        raise ValueError(f"is {utf16_length(normalised)} long, Jira takes {TEXT_LIMIT}")
    return normalised


def _checked_label(label: str) -> str:
    if not label or any(character.isspace() for character in _storable(label)):
        raise ValueError(f"{label!r} is empty or has a blank in it; a label is one word")
    if utf16_length(label) > SUMMARY_LIMIT:
        raise ValueError(f"is {utf16_length(label)} long, Jira takes {SUMMARY_LIMIT}")
    return label


def _checked_date(text: str) -> str:
    # The pattern comes first: fromisoformat also takes 20261023 and 2026-W43-5, which Jira does not.
    try:
        date.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is no day of the calendar") from error
    return text


def _without_repeats(labels: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(labels))


Summary = Annotated[str, AfterValidator(_checked_summary)]
Text = Annotated[str, AfterValidator(_checked_text)]
Label = Annotated[str, AfterValidator(_checked_label)]
Labels = Annotated[tuple[Label, ...], Field(max_length=100), AfterValidator(_without_repeats)]
Day = Annotated[str, StringConstraints(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"), AfterValidator(_checked_date)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=255), AfterValidator(_storable)]
TransitionId = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,18}$")]
Marker = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9:#._-]{3,64}$")]


class _Command(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    def params(self) -> dict[str, Any]:
        """The parameters that were given, ready for JSON: absent stays absent, null stays null."""
        return self.model_dump(mode="json", exclude={"type"}, exclude_unset=True)


class _Fields(_Command):
    description: Text | None = None
    priority: Name | None = None
    duedate: Day | None = None
    planned_start: Day | None = None
    planned_end: Day | None = None
    epic_key: AnyKey | None = None
    assignee: Name | None = None

    @field_validator("priority", mode="before")
    @classmethod
    def _priority_stays(cls, value: object) -> object:
        if value is None:
            raise ValueError("cannot be cleared; leave it out to keep what is there")
        return value

    @field_validator("assignee")
    @classmethod
    def _nobody_is_automatic(cls, value: str | None) -> str | None:
        if value == "-1":  # Jira's word for "whoever the project says": no state that could be compared
            raise ValueError("-1 names nobody; give a login, or null for nobody")
        return value


class EnsureIssue(_Fields):
    """An issue with this summary exists; `temp_key` names it for the other commands of its batch."""

    type: Literal["ensure_issue"] = "ensure_issue"
    temp_key: TemporaryKey
    issue_type: Literal["task", "epic"] = "task"
    summary: Summary
    labels: Labels = ()

    @model_validator(mode="after")
    def _epics_stand_alone(self) -> Self:
        if self.issue_type == "epic" and self.epic_key is not None:
            raise ValueError("an epic cannot have an epic_key")
        if self.epic_key == self.temp_key:
            raise ValueError("an issue cannot be its own epic")
        return self


class EnsureFields(_Fields):
    """These fields of one issue have these values; a field left out is not touched."""

    type: Literal["ensure_fields"] = "ensure_fields"
    key: AnyKey
    summary: Summary | None = None
    labels_add: Labels = ()
    labels_remove: Labels = ()

    @field_validator("summary", mode="before")
    @classmethod
    def _summary_stays(cls, value: object) -> object:
        if value is None:
            raise ValueError("cannot be cleared; leave it out to keep what is there")
        return value

    @model_validator(mode="after")
    def _something_is_wished(self) -> Self:
        if self.model_fields_set <= {"type", "key"}:
            raise ValueError("names no field to set")
        both = sorted(set(self.labels_add) & set(self.labels_remove))
        if both:
            raise ValueError(f"labels_add and labels_remove both name {', '.join(both)}")
        if self.epic_key == self.key:
            raise ValueError("an issue cannot be its own epic")
        return self


class EnsureComment(_Command):
    """One comment of ours that starts with `marker` says `body`."""

    type: Literal["ensure_comment"] = "ensure_comment"
    key: AnyKey
    marker: Marker
    body: Text

    @model_validator(mode="after")
    def _fits_with_its_marker(self) -> Self:
        if not self.body:
            raise ValueError("body is empty")
        if utf16_length(comment_text(self.marker, self.body)) > TEXT_LIMIT:
            raise ValueError(f"marker and body together are longer than {TEXT_LIMIT}")
        return self


class EnsureStatus(_Command):
    """The issue stands in `target`, or in the last of a path of statuses walked in order.

    `transition_id` is a hint: where several transitions lead to the next status, this one is taken if it is among them.
    """

    type: Literal["ensure_status"] = "ensure_status"
    key: AnyKey
    target: Name | Annotated[tuple[Name, ...], Field(min_length=1, max_length=20)]
    transition_id: TransitionId | None = None

    @property
    def path(self) -> tuple[str, ...]:
        return (self.target,) if isinstance(self.target, str) else self.target


class EnsureLink(_Command):
    """`source` has a link of the logical type `link_type` to `target`, and with `replace` no other managed one."""

    type: Literal["ensure_link"] = "ensure_link"
    source: AnyKey
    target: AnyKey
    link_type: Name
    replace: StrictBool = False

    @model_validator(mode="after")
    def _two_issues(self) -> Self:
        if self.source == self.target:
            raise ValueError("an issue cannot be linked to itself")
        return self


class SprintId(BaseModel):
    """A sprint named by its id, for boards where two sprints bear one name."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    id: Annotated[int, Field(strict=True, ge=1, lt=2**53)]


class EnsureSprint(_Command):
    """The issue is in this active or future sprint of the board, or in the backlog."""

    type: Literal["ensure_sprint"] = "ensure_sprint"
    key: AnyKey
    sprint: Name | SprintId


class Refresh(_Command):
    """Read these issues, or those a JQL finds, and their neighbours into the mirror."""

    type: Literal["refresh"] = "refresh"
    keys: Annotated[tuple[AnyKey, ...], Field(min_length=1, max_length=MAX_KEYS)] | None = None
    jql: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_JQL)] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.keys is None) == (self.jql is None):
            raise ValueError("takes either keys or jql")
        return self


AnyCommand = EnsureIssue | EnsureFields | EnsureComment | EnsureStatus | EnsureLink | EnsureSprint | Refresh
Command = Annotated[AnyCommand, Field(discriminator="type")]
CommandType = Literal[
    "ensure_issue", "ensure_fields", "ensure_comment", "ensure_status", "ensure_link", "ensure_sprint", "refresh"
]
COMMAND_TYPES: Final[tuple[CommandType, ...]] = get_args(CommandType)
MODELS: Final[Mapping[CommandType, type[AnyCommand]]] = {
    model.model_fields["type"].default: model for model in get_args(AnyCommand)
}
COMMAND: Final[TypeAdapter[AnyCommand]] = TypeAdapter(Command)

# Minimum seconds between Jira calls by the type of the command about to make one; the seeds' policy.
DEFAULT_GAPS: Final[Mapping[CommandType, float]] = {
    "ensure_issue": 120,
    "ensure_fields": 120,
    "ensure_comment": 30,
    "ensure_status": 30,
    "ensure_link": 30,
    "ensure_sprint": 30,
    "refresh": 2,
}

_SINGLE_KEYS: Final = ("key", "source", "target", "epic_key")
_SINGLE_KEYS_BUT_TARGET: Final = ("key", "source", "epic_key")  # the target of a status is a name


def command_from(command_type: str, params: Mapping[str, Any]) -> AnyCommand:
    """The command of stored or received parameters; raises `pydantic.ValidationError`."""
    return COMMAND.validate_python({**params, "type": command_type})


def keys_used(command: AnyCommand) -> tuple[str, ...]:
    """Every key the command refers to, temporary ones included; the key an `ensure_issue` defines is not used by it."""
    # By the tag and past `getattr`: pydantic answers `isinstance` and a missing attribute at the price of a validation.
    if command.type == "refresh":
        return command.keys or ()
    values = command.__dict__
    names = _SINGLE_KEYS if command.type == "ensure_link" else _SINGLE_KEYS_BUT_TARGET
    found = (values.get(name) for name in names)
    return tuple(dict.fromkeys(key for key in found if key is not None))


def keys_touched(command: AnyCommand) -> tuple[str, ...]:
    """Every key whose issue may look different afterwards: those used, and the one an `ensure_issue` defines."""
    if command.type == "ensure_issue":
        return (command.temp_key, *keys_used(command))
    return keys_used(command)


def temporary_keys_used(command: AnyCommand) -> tuple[str, ...]:
    """The temporary keys that must have become real before the command can be delivered."""
    return tuple(key for key in keys_used(command) if is_temporary(key))


def with_real_keys(command: AnyCommand, real: Mapping[str, IssueKey]) -> AnyCommand:
    """The command with every temporary key it uses replaced by the real one; a key not in `real` stays.

    Raises `pydantic.ValidationError` where the real keys make it senseless: a link of an issue with itself.
    """
    params = command.params()
    if isinstance(command, Refresh):
        params["keys"] = list(dict.fromkeys(real.get(key, key) for key in command.keys or ()))
    else:
        used = {name: params[name] for name in _SINGLE_KEYS if isinstance(params.get(name), str)}
        params.update({name: real[key] for name, key in used.items() if key in real})
    return command_from(command.type, params) if real else command


def comment_text(marker: str, body: str) -> str:
    """What the comment says in Jira: the marker first, then the body; a body that starts with it is not doubled."""
    return body if starts_with_marker(body, marker) else f"{marker}\n{body}"


def starts_with_marker(text: str, marker: str) -> bool:
    """Whether `text` starts with exactly this marker: `plan:1` starts neither `plan:12 …` nor `plan:1.2 …`."""
    return text.startswith(marker) and not re.match(r"[A-Za-z0-9:#._-]", text[len(marker) :])
