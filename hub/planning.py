"""What a batch would change, command by command, as far as the mirror can tell. Pure: nothing is read or written here.

Commands are followed in their order: each is compared with the mirror as the ones before it would leave it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Final, Literal

from hub.differences import (
    Change,
    conflicting_links,
    field_changes,
    labels_after,
    link_is_there,
    sprint_matches,
)
from hub.errors import Said
from hub.likeness import Similar
from hub.pacing import Policy, estimate_seconds, gap_of
from hub.searching import nearest_shown
from protocol.commands import (
    BACKLOG,
    AnyCommand,
    EnsureComment,
    EnsureFields,
    EnsureIssue,
    EnsureLink,
    EnsureSprint,
    EnsureStatus,
    Refresh,
    SprintId,
    comment_text,
)
from protocol.issues import IssueLink, IssueState
from protocol.keys import is_temporary

Mark = Literal["=", "~", "+", "!", "?"]  # nothing to do, change, create, will fail, the mirror cannot tell
PAGE: Final = 100  # issues of one search of a refresh
ENOUGH_STATUSES: Final = 3  # a mirror that shows fewer has seen too little of the workflow to call a name wrong
# What the agent reads before it decides: the issue; for a sprint also the board's list; for a comment its pages.
_READS: Final = {"ensure_sprint": 2}


@dataclass(frozen=True, slots=True)
class Known:
    """What the mirror knows of everything a batch touches, by the keys the batch uses.

    `moved` leads from an old key to the new one, whose state stands in `issues` under both where it was read.
    `statuses` and `priorities` are all that any issue has, `sprints` the ids by the name of the sprint, `similar` open
    issues by the temporary key of the creation they are like.
    """

    issues: Mapping[str, IssueState] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    moved: Mapping[str, str] = field(default_factory=dict)
    similar: Mapping[str, Similar] = field(default_factory=dict)
    statuses: frozenset[str] = frozenset()
    priorities: frozenset[str] = frozenset()
    sprints: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """The plan of one command. `why` explains `!` and `?`, remarks on the rest; `writes` is the most there can be."""

    mark: Mark
    changes: tuple[Change, ...] = ()
    why: Said | None = None
    similar: Similar | None = None
    reads: int = 1
    writes: int = 0


def plan_entries(commands: Sequence[AnyCommand], known: Known) -> tuple[Entry, ...]:
    """One entry for each command."""
    issues = dict(known.issues)
    return tuple(_entry(command, issues, known) for command in commands)


def plan_seconds(policy: Policy, commands: Sequence[AnyCommand], entries: Sequence[Entry]) -> float:
    """The batch's estimate, and the gaps between several writes of one command."""
    between = sum(
        (entry.writes - 1) * gap_of(policy, command.type)
        for command, entry in zip(commands, entries, strict=True)
        if entry.writes > 1
    )
    return estimate_seconds(policy, (command.type for command in commands)) + between


def digest_of(commands: Sequence[AnyCommand], entries: Sequence[Entry], known: Known) -> str:
    """A name for the plan: the same as long as the batch and all that the mirror shows of it stay the same.

    When it was read does not count, and `updated` does not: a comment by somebody is no reason to plan again.
    """
    document = [
        [[command.type, command.params()] for command in commands],
        [
            [entry.mark, [[change.field, change.old, change.new] for change in entry.changes], _plain(entry)]
            for entry in entries
        ],
        {key: issue.model_dump(mode="json", exclude={"updated"}) for key, issue in sorted(known.issues.items())},
        sorted(known.missing),
        sorted(known.moved.items()),
    ]
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _plain(entry: Entry) -> list[str | None]:
    return [entry.why.en if entry.why else None, entry.similar.key if entry.similar else None]


def _entry(command: AnyCommand, issues: dict[str, IssueState], known: Known) -> Entry:
    """The entry; `issues` is brought to what it would be afterwards."""
    match command:
        case EnsureIssue():
            return _creation(command, issues, known)
        case Refresh():
            pages = 1 if command.keys is None else -(-len(command.keys) // PAGE)
            return Entry("=", reads=pages)
        case EnsureLink():
            answer = _unseen(command.source, issues, known) or _lost(command.target, known)
            return answer or _link(command, issues)
        case EnsureFields() | EnsureComment() | EnsureStatus() | EnsureSprint():
            entry = _unseen(command.key, issues, known) or _of_issue(command, issues, known)
            entry = replace(entry, reads=_READS.get(command.type, 1))
            moved = known.moved.get(command.key)
            if moved is not None and entry.why is None:
                return replace(entry, why=Said(f"{command.key} is {moved} now", f"{command.key} теперь {moved}"))
            return entry


def _of_issue(
    command: EnsureFields | EnsureComment | EnsureStatus | EnsureSprint, issues: dict[str, IssueState], known: Known
) -> Entry:
    have = issues[command.key]
    match command:
        case EnsureFields():
            epic = _lost(command.epic_key, known) if command.epic_key else None
            if epic is not None:
                return epic
            changes = field_changes(command, have)
            wanted = {name: getattr(command, name) for name in command.model_fields_set if name in _FIELDS}
            issues[command.key] = have.model_copy(update={**wanted, "labels": labels_after(command, have)})
            return Entry("~", changes, _unheard_priority(command.priority, known), writes=1) if changes else Entry("=")
        case EnsureComment():
            return _comment(command)
        case EnsureStatus():
            return _status(command, have, issues, known)
        case EnsureSprint():
            return _sprint(command, have, issues, known)


_FIELDS: Final = frozenset(EnsureFields.model_fields) - {"type", "key", "labels_add", "labels_remove"}


def _creation(command: EnsureIssue, issues: dict[str, IssueState], known: Known) -> Entry:
    epic = _lost(command.epic_key, known) if command.epic_key else None
    if epic is not None:
        return epic
    params: dict[str, Any] = command.params()
    params.pop("temp_key")
    labels = tuple(params.get("labels", ()))
    # The kind is a logical name here and Jira's in the mirror; the initial status is the workflow's to choose.
    wanted = {name: value for name, value in params.items() if name != "issue_type"}
    issues[command.temp_key] = IssueState.model_construct(key=command.temp_key, **{**wanted, "labels": labels})
    changes = tuple(Change(name, None, value) for name, value in params.items() if value not in (None, [], ""))
    why = _unheard_priority(command.priority, known)
    return Entry("+", changes, why, similar=known.similar.get(command.temp_key), writes=1)


def _unheard_priority(name: str | None, known: Known) -> Said | None:
    """A remark: the mirror need not show every priority there is, so only one that is much like another is doubted."""
    if name is None or name in known.priorities:
        return None
    near = nearest_shown(name, known.priorities)
    return near and Said(
        f"no issue of the mirror has the priority «{name}»; {near.en}",
        f"в зеркале нет задач с приоритетом «{name}»; {near.ru}",
    )


def _comment(command: EnsureComment) -> Entry:
    change = Change("comment", None, comment_text(command.marker, command.body))
    if is_temporary(command.key):
        return Entry("~", (change,), writes=1)
    why = Said("comments are not in the mirror", "комментариев в зеркале нет")
    return Entry("?", (change,), why, writes=1)


def _status(command: EnsureStatus, have: IssueState, issues: dict[str, IssueState], known: Known) -> Entry:
    path = command.path
    if have.status == path[-1]:
        return Entry("=")
    unheard = [name for name in path if name not in known.statuses]
    if unheard and len(known.statuses) >= ENOUGH_STATUSES:
        return Entry("!", why=_no_transition(have, unheard[0], known))
    steps = path[path.index(have.status) + 1 :] if have.status in path else path
    issues[command.key] = have.model_copy(update={"status": path[-1], "status_id": None})
    changes = tuple(Change("status", old, new) for old, new in zip((have.status, *steps[:-1]), steps, strict=True))
    return Entry("~", changes, writes=len(steps))


def _no_transition(have: IssueState, name: str, known: Known) -> Said:
    near = nearest_shown(name, known.statuses)
    said = Said(
        f"no transition to «{name}» from «{have.status or 'its first status'}»: nothing in the mirror stands in it",
        f"нет перехода в «{name}» из «{have.status or 'начального статуса'}»: в зеркале такого статуса нет",
    )
    return Said(f"{said.en}; {near.en}", f"{said.ru}; {near.ru}") if near else said


def _link(command: EnsureLink, issues: dict[str, IssueState]) -> Entry:
    source, target = issues[command.source], issues.get(command.target)
    links = (*source.links, *(link for link in (target.links if target else ()) if link not in source.links))
    there, extra = link_is_there(command, links), conflicting_links(command, links)
    found = ", ".join(f"{link.source} {link.link_type} {link.target}" for link in extra)
    if extra and not command.replace:
        return Entry("!", why=Said(f"there is another link: {found}", f"уже есть другая связь: {found}"))
    if there and not extra:
        return Entry("=")
    wanted = IssueLink.model_construct(
        source=command.source, target=command.target, link_type=command.link_type, managed=True
    )
    kept = [link for link in links if link not in extra]
    after = (*kept, *(() if there else (wanted,)))
    for key, issue in ((command.source, source), (command.target, target)):
        if issue is not None:
            mine = tuple(link for link in after if key in (link.source, link.target))
            issues[key] = issue.model_copy(update={"links": mine})
    new = f"{command.source} {command.link_type} {command.target}"
    return Entry("~", (Change("link", found or None, new),), writes=len(extra) + (not there))


def _sprint(command: EnsureSprint, have: IssueState, issues: dict[str, IssueState], known: Known) -> Entry:
    if sprint_matches(command, have):
        return Entry("=")
    if isinstance(command.sprint, SprintId):
        number = command.sprint.id
        name = next((name for name, ids in known.sprints.items() if number in ids), None)
        update = {"sprint": name, "sprint_id": number}
        change = Change("sprint", have.sprint, name or f"id {number}")
        why = None
    elif command.sprint == BACKLOG:
        update = {"sprint": None, "sprint_id": None}
        change = Change("sprint", have.sprint, BACKLOG)
        why = None
    else:
        ids = known.sprints.get(command.sprint, ())
        if len(ids) > 1:
            return Entry("!", why=_ambiguous(command.sprint, ids))
        update = {"sprint": command.sprint, "sprint_id": ids[0] if ids else None}
        change = Change("sprint", have.sprint, command.sprint)
        why = None if command.sprint in known.sprints else _unheard_sprint(command.sprint, known)
    issues[command.key] = have.model_copy(update=update)
    return Entry("~", (change,), why, writes=1)


def _ambiguous(name: str, ids: tuple[int, ...]) -> Said:
    listed = ", ".join(map(str, sorted(ids)))
    way_out = f'{{"id": {min(ids)}}}'
    return Said(
        f"several sprints are called «{name}»: {listed}; name one as {way_out}",
        f"спринтов с именем «{name}» несколько: {listed}; укажите один как {way_out}",
    )


def _unheard_sprint(name: str, known: Known) -> Said:
    """No proof of a fault: a sprint that nothing is in yet is in no mirror either."""
    near = get_close_matches(name, sorted(known.sprints), n=1, cutoff=0.6)
    said = Said(f"no issue of the mirror is in «{name}»", f"в зеркале никого нет в «{name}»")
    return said if not near else Said(f"{said.en}; like it: «{near[0]}»", f"{said.ru}; похож: «{near[0]}»")


def _unseen(key: str, issues: Mapping[str, IssueState], known: Known) -> Entry | None:
    """The entry of a command whose issue is gone, or unknown; None where its state is known."""
    lost = _lost(key, known)
    if lost is not None or key in issues:
        return lost
    if is_temporary(key):
        return Entry("!", why=Said(f"{key} will not be created", f"{key} не будет создан"))
    moved = known.moved.get(key)
    name = key if moved is None else f"{moved} ({key})"
    return Entry("?", why=Said(f"{name} is not in the mirror", f"{name} нет в зеркале"), writes=1)


def _lost(key: str, known: Known) -> Entry | None:
    if key not in known.missing:
        return None
    return Entry("!", why=Said(f"{key} is not in Jira any more", f"{key} больше нет в Jira"))
