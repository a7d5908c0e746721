"""What may be imported, every fault found together; and which links of an import the mirror lacks. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from hub.batching import nearest
from hub.errors import Said, Wrong
from hub.wording import place_of, worded
from protocol.commands import Day, Labels, Name, Summary, Text
from protocol.keys import AnyKey, IssueKey

MAX_ROWS: Final = 200_000  # of each list: twice the largest mirror anybody spoke of
MAX_FAULTS: Final = 200  # nobody reads further, and the answer has to stay small


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ImportedIssue(_Row):
    """An issue as some list has it; what Jira itself shows later takes its place."""

    key: IssueKey
    summary: Summary
    description: Text | None = None
    issue_type: Name | None = None
    status: Name | None = None
    priority: Name | None = None
    assignee: Name | None = None
    duedate: Day | None = None
    planned_start: Day | None = None
    planned_end: Day | None = None
    labels: Labels = ()
    epic_key: IssueKey | None = None
    sprint: Name | None = None


class ImportedLink(_Row):
    """A link that should stand in Jira; it is looked for and never made."""

    source: IssueKey
    target: IssueKey
    type: Name

    @model_validator(mode="after")
    def _two_issues(self) -> "ImportedLink":
        if self.source == self.target:
            raise ValueError("an issue cannot be linked to itself")
        return self


class ImportedNote(_Row):
    key: AnyKey
    text: Annotated[Text, Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Import:
    issues: tuple[ImportedIssue, ...]
    links: tuple[ImportedLink, ...]
    notes: tuple[ImportedNote, ...]


R = TypeVar("R", bound=_Row)
_LISTS: Final[Mapping[str, type[_Row]]] = {"issues": ImportedIssue, "links": ImportedLink, "notes": ImportedNote}


def checked_import(
    issues: Sequence[object], links: Sequence[object], notes: Sequence[object]
) -> Import | tuple[Wrong, ...]:
    """The rows, or everything wrong with them; `field` is such as `links[3].target`."""
    faults: list[Wrong] = []
    found = Import(
        _checked("issues", issues, ImportedIssue, faults),
        _checked("links", links, ImportedLink, faults),
        _checked("notes", notes, ImportedNote, faults),
    )
    for name, rows in (("issues", issues), ("notes", notes)):
        faults += _repeated(name, rows)
    return tuple(faults[:MAX_FAULTS]) if faults else found


def columns_of(name: str) -> tuple[str, ...]:
    """The names a row of this list may have, those it must have first."""
    fields = _LISTS[name].model_fields
    return tuple(sorted(fields, key=lambda field: not fields[field].is_required()))


def _checked(name: str, rows: Sequence[object], model: type[R], faults: list[Wrong]) -> tuple[R, ...]:
    good: list[R] = []
    for index, row in enumerate(rows):
        try:
            good.append(model.model_validate(row))
        except ValidationError as error:
            faults.extend(_wrong(name, index, found) for found in error.errors(include_url=False))
        if len(faults) >= MAX_FAULTS:
            break
    return tuple(good)


def _wrong(name: str, index: int, found: Mapping[str, Any]) -> Wrong:
    place = f"{name}[{index}]"
    field = f"{place}.{place_of(found['loc'])}" if found["loc"] else place
    if found["type"] == "extra_forbidden":
        detail = Said("there is no such column", "нет такого столбца")
        return Wrong(field, detail, nearest(str(found["loc"][0]), columns_of(name)))
    return Wrong(field, *worded(found))


def _repeated(name: str, rows: Sequence[object]) -> list[Wrong]:
    seen: set[str] = set()
    faults = []
    for index, row in enumerate(rows):
        key = row.get("key") if isinstance(row, Mapping) else None
        if not isinstance(key, str):
            continue
        if key in seen:
            faults.append(Wrong(f"{name}[{index}].key", Said(f"{key} stands twice", f"{key} встречается дважды")))
        seen.add(key)
    return faults


@dataclass(frozen=True, slots=True)
class Standing:
    """How the links of an import stand in the mirror."""

    present: int
    missing: tuple[ImportedLink, ...]
    reversed: tuple[ImportedLink, ...]


def links_standing(wanted: Sequence[ImportedLink], mirror: Collection[tuple[str, str, str]]) -> Standing:
    """A link is there as (source, target, type); one of the same type the other way round is reversed, not missing.

    Whether the type has a direction at all the hub does not know: a person sees both and decides (design decision 8).
    """
    there = [link for link in wanted if (link.source, link.target, link.type) in mirror]
    others = [link for link in wanted if (link.source, link.target, link.type) not in mirror]
    turned = [link for link in others if (link.target, link.source, link.type) in mirror]
    gone = [link for link in others if (link.target, link.source, link.type) not in mirror]
    return Standing(len(there), tuple(gone), tuple(turned))
