"""Learning what this Jira calls things: a handful of readings at the start, kept on the local disk for a day.

They are no command's calls, but calls all the same: journalled, and the next command's gap counts from them.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from agent.executor.work import EnvironmentBlocked
from agent.files import replace_file
from agent.outcomes import Expect, JiraRequest, Outcome
from agent.pacer import Pacer
from agent.ports import Jira
from agent.site import Learnt, Site, Wanted, issue_type, site_of
from agent.writes import API
from relay.ports import Clock

MAX_AGE: Final = 86_400.0  # seconds; fields and link types change by an administrator's hand
MAX_CACHE: Final = 8 * 2**20
_SAID_NO: Final = frozenset({Outcome.REFUSED, Outcome.FORBIDDEN})

MYSELF: Final = JiraRequest("GET", f"{API}/myself", "read", Expect(keys=("name",)))


class SiteSource(Protocol):
    """Where the runner gets its `Site`; may raise `EnvironmentBlocked` and `SiteFault`."""

    def site(self) -> Site: ...

    def forget(self) -> None:
        """Learn anew next time: the token may be another user's now."""
        ...


def listing(path: str, *, keys: tuple[str, ...] = ()) -> JiraRequest:
    expect = Expect(keys=keys) if keys else Expect(shape="array")
    return JiraRequest("GET", f"{API}/{path}", "read", expect)


def create_screen(project: str, type_id: str) -> JiraRequest:
    """The fields of a create screen, since 8.4; all of them on one page."""
    path = f"{API}/issue/createmeta/{project}/issuetypes/{type_id}"
    return JiraRequest("GET", path, "read", Expect(keys=("values",)), query=(("maxResults", "200"),))


class LearntSite:
    """The `Site` of a configuration, learnt from Jira or from the copy of an earlier start (`SiteSource`)."""

    def __init__(
        self,
        wanted: Wanted,
        url: str,
        cache: Path,
        *,
        jira: Jira,
        pacer: Pacer,
        clock: Clock,
        gap_seconds: float,
        whose: str = "",
    ) -> None:
        self._wanted = wanted
        self._url = url
        self._whose = whose
        self._cache = cache
        self._jira = jira
        self._pacer = pacer
        self._clock = clock
        self._gap_seconds = gap_seconds

    def site(self) -> Site:
        raw = self._cached()
        if raw is None:
            raw = self._asked()
            self._keep(raw)
        return site_of(self._wanted, Learnt(**raw))

    def forget(self) -> None:
        self._cache.unlink(missing_ok=True)

    def _asked(self) -> dict[str, Any]:
        # One gap, then one after another, as the readings of a command do.
        self._pacer.wait_gap(self._gap_seconds)
        myself = self._get(MYSELF)  # first: with a bad token each further call feeds the lock counter
        project = self._wanted.project
        types = self._optional(listing(f"issue/createmeta/{project}/issuetypes", keys=("values",)))
        if types is None:
            # Before 8.4 the path above does not exist; the project tells its types in every version.
            types = self._optional(listing(f"project/{project}", keys=("issueTypes",)))
        links = self._optional(listing("issueLinkType", keys=("issueLinkTypes",)))
        known_types = (types or {}).get("values") or (types or {}).get("issueTypes") or []
        return {
            "myself": myself,
            "fields": self._get(listing("field")),
            "priorities": self._optional(listing("priority")) or [],
            "statuses": self._optional(listing("status")) or [],
            "issue_types": known_types,
            "link_types": (links or {}).get("issueLinkTypes") or [],  # 404 where linking is switched off
            "create_fields": self._create_fields(known_types),
        }

    def _create_fields(self, known_types: list[Any]) -> list[Any]:
        """What a task's create screen takes; asked for only where the way of the epic is left to us."""
        if self._wanted.epic_mode is not None or "task" not in self._wanted.issue_types:
            return []
        task = issue_type("task", self._wanted.issue_types["task"], known_types)
        found = self._optional(create_screen(self._wanted.project, task.jira_id))
        return list((found or {}).get("values") or [])

    def _get(self, request: JiraRequest) -> Any:
        found = self._jira.send(request)
        if found.outcome is not Outcome.OK:
            raise EnvironmentBlocked(found.outcome, found.text, found.wait_seconds)
        return found.json

    def _optional(self, request: JiraRequest) -> Any:
        found = self._jira.send(request)
        if found.outcome is Outcome.OK:
            return found.json
        if found.outcome in _SAID_NO:
            return None
        raise EnvironmentBlocked(found.outcome, found.text, found.wait_seconds)

    def _stamp(self) -> dict[str, Any]:
        """What the copy depends on: of another user it would take our own comments for somebody else's."""
        wanted = self._wanted
        asked = [wanted.project, wanted.epic_mode, list(wanted.issue_types.get("task", ()))]
        return {"url": self._url, "user": self._whose, "asked": asked}

    def _cached(self) -> dict[str, Any] | None:
        try:
            if self._cache.stat().st_size > MAX_CACHE:
                return None
            found = json.loads(self._cache.read_bytes())
        except (OSError, ValueError):
            return None
        if not isinstance(found, dict) or found.get("stamp") != self._stamp():
            return None
        age = self._clock.wall() - found.get("at", 0)
        learnt = found.get("learnt")
        fresh = 0 <= age <= MAX_AGE and isinstance(learnt, Mapping) and set(learnt) == set(Learnt.__slots__)
        return dict(learnt) if fresh and learnt is not None else None

    def _keep(self, raw: Mapping[str, Any]) -> None:
        text = json.dumps({"stamp": self._stamp(), "at": self._clock.wall(), "learnt": raw}, ensure_ascii=False)
        replace_file(self._cache, [text.encode()])
