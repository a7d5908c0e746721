"""What this Jira calls things: ids of fields, types, priorities and link types, as configured and as learnt. Pure.

Names are translated to the reader's language and may be renamed; ids are what the agent compares.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

EPIC_LINK: Final = "com.pyxis.greenhopper.jira:gh-epic-link"
EPIC_NAME: Final = "com.pyxis.greenhopper.jira:gh-epic-label"
SPRINT: Final = "com.pyxis.greenhopper.jira:gh-sprint"

EpicMode = Literal["create", "edit", "agile"]
Direction = Literal["outward", "inward"]


@dataclass(frozen=True, slots=True)
class LinkType:
    """A logical link type. `direction` inward: the logical source stands on Jira's outward side.

    `symmetric` types read the same from both ends and have no direction.
    """

    logical: str
    jira_id: str
    jira_name: str
    direction: Direction = "outward"
    symmetric: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """Something Jira knows by id and shows by name."""

    jira_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Site:
    """One project of one Jira as this agent's user sees it. Field ids are None where the site has no such field.

    `statuses` are the ids of the statuses by every name that is known for them.
    """

    project: str
    user_name: str
    user_key: str = ""
    board_id: int | None = None
    epic_link_field: str | None = None
    epic_name_field: str | None = None
    sprint_field: str | None = None
    planned_start_field: str | None = None
    planned_end_field: str | None = None
    planned_kind: Literal["date", "datetime"] = "date"
    epic_mode: EpicMode = "create"
    issue_types: Mapping[str, Named] = field(default_factory=dict)
    priorities: tuple[Named, ...] = ()
    statuses: Mapping[str, str] = field(default_factory=dict)
    link_types: tuple[LinkType, ...] = ()
    identity_label: bool = False
    create_defaults: Mapping[str, Any] = field(default_factory=dict)
    transition_defaults: Mapping[str, Any] = field(default_factory=dict)

    def link_type(self, logical: str) -> LinkType | None:
        return next((known for known in self.link_types if known.logical == logical), None)

    def managed(self, jira_type_id: str) -> LinkType | None:
        """The logical type of a Jira link type, if it is one of ours."""
        return next((known for known in self.link_types if known.jira_id == jira_type_id), None)

    def priority(self, wanted: str) -> Named | None:
        return next((known for known in self.priorities if wanted in (known.jira_id, known.name)), None)

    def is_own(self, user: Mapping[str, Any] | None) -> bool:
        """Whether a user object of Jira's is this agent's user; keys outlive a renamed login."""
        if not user:
            return False
        by_key = bool(self.user_key) and user.get("key") == self.user_key
        return by_key or user.get("name") == self.user_name


class SiteFault(Exception):
    """The configuration does not fit this Jira; the text says what to change."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The part of the configuration that names things of Jira's, by name or by id.

    `epic_mode` None: as the create screen of a task allows.
    """

    project: str
    board_id: int | None = None
    field_ids: Mapping[str, str] = field(default_factory=dict)
    planned_kind: Literal["date", "datetime"] = "date"
    epic_mode: EpicMode | None = None
    issue_types: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    priorities: Mapping[str, str] = field(default_factory=dict)
    statuses: Mapping[str, str] = field(default_factory=dict)
    link_types: Mapping[str, tuple[str, Direction]] = field(default_factory=dict)
    identity_label: bool = False
    create_defaults: Mapping[str, Any] = field(default_factory=dict)
    transition_defaults: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Learnt:
    """The raw lists of Jira's that names are looked up in, as its REST answers have them.

    `create_fields` are the fields of a task's create screen; none where the server does not tell.
    """

    myself: Mapping[str, Any]
    fields: Sequence[Mapping[str, Any]] = ()
    priorities: Sequence[Mapping[str, Any]] = ()
    issue_types: Sequence[Mapping[str, Any]] = ()
    link_types: Sequence[Mapping[str, Any]] = ()
    statuses: Sequence[Mapping[str, Any]] = ()
    create_fields: Sequence[Mapping[str, Any]] = ()


def site_of(wanted: Wanted, learnt: Learnt) -> Site:
    """The configuration with every name turned into an id; raises `SiteFault` naming what does not fit."""
    return Site(
        project=wanted.project,
        user_name=str(learnt.myself.get("name", "")),
        user_key=str(learnt.myself.get("key", "")),
        board_id=wanted.board_id,
        epic_link_field=_field(wanted, learnt, "epic_link", EPIC_LINK),
        epic_name_field=_field(wanted, learnt, "epic_name", EPIC_NAME),
        sprint_field=_field(wanted, learnt, "sprint", SPRINT),
        planned_start_field=_field(wanted, learnt, "planned_start", None),
        planned_end_field=_field(wanted, learnt, "planned_end", None),
        planned_kind=wanted.planned_kind,
        epic_mode=wanted.epic_mode or _epic_mode(wanted, learnt),
        issue_types={ours: issue_type(ours, theirs, learnt.issue_types) for ours, theirs in wanted.issue_types.items()},
        priorities=_priorities(wanted, learnt),
        statuses=_statuses(wanted, learnt),
        link_types=tuple(
            _link_type(logical, name, direction, learnt) for logical, (name, direction) in wanted.link_types.items()
        ),
        identity_label=wanted.identity_label,
        create_defaults=wanted.create_defaults,
        transition_defaults=wanted.transition_defaults,
    )


def _field(wanted: Wanted, learnt: Learnt, ours: str, custom: str | None) -> str | None:
    """By the configured id or name, else by the kind of field; several of one kind must be told apart by a person."""
    configured = wanted.field_ids.get(ours)
    if configured is not None:
        found = [one for one in learnt.fields if configured in (one.get("id"), one.get("name"))]
        if learnt.fields and not found:
            raise SiteFault(f"field {ours}: Jira has no field {configured!r}; set the id of an existing one")
    elif custom is not None:
        found = [one for one in learnt.fields if (one.get("schema") or {}).get("custom") == custom]
    else:
        return None
    if len(found) > 1:
        raise SiteFault(f"field {ours}: Jira has {_listed(found)}; set the id of the right one")
    return str(found[0]["id"]) if found else configured


def _epic_mode(wanted: Wanted, learnt: Learnt) -> EpicMode:
    """Off the create screen the Epic Link is set by an edit afterwards (G-19)."""
    link = _field(wanted, learnt, "epic_link", EPIC_LINK)
    shown = [one.get("fieldId") for one in learnt.create_fields]
    return "edit" if shown and link is not None and link not in shown else "create"


def issue_type(ours: str, theirs: Sequence[str], known: Sequence[Mapping[str, Any]]) -> Named:
    """The first of the configured types that Jira has; raises `SiteFault`."""
    found = [one for name in theirs for one in known if name in (str(one.get("id")), one.get("name"))]
    if not found:
        raise SiteFault(f"issue_types.{ours}: no type {' or '.join(theirs)}; Jira has {_listed(known)}")
    return Named(str(found[0]["id"]), str(found[0]["name"]))


def _priorities(wanted: Wanted, learnt: Learnt) -> tuple[Named, ...]:
    """Jira's own names, and the configured ones for them in front: those are what people and the mirror say."""
    theirs = tuple(Named(str(one["id"]), str(one["name"])) for one in learnt.priorities)
    ours = []
    for name, target in wanted.priorities.items():
        found = next((one for one in theirs if target in (one.jira_id, one.name)), None)
        if found is None:
            raise SiteFault(f"priorities.{name}: no priority {target!r} here; Jira has {_listed(learnt.priorities)}")
        ours.append(Named(found.jira_id, name))
    return (*ours, *theirs)


def _statuses(wanted: Wanted, learnt: Learnt) -> Mapping[str, str]:
    """Ids by name, the configured names over Jira's own: those outlive a change of the profile's language."""
    theirs = {str(one["name"]): str(one["id"]) for one in learnt.statuses}
    ours = {}
    for name, target in wanted.statuses.items():
        found = theirs.get(target) or (target if target in theirs.values() else None)
        if found is None and learnt.statuses:
            raise SiteFault(f"statuses.{name}: no status {target!r} here; Jira has {_listed(learnt.statuses)}")
        ours[name] = found or target
    return {**theirs, **ours}


def _link_type(logical: str, name: str, direction: Direction, learnt: Learnt) -> LinkType:
    found = [one for one in learnt.link_types if name in (str(one.get("id")), one.get("name"))]
    if found:
        one = found[0]
        symmetric = one.get("inward") == one.get("outward")
        return LinkType(logical, str(one["id"]), str(one["name"]), direction, symmetric)
    described = [one for one in learnt.link_types if name in (one.get("inward"), one.get("outward"))]
    if described:
        # The text of one direction would silently turn every link round (B9).
        one = described[0]
        raise SiteFault(
            f"link_types.{logical}: {name!r} is the text of one direction; name the type: {one.get('name')!r}"
        )
    raise SiteFault(f"link_types.{logical}: no link type {name!r} here; Jira has {_listed(learnt.link_types)}")


def _listed(things: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(f"{thing.get('name')} ({thing.get('id')})" for thing in things[:20]) or "none"
