"""The probes of `jira-agent check`: what was seen, and what to do about it. They change nothing anywhere."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final, Literal

import httpx2

from agent.config import AgentConfig, ConfigFault
from agent.jira import JiraClient, network
from agent.journal import read_records
from agent.learning import MYSELF, listing
from agent.lock import AlreadyRunning, exclusive
from agent.outcomes import Answer, Expect, JiraRequest, Outcome
from agent.records import AnyRecord
from agent.recovery import Memory
from agent.site import Learnt, Site, SiteFault, site_of
from agent.writes import AGILE, API
from relay.ports import Clock

State = Literal["ok", "warn", "fail"]
MAX_SKEW: Final = 60.0  # seconds; the agent decides nothing by wall time, but people read it


@dataclass(frozen=True, slots=True)
class Probe:
    name: str
    state: State
    seen: str
    todo: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


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


class NoJournal:
    """The probes are no commands and wait for nothing: their calls leave no trace (`ports.Journal`)."""

    memory = Memory()

    def append(self, record: AnyRecord) -> None:
        """Nothing is kept."""

    def compact(self) -> None:
        """Nothing to forget."""

    def keep_orphan(self, record: AnyRecord) -> None:
        """There are no commands here."""


def probes(config: AgentConfig, clock: Clock, transport: httpx2.BaseTransport | None = None) -> tuple[Probe, ...]:
    """Every probe in order; the later ones are left out where the first ones make them senseless."""
    try:
        access = config.access()
    except ConfigFault as error:
        return (Probe("access", "fail", str(error), "set the token"), *_local(config, clock))
    client = JiraClient(access, NoJournal(), clock, transport or network(access))
    try:
        return (*_jira(config, client.send, clock), *_local(config, clock))
    finally:
        client.close()


Send = Callable[[JiraRequest], Answer]


def _read(path: str, *keys: str, query: tuple[tuple[str, str], ...] = ()) -> JiraRequest:
    return JiraRequest("GET", path, "read", Expect(keys=keys), query=query)


def _failed(name: str, found: Answer) -> Probe:
    return Probe(name, "fail", f"{found.outcome.value}: {found.text}", _TODO.get(found.outcome, ""))


def _jira(config: AgentConfig, send: Send, clock: Clock) -> Iterator[Probe]:
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
    lists = {name: send(request) for name, request in _lists(config).items()}
    broken = [_failed(name, found) for name, found in lists.items() if found.outcome is not Outcome.OK]
    yield from broken
    if not broken:
        yield from _names(config, send, about, {name: found.json for name, found in lists.items()})


def _lists(config: AgentConfig) -> dict[str, JiraRequest]:
    types = f"issue/createmeta/{config.project}/issuetypes"
    return {
        "fields": listing("field"),
        "priorities": listing("priority"),
        "issue types": listing(types, keys=("values",)),
        "link types": listing("issueLinkType", keys=("issueLinkTypes",)),
    }


def _names(config: AgentConfig, send: Send, myself: Any, lists: dict[str, Any]) -> Iterator[Probe]:
    learnt = Learnt(
        myself=myself,
        fields=lists["fields"],
        priorities=lists["priorities"],
        issue_types=lists["issue types"]["values"],
        link_types=lists["link types"]["issueLinkTypes"],
    )
    try:
        site = site_of(config.wanted(), learnt)
    except SiteFault as error:
        yield Probe("names", "fail", str(error), "correct the configuration")
        return
    yield Probe("names", "ok", _fields_said(site))
    for link in site.link_types:
        note = "reads the same both ways: it has no direction" if link.symmetric else f"{link.direction}"
        yield Probe(f"link type «{link.logical}»", "warn" if link.symmetric else "ok", f"{link.jira_name}, {note}")
    yield _permission(config, send)
    yield from _required(config, send, site)
    yield _board(config, send)


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


def _required(config: AgentConfig, send: Send, site: Site) -> Iterator[Probe]:
    ours = {"summary", "issuetype", "project", "reporter", site.epic_name_field, *config.create_defaults}
    for name, kind in site.issue_types.items():
        path = f"{API}/issue/createmeta/{config.project}/issuetypes/{kind.jira_id}"
        found = send(_read(path, "values", query=(("maxResults", "200"),)))
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
            yield Probe(f"create {name}", "ok", f"{kind.name} ({kind.jira_id})")


def _has(values: list[dict[str, Any]], field: str | None) -> bool:
    return field is None or any(one.get("fieldId") == field for one in values)


def _board(config: AgentConfig, send: Send) -> Probe:
    if config.board_id is None:
        return Probe("board", "warn", "board_id is not set", "set it if ensure_sprint is to be used")
    query = (("state", "active,future"), ("maxResults", "50"))
    found = send(_read(f"{AGILE}/board/{config.board_id}/sprint", "values", query=query))
    if found.outcome is not Outcome.OK:
        return _failed("board", found)
    names = ", ".join(str(one.get("name")) for one in found.json["values"])
    todo = "" if names else "a Kanban board has no sprints: choose a scrum board"
    return Probe("board", "ok" if names else "warn", f"sprints: {names or 'none'}", todo)


def _clock_skew(server_time: Any, clock: Clock) -> Probe:
    try:
        skew = clock.wall() - datetime.strptime(str(server_time), "%Y-%m-%dT%H:%M:%S.%f%z").timestamp()
    except ValueError:
        return Probe("clock", "warn", f"serverTime {server_time!r} is no time")
    state: State = "ok" if abs(skew) <= MAX_SKEW else "warn"
    return Probe("clock", state, f"{skew:+.0f} s from Jira's", "" if state == "ok" else "set this machine's clock")


def _local(config: AgentConfig, clock: Clock) -> Iterator[Probe]:
    damaged = list(read_records(config.journal)).count(None)
    yield Probe("journal", "warn" if damaged else "ok", f"{config.journal}: {damaged} damaged lines")
    try:
        with exclusive(config.journal, clock):
            yield Probe("lock", "ok", "free")
    except AlreadyRunning as error:
        yield Probe("lock", "warn", str(error), "that is the agent at work; two cannot run")
    yield _share(config)


def _share(config: AgentConfig) -> Probe:
    if not config.folder.is_dir():
        todo = "mount the share; `jira-hub init` on the other side makes the link"
        return Probe("share", "fail", f"{config.folder} is not there", todo)
    return Probe("share", "ok", str(config.folder))
