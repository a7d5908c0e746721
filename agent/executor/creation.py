"""Executor of `ensure_issue`: an issue is created once, whatever dies or lags in between."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from agent.differences.issue import Candidate, Found, differing, issue_difference, left_out, namesakes, ours
from agent.differences.refresh import issue_state, mirror_fields
from agent.executor.reading import issue_request, read_issue, search, try_issue
from agent.executor.work import CommandFailed, EnvironmentBlocked, Work, bring_about
from agent.jql import own_recent_issues, own_with_label, these_keys
from agent.outcomes import Outcome
from agent.writes import CREATION, PROPERTY, CreateIssue, Write
from protocol.commands import EnsureIssue
from protocol.issues import IssueState
from protocol.keys import number_of, project_of

Result = dict[str, Any]
# Issues that are asked for their identity, the newest first. Since a first delivery hardly any is made: the agent makes
# one at a time. A command with a past may have had its effect before the whole batch it belongs to.
MAX_ASKED: Final = 20
MAX_ASKED_OF_THE_PAST: Final = 50
INDEX_ROUNDS: Final = 5  # settle windows to wait for a search index that does not show what we know is there


def ensure_issue(work: Work, want: EnsureIssue) -> Result:
    """Search, create if there is none of ours, then set what the creation had to leave out."""
    result: Result = {}
    if work.created_key is None:
        bring_about(work, _creation(work, want, result))
    if work.created_key is not None:
        # Jira's own word about what it created; also after a crash between the creation and what follows it.
        result = {**result, "key": work.created_key, **_second_issue(work, want)}
    key = str(result["key"])
    if not result.get("existed_before"):
        try:
            bring_about(work, _rest(work, want, key))
        except CommandFailed as failed:
            failed.known["key"] = key  # the issue is there, whatever became of its epic: the hub must know (P8)
            raise
    return result


def _creation(work: Work, want: EnsureIssue, result: Result) -> Callable[[], tuple[Write, ...]]:
    def missing() -> tuple[Write, ...]:
        found = _find(work, want)
        if found is not None:
            result.clear()
            result.update(_told(work, want, found))
            if not found.existed_before:
                work.settle(done=True, created_key=found.candidate.state.key)
            return ()
        if work.made_key is not None and try_issue(work, work.made_key, ["summary"]).outcome is Outcome.OK:
            # An earlier command of this root made it, and the index is late; had a person deleted it, it would be 404.
            result["key"] = work.made_key
            return ()
        return tuple(
            write
            for write in issue_difference(work.site, want, work.delivery.identity, None)
            if isinstance(write, CreateIssue)
        )

    return missing


def _find(work: Work, want: EnsureIssue) -> Found | None:
    """Our issue, by identity and by the seeds' rule; an empty answer counts only if the index lives.

    With a creation of unknown outcome behind us, by this command or an earlier one of its root, "not found" from an
    index that does not show an issue we know of means nothing (H1): wait and search again. Delivered before, or with
    a past (H3), and nothing of it in the journal: the journal may be lost and the issue made by a life before
    it, so here too the first "not found" is not the last word, however short the gap.
    """
    doubted = (work.delivery.delivery > 1 or _has_past(work)) and not work.tried_to_create
    for _ in range(INDEX_ROUNDS):
        issues = search(work, own_recent_issues(work.site.project, work.age_seconds), mirror_fields(work.site))
        candidates = [_candidate(work, issue) for issue in issues]
        found = ours(work.delivery.identity, _identified(work, want, candidates), tried=work.tried_to_create)
        found = found or _renamed(work, candidates)
        trusted = work.unsettled is None or _index_lives(work, issues)
        if found is not None or (trusted and not doubted):
            return found
        doubted = not trusted  # one that is catching up shows the older issue first, and a moment later ours
        work.wait_once_more()
    raise EnvironmentBlocked(Outcome.UNKNOWN, "индекс поиска Jira не показывает задач, которые точно есть")


def _candidate(work: Work, issue: Any) -> Candidate:
    return Candidate(issue_state(work.site, issue), str((issue["fields"].get("issuetype") or {}).get("id", "")))


def _identified(work: Work, want: EnsureIssue, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The namesakes with the identities they carry: one more GET each, as a search does not return properties."""
    same = namesakes(work.site, want, candidates)
    if work.delivery.identity is None:
        return same
    return tuple(Candidate(one.state, one.type_id, _identity(work, one.state)) for one in same)


def _identity(work: Work, state: IssueState) -> str | None:
    """Which command made it, by its label or else by the property that Jira is asked for, once."""
    if _label(work, state) is None and state.key not in work.identities:
        work.identities[state.key] = _property(work, state.key)
    return _known_identity(work, state)


def _known_identity(work: Work, state: IssueState) -> str | None:
    return _label(work, state) or work.identities.get(state.key)


def _label(work: Work, state: IssueState) -> str | None:
    labels = state.labels if work.site.identity_label else ()
    return next((label for label in labels if label.startswith("jh:")), None)


def _property(work: Work, key: str) -> str | None:
    found = work.try_read(issue_request(key, ["summary"], properties=PROPERTY))
    if found.outcome is not Outcome.OK:
        return None
    value = (found.json.get("properties") or {}).get(PROPERTY)
    identity = value.get("identity") if isinstance(value, dict) else None
    return identity if isinstance(identity, str) else None


def _has_past(work: Work) -> bool:
    """Whether the issue may be older than this command's first delivery: an earlier command has this identity (the
    number in it is the root's), or the hub was restored and may have forgotten what came of this one.
    """
    identity = work.delivery.identity
    retried = identity is not None and not identity.endswith(f":{work.delivery.id}")
    return retried or work.delivery.restored


def _renamed(work: Work, candidates: Sequence[Candidate]) -> Found | None:
    """Ours under another summary (H5): a person may have renamed it between its creation and this rerun of it.

    However young the command is said to be, for clocks go back. Of several the oldest: a clone bears its label too.
    """
    identity, has_past = work.delivery.identity, _has_past(work)
    if identity is None or work.made_key or not (has_past or work.tried_to_create or work.delivery.delivery > 1):
        return None
    states = sorted((one.state for one in candidates), key=lambda state: number_of(state.key))
    own = next((state for state in states if _known_identity(work, state) == identity), None)
    if own is None:
        silent = [state for state in reversed(states) if _label(work, state) is None]
        asked = silent[: MAX_ASKED_OF_THE_PAST if has_past else MAX_ASKED]
        own = next((state for state in asked if _identity(work, state) == identity), None)
    return None if own is None else Found(Candidate(own, type_id=""), existed_before=False, also_found=())


def _index_lives(work: Work, issues: Sequence[Any]) -> bool:
    witness = work.newest_own_key
    if witness is None or any(issue.get("key") == witness for issue in issues):
        return True
    # After quiet days it is too old for that search, or an automation has changed whose it is: asked for by its key.
    if search(work, these_keys([witness]), ["created"], validate=False):
        return True
    known = try_issue(work, witness, ["created"])
    # Deleted or moved away by a person: it witnesses nothing any more.
    return known.outcome is not Outcome.OK or project_of(str(known.json["key"])) != work.site.project


def _told(work: Work, want: EnsureIssue, found: Found) -> Result:
    state = found.candidate.state
    told: Result = {"key": state.key, "created": state.created, "existed_before": found.existed_before}
    differs = differing(work.site, want, state)
    return {
        name: value
        for name, value in {**told, "differs": list(differs), "also_found": list(found.also_found)}.items()
        if value
    }


def _rest(work: Work, want: EnsureIssue, key: str) -> Callable[[], tuple[Write, ...]]:
    """What creating left out. Nothing can be left out where neither an epic nor an assignee is wished: no reading."""
    fresh = [IssueState(key=key)] if want.assignee is None and CREATION in work.written else []

    def missing() -> tuple[Write, ...]:
        if not left_out(work.site, want, IssueState(key=key)):
            return ()
        # Just created, and only the epic to set: what Jira would show is known.
        have = fresh.pop() if fresh else issue_state(work.site, read_issue(work, key, mirror_fields(work.site)))
        return left_out(work.site, want, have)

    return missing


def _second_issue(work: Work, want: EnsureIssue) -> Result:
    """One search by identity after a creation, where the label makes that possible: two are an alarm (H16, H17)."""
    identity = work.delivery.identity
    if identity is None or not work.site.identity_label:
        return {}
    found = search(work, own_with_label(work.site.project, identity), ["summary"])
    keys = sorted(str(issue["key"]) for issue in found if issue.get("key") != work.created_key)
    return {"alarm": f"с этой меткой есть ещё задачи: {', '.join(keys)}"} if keys else {}


def look_up(work: Work, want: EnsureIssue) -> Result | None:
    """A read-only search for an issue that may have been created before the command was cancelled (H13)."""
    if work.made_key is not None:
        return {"key": work.made_key}
    work.wait_settled()  # a creation may still take effect although nobody wants it any more (H15)
    found = _find(work, want)
    if found is None or found.existed_before:
        return None
    key = found.candidate.state.key
    work.settle(done=True, created_key=key)
    return {"key": key}
