"""Executors of the commands that change an issue that is there: fields, comment, status, link, sprint."""

from typing import Any

from agent.differences.comment import Comment, comment_difference, comment_from, marked
from agent.differences.fields import fields_difference, only_texts
from agent.differences.link import link_difference, managed_links
from agent.differences.refresh import issue_state
from agent.differences.sprint import Sprint, is_there, sprint_difference, sprint_from_object, sprints_of
from agent.differences.status import Status, next_target, status_difference, transition_from
from agent.executor.reading import board_sprints, comments, read_issue, try_issue
from agent.executor.work import CommandFailed, Refused, Work, bring_about
from agent.outcomes import Expect, JiraRequest, Outcome
from agent.site import LinkType
from agent.writes import API, Transit, Write, said
from protocol.commands import EnsureComment, EnsureFields, EnsureLink, EnsureSprint, EnsureStatus
from protocol.keys import project_of

Result = dict[str, Any]


def ensure_fields(work: Work, want: EnsureFields) -> Result:
    """One GET; one PUT if anything differs."""
    result: Result = {}

    def missing() -> tuple[Write, ...]:
        have = issue_state(work.site, read_issue(work, want.key, _fields_read(work, want)))
        result.update(_key_now(want.key, have.key))
        writes = fields_difference(work.site, want, have)
        if only_texts(writes) and {said(write) for write in writes} <= set(work.written):
            # We wrote it and Jira made it into something else: writing it again would never end.
            result["normalised_by_jira"] = True
            return ()
        return writes

    bring_about(work, missing)
    return result


def _fields_read(work: Work, want: EnsureFields) -> list[str]:
    site = work.site
    custom = {
        "epic_key": site.epic_link_field,
        "planned_start": site.planned_start_field,
        "planned_end": site.planned_end_field,
        "labels_add": "labels",
        "labels_remove": "labels",
    }
    names = (custom.get(name, name) for name in sorted(want.model_fields_set - {"type", "key"}))
    return list(dict.fromkeys(name for name in names if name is not None)) or ["summary"]


def _key_now(asked: str, shown: str) -> Result:
    return {} if asked == shown else {"key_now": shown}


def ensure_comment(work: Work, want: EnsureComment) -> Result:
    """All pages of the comments; one PUT or POST if ours does not say it.

    Delivered before, and nothing of it in the journal: a POST of a life before it may still be under way, so the first
    look that finds none of ours is not the last one.
    """
    result: Result = {}
    doubted = work.delivery.delivery > 1 and not work.tried_to_create

    def looked() -> list[Comment]:
        return [comment_from(work.site, found) for found in comments(work, want.key)]

    def missing() -> tuple[Write, ...]:
        nonlocal doubted
        have = looked()
        if doubted and not marked(want, have):
            doubted = False
            work.wait_once_more()
            have = looked()
        also = [one.id for one in marked(want, have)[1:]]
        if also:
            result["also_found"] = also
        return comment_difference(want, want.key, have)

    bring_about(work, missing)
    return result


def ensure_status(work: Work, want: EnsureStatus) -> Result:
    """Along the path; after each transition the status is read again, for a post-function may have moved it on.

    A validator may demand a field that no screen lists: where a default for it is configured, that very transition is
    posted once more with it, for a refused one has moved nothing (B20).
    """
    walk = _Walk(work, want)
    while True:
        try:
            bring_about(work, walk.missing, step_by_step=True, rounds=2 * len(want.path) + 4)
            return walk.result
        except Refused as refused:
            if not walk.can_answer(str(refused)):
                raise


class _Walk:
    """One path being walked."""

    def __init__(self, work: Work, want: EnsureStatus) -> None:
        self.result: Result = {}
        self._work = work
        self._want = want
        self._looked = False
        self._last: Transit | None = None
        self._demanded: dict[str, tuple[str, ...]] = {}  # by transition

    def missing(self) -> tuple[Write, ...]:
        work, want, site = self._work, self._want, self._work.site
        # The first look is a plain one; later ones bring the next transitions along.
        expand = {"expand": "transitions.fields"} if self._looked else {}
        self._looked = True
        issue = read_issue(work, want.key, ["status"], **expand)
        key = str(issue["key"])
        raw = issue["fields"].get("status") or {}
        current = Status(str(raw.get("id", "")), str(raw.get("name", "")))
        self.result.update({"status": current.name, **_key_now(want.key, key)})
        if next_target(want, current, site.statuses) is None:
            return ()
        found = issue.get("transitions")
        if not isinstance(found, list):
            found = work.read(_transitions_of(key))["transitions"]
        writes = status_difference(
            want,
            key,
            current,
            [transition_from(one) for one in found],
            site.transition_defaults,
            known=site.statuses,
            demanded=self._demanded,
        )
        self._last = next((write for write in writes if isinstance(write, Transit)), None)
        return writes

    def can_answer(self, refusal: str) -> bool:
        """Whether the refusal names fields that have a default and were not sent: they are, the next time."""
        last, text = self._last, refusal.casefold()
        if last is None or last.transition_id in self._demanded:
            return False
        unsent = set(self._work.site.transition_defaults) - set(last.fields)
        named = tuple(sorted(name for name in unsent if name.casefold() in text))
        if named:
            self._demanded[last.transition_id] = named
        return bool(named)


def _transitions_of(key: str) -> JiraRequest:
    return JiraRequest(
        "GET",
        f"{API}/issue/{key}/transitions",
        "read",
        Expect(keys=("transitions",)),
        query=(("expand", "transitions.fields"),),
    )


def ensure_link(work: Work, want: EnsureLink) -> Result:
    """One GET of the source; deletions and one POST as needed."""
    wanted = work.site.link_type(want.link_type)
    if wanted is None:
        known = ", ".join(f"«{one.logical}»" for one in work.site.link_types) or "ни одного"
        raise CommandFailed(f"агент не знает типа связи «{want.link_type}»; настроены: {known}")
    managed: LinkType = wanted
    result: Result = {}

    def missing() -> tuple[Write, ...]:
        issue = read_issue(work, want.source, ["issuelinks"])
        source = str(issue["key"])
        result.update(_key_now(want.source, source))
        have = managed_links(work.site, source, issue["fields"].get("issuelinks") or ())
        others = {end for link in have for end in (link.inward, link.outward)} - {source}
        target = want.target
        if target not in others and any(project_of(other) != project_of(target) for other in others):
            target = _key_of_today(work, target)  # one of the links may lead to it under the key it moved to
        return link_difference(managed, source, target, have, replace=want.replace)

    bring_about(work, missing)
    return result


def _key_of_today(work: Work, key: str) -> str:
    found = try_issue(work, key, ["issuetype"])
    return str(found.json["key"]) if found.outcome is Outcome.OK else key


def ensure_sprint(work: Work, want: EnsureSprint) -> Result:
    """One GET if it is there; else the board's sprints, all pages, and one POST."""
    field, board = work.site.sprint_field, work.site.board_id
    if field is None:
        raise CommandFailed("у этой Jira нет поля спринта: задайте sprint_field_id в настройке агента")
    sprint_field: str = field
    result: Result = {}

    def missing() -> tuple[Write, ...]:
        issue = read_issue(work, want.key, [sprint_field])
        key = str(issue["key"])
        result.update(_key_now(want.key, key))
        current = sprints_of(issue["fields"].get(sprint_field))
        if is_there(want, current):
            return ()
        if want.sprint == "backlog":
            return sprint_difference(want, key, current, ())
        if board is None:
            raise CommandFailed("в настройке агента нет board_id: спринты искать негде")
        return sprint_difference(want, key, current, _open_sprints(work, board))

    bring_about(work, missing)
    return result


def _open_sprints(work: Work, board: int) -> list[Sprint]:
    """The board's; a Kanban board either refuses to tell or has none (G-38)."""
    try:
        found = [sprint_from_object(dict(one)) for one in board_sprints(work, board)]
    except Refused as refused:
        raise CommandFailed(f"на доске {board} нет спринтов: {refused}") from refused
    there = [one for one in found if one is not None and one.is_open]
    if not there:
        raise CommandFailed(f"на доске {board} нет активных и будущих спринтов")
    return there
