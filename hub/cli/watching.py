"""Following a batch: a live view on a terminal, a line for each move elsewhere; ends when the batch is at rest."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

import typer

from hub.cli.exits import FAILURE, OFFLINE, Stop
from hub.cli.output import duration, one_line, show_answer, show_line, show_note
from hub.cli.progress import Progress, changes, progress
from hub.cli.session import is_quiet
from hub.cli.summing_up import outcome, subject

if TYPE_CHECKING:
    from hub.cli.client import HubClient
    from relay.ports import Clock

LONGEST_WATCH_SECONDS: Final = (
    86_400.0  # a day: the longest batch of a working day; the queue goes on without a watcher
)
_POLL_SECONDS: Final = 1.0
_FRAME_SECONDS: Final = 0.25  # a countdown that moves evenly
_PATIENCE_SECONDS: Final = 60.0  # with a hub that is being restarted


class View(Protocol):
    """Where progress goes: the live picture or plain lines."""

    def show(self, batch: Mapping[str, Any], agent: str, where: Progress) -> None: ...

    def close(self) -> None: ...


def watch_batch(hub: "HubClient", batch: int, *, as_json: bool, timeout: float | None) -> None:
    """Look once a second until every command is at rest. Raises `Stop` when something failed or time is up."""
    from relay.clock import SystemClock

    clock = SystemClock()
    seen = _Watch(hub, batch, clock)
    view: View = _Lines() if is_quiet() else _live_view()
    deadline = clock.monotonic() + (timeout or LONGEST_WATCH_SECONDS)
    try:
        while not seen.look().at_rest and clock.monotonic() < deadline:
            next_look = min(clock.monotonic() + _POLL_SECONDS, deadline)
            while clock.monotonic() < next_look:
                view.show(seen.batch, seen.agent_line(), seen.where())
                clock.sleep(_FRAME_SECONDS)
        view.show(seen.batch, seen.agent_line(), seen.where())
    finally:
        view.close()
    _conclude(seen, as_json=as_json)


def _conclude(seen: "_Watch", *, as_json: bool) -> None:
    where = seen.where()
    if not where.at_rest:
        offline = not seen.agent.get("online")
        raise Stop(
            f"batch {seen.batch['id']} is not at rest: {where.finished} of {where.total} done; {seen.agent_line()}",
            hint="the queue goes on; look again with: jira-hub watch",
            code=OFFLINE if offline else FAILURE,
            document={"code": "agent_offline" if offline else "timeout", "batch": seen.batch},
        )
    failed = f", {where.failed} failed" if where.failed else ""
    told = f"Batch {seen.batch['id']} is at rest: {where.total - where.failed} of {where.total} well{failed}"
    show_answer(seen.batch, lambda _: show_line(told), as_json=as_json)
    if where.failed:
        raise typer.Exit(FAILURE)


class _Watch:
    """What was seen at the last look."""

    def __init__(self, hub: "HubClient", batch: int, clock: "Clock") -> None:
        self.batch: Mapping[str, Any] = {"id": batch, "commands": ()}
        self.agent: Mapping[str, Any] = {}
        self._gaps: Mapping[str, float] = {}
        self._hub = hub
        self._clock = clock
        self._heard_at = clock.monotonic()

    def look(self) -> Progress:
        from hub.cli.client import AnswerLost, NotRunning

        try:
            status = self._hub.get("/status")
            self.batch = self._hub.get(f"/batches/{self.batch['id']}")
        except (NotRunning, AnswerLost):  # a hub that is being restarted
            if self._clock.monotonic() - self._heard_at > _PATIENCE_SECONDS or not self.batch["commands"]:
                raise
        else:
            self.agent = status["agent"]
            self._gaps = status["pacing"]
            self._heard_at = self._clock.monotonic()
        return self.where()

    def where(self) -> Progress:
        return progress(self.batch["commands"], self._gaps, self._clock.wall())

    def agent_line(self) -> str:
        silent = self._clock.monotonic() - self._heard_at
        return (
            f"hub silent for {duration(silent)}" if silent > 2 * _POLL_SECONDS else f"agent {agent_state(self.agent)}"
        )


def agent_state(agent: Mapping[str, Any]) -> str:
    """The agent in a few words."""
    if not agent.get("last_seen_at"):
        return "not seen yet"
    if not agent.get("online"):
        return f"offline since {agent['last_seen_at']}"
    return f"blocked: {agent['blocked']}" if agent.get("blocked") else "online"


class _Lines:
    """A line on stderr for each move of a command and each new state of the agent."""

    def __init__(self) -> None:
        self._statuses: dict[int, str] = {}
        self._agent = ""

    def show(self, batch: Mapping[str, Any], agent: str, where: Progress) -> None:
        if agent != self._agent and not agent.startswith("hub silent"):
            self._agent = agent
            show_note(agent)
        for change in changes(self._statuses, batch["commands"]):
            command = change.command
            pause = f"pause {duration(where.pause_seconds)}, at least {duration(where.seconds_left)} to the end"
            more = outcome(command) or (pause if command["status"] == "claimed" else "")
            text = f"#{command['id']} {command['type']} {one_line(subject(command), 60)}: {command['status']}"
            show_note(f"{change.finished}/{change.total} {text}" + (f" ({one_line(more, 200)})" if more else ""))
            self._statuses[command["id"]] = command["status"]

    def close(self) -> None:
        pass


def _live_view() -> View:
    from hub.cli.live import LiveView

    return LiveView()
