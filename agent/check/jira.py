"""The probes of Jira: reachable, who we are, names, rights, screens, board. They read and change nothing."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, Protocol

from agent.config import AgentConfig
from agent.learning import MYSELF, create_screen, listing
from agent.outcomes import Answer, Expect, JiraRequest, Outcome
from agent.site import Learnt, Site, SiteFault, issue_type, site_of
from agent.writes import AGILE, API
from relay.ports import Clock
from relay.probe import Probe, State

MAX_SKEW: Final = 60.0  # seconds; the agent decides nothing by wall time, but people read it

_TODO: Final[dict[Outcome, str]] = {
    Outcome.NOT_SENT: "check jira_url, the network, the proxy and ca_file",
    Outcome.UNKNOWN: "Jira does not answer in time: try again, look at its load",
    Outcome.NOT_JIRA: "something else answers (single sign-on, a proxy): jira_url must lead to Jira itself",
    Outcome.REFUSED: "Jira refuses: check project, board_id and the rights of this user",
    Outcome.NOT_LET_IN: "log in with a browser once (CAPTCHA), then renew the token",
    Outcome.FORBIDDEN: "this user lacks the right",
    Outcome.TOO_MANY: "Jira limits this user's rate: wait, or ask for an exemption",
    Outcome.BROKEN: "Jira breaks on this request: show the text to its administrator",
    Outcome.GATEWAY: "Jira is down or in maintenance: try again later",
}

_WORDS: Final[dict[Outcome, str]] = {
    Outcome.NOT_SENT: "not sent",
    Outcome.UNKNOWN: "no whole answer",
    Outcome.NOT_JIRA: "no answer of Jira's",
    Outcome.REFUSED: "refused",
    Outcome.NOT_LET_IN: "not let in",
    Outcome.FORBIDDEN: "forbidden",
    Outcome.TOO_MANY: "too many requests",
    Outcome.BROKEN: "Jira broke",
    Outcome.GATEWAY: "Jira is not reached",
}

Send = Callable[[JiraRequest], Answer]


def _read(path: str, *keys: str, query: tuple[tuple[str, str], ...] = ()) -> JiraRequest:
    return JiraRequest("GET", path, "read", Expect(keys=keys), query=query)


def _failed(name: str, found: Answer) -> Probe:
    todo = _TODO.get(found.outcome, "")
    if "served as anonymous" in found.text:
        todo = "renew the token: Jira does not know this one and serves it as nobody"
    return Probe(name, "fail", f"{_WORDS[found.outcome]}: {found.text}", todo)


def jira_probes(config: AgentConfig, send: Send, clock: Clock) -> Iterator[Probe]:
    """What this Jira is, whom it takes us for, and whether the configuration fits it."""
    info = send(_read(f"{API}/serverInfo", "version"))
    if info.outcome is not Outcome.OK:
        yield _failed("jira", info)
        return
    yield Probe("jira", "ok", f"version {info.json['version']}, {info.json.get('deploymentType', '?')}")
    yield _clock_skew(info.json.get("serverTime"), clock)
    myself = send(MYSELF)
    if myself.outcome is not Outcome.OK:
        # Each further call with a bad token feeds the counter that locks the account.
        yield _failed("myself", myself)
        return
    about = myself.json
    yield Probe("myself", "ok", f"{about['name']}, locale {about.get('locale', '?')}, {about.get('timeZone', '?')}")
    yield Probe("rate limit", "ok", myself.rate or "this Jira tells none")
    creating = metadata_of(config.project, info.json, send)
    lists = {**{name: send(request) for name, request in _LISTS.items()}, "issue types": creating.types()}
    broken = [_failed(name, found) for name, found in lists.items() if found.outcome is not Outcome.OK]
    yield from broken
    if not broken:
        yield from _names(config, send, about, creating, {name: found.json for name, found in lists.items()})


_LISTS: Final = {
    "fields": listing("field"),
    "priorities": listing("priority"),
    "statuses": listing("status"),
    "link types": listing("issueLinkType", keys=("issueLinkTypes",)),
}


def _names(
    config: AgentConfig, send: Send, myself: Any, creating: "Creating", lists: dict[str, Any]
) -> Iterator[Probe]:
    types = lists["issue types"]["values"]
    wanted = config.wanted()
    try:
        task = issue_type("task", wanted.issue_types.get("task", ()), types)
        screen = creating.screen(task.jira_id)
        learnt = Learnt(
            myself=myself,
            fields=lists["fields"],
            priorities=lists["priorities"],
            statuses=lists["statuses"],
            issue_types=types,
            link_types=lists["link types"]["issueLinkTypes"],
            create_fields=screen.json["values"] if screen.outcome is Outcome.OK else (),
        )
        site = site_of(wanted, learnt)
    except SiteFault as error:
        yield Probe("names", "fail", str(error), "correct the configuration")
        return
    yield Probe("names", "ok", _fields_said(site))
    for link in site.link_types:
        note = "reads the same both ways: it has no direction" if link.symmetric else f"{link.direction}"
        yield Probe(f"link type «{link.logical}»", "warn" if link.symmetric else "ok", f"{link.jira_name}, {note}")
    yield _permission(config, send)
    yield from _required(config, creating, site)
    yield from _board(config, send)


class Creating(Protocol):
    """The create metadata of one project, in the shape of Jira 8.4 and later."""

    def types(self) -> Answer: ...

    def screen(self, type_id: str) -> Answer: ...


def metadata_of(project: str, server: Any, send: Send) -> Creating:
    """By the paths of this server's version: from 9.0 on the old one is taken for an issue key (B41)."""
    numbers = [one for one in server.get("versionNumbers") or () if isinstance(one, int)]
    return _Paths(project, send) if not numbers or numbers[:2] >= [8, 4] else _OnePath(project, send)


class _Paths:
    """Since 8.4: a path for the types and one for each screen."""

    def __init__(self, project: str, send: Send) -> None:
        self._project = project
        self._send = send

    def types(self) -> Answer:
        return self._send(listing(f"issue/createmeta/{self._project}/issuetypes", keys=("values",)))

    def screen(self, type_id: str) -> Answer:
        return self._send(create_screen(self._project, type_id))


class _OnePath:
    """Before that: everything in one answer, which is asked for once."""

    def __init__(self, project: str, send: Send) -> None:
        query = (("projectKeys", project), ("expand", "projects.issuetypes.fields"))
        self._found = send(_read(f"{API}/issue/createmeta", "projects", query=query))

    def types(self) -> Answer:
        return self._with_values([one for project in self._projects() for one in project.get("issuetypes") or ()])

    def screen(self, type_id: str) -> Answer:
        types = [one for project in self._projects() for one in project.get("issuetypes") or ()]
        fields = next((one.get("fields") or {} for one in types if one.get("id") == type_id), {})
        return self._with_values([{**about, "fieldId": name} for name, about in fields.items()])

    def _projects(self) -> list[Any]:
        return list(self._found.json["projects"]) if self._found.outcome is Outcome.OK else []

    def _with_values(self, values: list[Any]) -> Answer:
        if self._found.outcome is not Outcome.OK:
            return self._found
        return replace(self._found, json={"values": values})


def _fields_said(site: Site) -> str:
    known = {
        "epic link": site.epic_link_field,
        "epic name": site.epic_name_field,
        "sprint": site.sprint_field,
        "planned start": site.planned_start_field,
        "planned end": site.planned_end_field,
    }
    return ", ".join(f"{name} {value or 'none'}" for name, value in known.items())


def _permission(config: AgentConfig, send: Send) -> Probe:
    body = {"jql": f'project = "{config.project}" ORDER BY key', "startAt": 0, "maxResults": 1, "fields": ["summary"]}
    found = send(JiraRequest("POST", f"{API}/search", "read", Expect(keys=("issues",)), body))
    if found.outcome is not Outcome.OK:
        return _failed("read permission", found)
    total = found.json.get("total", 0)
    todo = "" if total else "is the project empty, or may this user not browse it?"
    return Probe("read permission", "ok" if total else "warn", f"{total} issues of {config.project}", todo)


def _required(config: AgentConfig, creating: Creating, site: Site) -> Iterator[Probe]:
    ours = {"summary", "issuetype", "project", "reporter", site.epic_name_field, *config.create_defaults}
    for name, kind in site.issue_types.items():
        found = creating.screen(kind.jira_id)
        if found.outcome is not Outcome.OK:
            yield _failed(f"create {name}", found)
            continue
        values = found.json["values"]
        missing = [
            f"{one.get('name')} ({one.get('fieldId')})"
            for one in values
            if one.get("required") and not one.get("hasDefaultValue") and one.get("fieldId") not in ours
        ]
        if missing:
            yield Probe(f"create {name}", "fail", f"required: {', '.join(missing)}", "set create_defaults for them")
        elif site.epic_mode == "create" and not _has(values, site.epic_link_field) and name != "epic":
            yield Probe(f"create {name}", "warn", "Epic Link is not on the screen", 'set epic_link.mode = "edit"')
        else:
            way = f", the epic by {site.epic_mode}" if name != "epic" else ""
            yield Probe(f"create {name}", "ok", f"{kind.name} ({kind.jira_id}){way}")


def _has(values: list[dict[str, Any]], field: str | None) -> bool:
    return field is None or any(one.get("fieldId") == field for one in values)


def _board(config: AgentConfig, send: Send) -> Iterator[Probe]:
    if config.board_id is None:
        yield Probe("board", "warn", "board_id is not set", "set it if ensure_sprint is to be used")
        return
    board = send(_read(f"{AGILE}/board/{config.board_id}", "id"))
    if board.outcome is not Outcome.OK:
        yield _failed("board", board)
        return
    kind = str(board.json.get("type", "?"))
    query = (("state", "active,future"), ("maxResults", "50"))
    found = send(_read(f"{AGILE}/board/{config.board_id}/sprint", "values", query=query))
    if found.outcome is not Outcome.OK:
        yield replace(_failed("board", found), todo=f"board {config.board_id} is a {kind} board: choose a scrum board")
        return
    names = ", ".join(str(one.get("name")) for one in found.json["values"])
    todo = "" if names else "a Kanban board has no sprints: choose a scrum board"
    yield Probe("board", "ok" if names else "warn", f"{kind}, sprints: {names or 'none'}", todo)


def _clock_skew(server_time: Any, clock: Clock) -> Probe:
    try:
        skew = clock.wall() - datetime.strptime(str(server_time), "%Y-%m-%dT%H:%M:%S.%f%z").timestamp()
    except ValueError:
        return Probe("clock", "warn", f"serverTime {server_time!r} is no time")
    state: State = "ok" if abs(skew) <= MAX_SKEW else "warn"
    return Probe("clock", state, f"{skew:+.0f} s from Jira's", "" if state == "ok" else "set this machine's clock")
