"""The writes a difference can ask for, and the one request each of them is. Pure: nothing is sent from here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, assert_never

from agent.outcomes import Expect, JiraRequest

API: Final = "/rest/api/2"
AGILE: Final = "/rest/agile/1.0"
PROPERTY: Final = "hub.cmd"  # the entity property that carries an issue's identity

_NOTHING: Final = Expect(frozenset({204}), shape="none")


@dataclass(frozen=True, slots=True)
class CreateIssue:
    fields: Mapping[str, Any]
    identity: str | None = None


@dataclass(frozen=True, slots=True)
class EditIssue:
    """`fields` are set, `update` are operations; Jira takes a field in one of the two only."""

    key: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    update: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SetEpic:
    """By the Agile API, where the Epic Link field is on no screen. `epic` None takes the issue out of its epic."""

    key: str
    epic: str | None


@dataclass(frozen=True, slots=True)
class AddComment:
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class EditComment:
    """`visibility` is sent back as it was: left out, Jira may drop the restriction."""

    key: str
    comment_id: str
    text: str
    visibility: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Transit:
    key: str
    transition_id: str
    to: str
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreateLink:
    """`inward` is the side that blocks: Jira shows it the outward text (settled on a real Jira)."""

    type_id: str
    inward: str
    outward: str


@dataclass(frozen=True, slots=True)
class DeleteLink:
    link_id: str
    what: str


@dataclass(frozen=True, slots=True)
class MoveToSprint:
    """`sprint_id` None is the backlog."""

    key: str
    sprint_id: int | None


Write = CreateIssue | EditIssue | SetEpic | AddComment | EditComment | Transit | CreateLink | DeleteLink | MoveToSprint


def request_of(write: Write) -> JiraRequest:
    """The request that does `write`."""
    match write:
        case CreateIssue():
            body: dict[str, Any] = {"fields": dict(write.fields)}
            if write.identity is not None:
                body["properties"] = [{"key": PROPERTY, "value": {"identity": write.identity}}]
            return _write("POST", f"{API}/issue", Expect(frozenset({201}), ("key",)), body)
        case EditIssue():
            parts = {"fields": dict(write.fields), "update": dict(write.update)}
            return _write(
                "PUT", f"{API}/issue/{write.key}", _NOTHING, {name: part for name, part in parts.items() if part}
            )
        case SetEpic():
            return _write("POST", f"{AGILE}/epic/{write.epic or 'none'}/issue", _NOTHING, {"issues": [write.key]})
        case AddComment():
            expect = Expect(frozenset({201}), ("id",))
            return _write("POST", f"{API}/issue/{write.key}/comment", expect, {"body": write.text})
        case EditComment():
            changed: dict[str, Any] = {"body": write.text}
            if write.visibility is not None:
                changed["visibility"] = dict(write.visibility)
            path = f"{API}/issue/{write.key}/comment/{write.comment_id}"
            return _write("PUT", path, Expect(frozenset({200}), ("id",)), changed)
        case Transit():
            move: dict[str, Any] = {"transition": {"id": write.transition_id}}
            if write.fields:
                move["fields"] = dict(write.fields)
            return _write("POST", f"{API}/issue/{write.key}/transitions", _NOTHING, move)
        case CreateLink():
            ends = {"inwardIssue": {"key": write.inward}, "outwardIssue": {"key": write.outward}}
            expect = Expect(frozenset({201}), shape="none")
            return _write("POST", f"{API}/issueLink", expect, {"type": {"id": write.type_id}, **ends})
        case DeleteLink():
            return _write("DELETE", f"{API}/issueLink/{write.link_id}", _NOTHING, None)
        case MoveToSprint():
            place = "backlog" if write.sprint_id is None else f"sprint/{write.sprint_id}"
            return _write("POST", f"{AGILE}/{place}/issue", _NOTHING, {"issues": [write.key]})
        case _:
            assert_never(write)


def _write(method: str, path: str, expect: Expect, body: Mapping[str, Any] | None) -> JiraRequest:
    return JiraRequest(method, path, "write", expect, body)


def said(write: Write) -> str:
    """The write in a few words, for the report and the journal: no texts of people's in it."""
    request = request_of(write)
    match write:
        case EditIssue():
            return f"{request.text} ({', '.join([*write.fields, *write.update])})"
        case Transit():
            return f"{request.text} ({write.to})"
        case CreateLink():
            return f"{request.text} ({write.inward} → {write.outward})"
        case DeleteLink():
            return f"{request.text} ({write.what})"
        case _:
            return request.text


CREATION: Final = said(CreateIssue({}))  # what a creation is called in the journal, whatever it creates
