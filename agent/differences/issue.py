"""Creating an issue once: which of the found issues is ours, and what is still to write. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent.differences.fields import created_fields, fields_difference
from agent.site import Site
from agent.writes import CreateIssue, Write
from protocol.commands import EnsureFields, EnsureIssue
from protocol.issues import IssueState
from protocol.text import normalised_summary


@dataclass(frozen=True, slots=True)
class Candidate:
    """An issue of ours, young enough. `identity` is None where it carries none, or none was asked for."""

    state: IssueState
    type_id: str
    identity: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Our issue. `existed_before`: by the seeds' rule alone, nothing proves that this command made it."""

    candidate: Candidate
    existed_before: bool
    also_found: tuple[str, ...]


def namesakes(site: Site, want: EnsureIssue, found: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Those with exactly the wanted summary and type, oldest first. An epic «Отчёт» is no task «Отчёт»."""
    wanted_type = site.issue_types.get(want.issue_type)
    same = [
        one
        for one in found
        if normalised_summary(one.state.summary) == want.summary
        and (wanted_type is None or one.type_id == wanted_type.jira_id)
    ]
    return tuple(sorted(same, key=_age))


def _age(candidate: Candidate) -> tuple[int, str]:
    # Ids are given in order of creation; times depend on the server's zone and may be equal.
    number = candidate.state.jira_id or ""
    return (int(number) if number.isascii() and number.isdigit() else 0, candidate.state.key)


def ours(identity: str | None, candidates: Sequence[Candidate], *, tried: bool) -> Found | None:
    """The issue that answers for this command.

    Own identity first; then the seeds' rule among those that carry none. An issue with another identity is another
    command's, however alike it looks (H6): last week's «Отчёт». A hub that gives no identities leaves the rule alone;
    having `tried` to create makes what it finds ours then.
    """
    own = [one for one in candidates if identity is not None and one.identity == identity]
    plain = [one for one in candidates if one.identity is None]
    eligible = own or plain
    if not eligible:
        return None
    rest = tuple(one.state.key for one in [*own, *plain] if one is not eligible[0])
    return Found(eligible[0], existed_before=not own and not (identity is None and tried), also_found=rest)


def issue_difference(site: Site, want: EnsureIssue, identity: str | None, found: Found | None) -> tuple[Write, ...]:
    """The creation, if there is no issue of ours; what creating may have left out, if it is ours for sure."""
    if found is None:
        return (CreateIssue(created_fields(site, want, identity), identity),)
    return () if found.existed_before else left_out(site, want, found.candidate.state)


def left_out(site: Site, want: EnsureIssue, have: IssueState) -> tuple[Write, ...]:
    """What the creation could not or did not set: an epic that is not on the create screen, an ignored assignee."""
    params = {
        name: value
        for name, value in (("epic_key", want.epic_key), ("assignee", want.assignee))
        if value is not None and (name != "epic_key" or site.epic_mode != "create")
    }
    return fields_difference(site, _fields_command(have.key, params), have) if params else ()


def differing(site: Site, want: EnsureIssue, have: IssueState) -> tuple[str, ...]:
    """Fields of a found issue that are not as wished: told, not overwritten, a person may have changed them."""
    names = want.model_fields_set - {"type", "temp_key", "issue_type", "summary", "labels"}
    given = {name: value for name in sorted(names) if (value := getattr(want, name)) is not None}
    return tuple(
        name for name, value in given.items() if fields_difference(site, _fields_command(have.key, {name: value}), have)
    )


def _fields_command(key: str, params: dict[str, str]) -> EnsureFields:
    return EnsureFields.model_validate({"key": key, **params})
