"""Agent worlds for what was reported of real Jiras: configured, killed at a chosen request, or over a real socket."""

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2

from agent.jira import Access, network
from agent.runner import Settings
from agent.site import Wanted
from tests.contracts.agent_process import on_a_port
from tests.contracts.agent_world import WANTED, AgentWorld, Killed


def built(folder: Path, *, settings: Settings | None = None, switches: Any = None, **wanted: Any) -> AgentWorld:
    """A world whose agent is configured by `wanted`, and has learnt the names of a Jira with these switches."""
    names = {name: getattr(WANTED, name) for name in Wanted.__slots__}
    world = AgentWorld(folder, settings, Wanted(**{**names, **wanted}))
    if switches:
        world.switch(**switches)
    world.learn()
    return world


def sent(world: AgentWorld) -> list[str]:
    """Method and last part of the path of everything sent since the names were learnt."""
    if not world.wire.sent:
        return []
    return [f"{method} {path.rpartition('/')[2]}" for _, _, method, path in world.wire.calls[-world.wire.sent :]]


def bodies(world: AgentWorld, method: str, path: str) -> list[str]:
    """The bodies of the requests of this method whose path ends so, as Jira saw them."""
    return [one["body"] for one in world.requests() if one["method"] == method and one["path"].endswith(path)]


def moments(world: AgentWorld, method: str, path: str) -> list[float]:
    """When such requests were sent."""
    return [at for at, _, how, where in world.wire.calls if how == method and where.endswith(path)]


def dies_after(world: AgentWorld, method: str, path: str) -> None:
    """The agent's power goes the moment Jira has done the next request of this kind; then the agent is started anew."""
    inner = world.wire.inner.handle_request

    def handle(request: httpx2.Request) -> httpx2.Response:
        response = inner(request)
        if request.method == method and re.search(path, request.url.path):
            world.wire.inner.handle_request = inner  # type: ignore[method-assign]
            raise Killed
        return response

    world.wire.inner.handle_request = handle  # type: ignore[method-assign]


def killed(world: AgentWorld) -> None:
    """Let the agent work until its power goes."""
    try:
        world.run()
    except Killed:
        return
    raise AssertionError("the agent came to rest alive")


def again(world: AgentWorld, *, after: float = 1.0) -> None:
    """A new process of the agent, so many seconds later."""
    world.journal.close()
    world.clock.sleep(after)
    world.start()


def crashed_three_times(world: AgentWorld, path: str) -> None:
    """Jira has done the write, and the agent dies before it can know, and twice more at once."""
    dies_after(world, "POST", path)
    dies_at_once_twice_more(world)


def crashed_three_times_before(world: AgentWorld, path: str) -> None:
    """The same, but the write has never reached Jira."""
    inner = world.wire.inner.handle_request

    def die(request: httpx2.Request) -> httpx2.Response:
        if request.method == "POST" and request.url.path.endswith(path):
            world.wire.inner.handle_request = inner  # type: ignore[method-assign]
            raise Killed
        return inner(request)

    world.wire.inner.handle_request = die  # type: ignore[method-assign]
    dies_at_once_twice_more(world)


def dies_at_once_twice_more(world: AgentWorld) -> None:
    killed(world)
    for _ in range(2):
        again(world)
        turns(world, 1)
    again(world)
    world.run()


def before_each(world: AgentWorld, act: Callable[[httpx2.Request], None]) -> None:
    inner = world.wire.inner.handle_request

    def handle(request: httpx2.Request) -> httpx2.Response:
        act(request)
        return inner(request)

    world.wire.inner.handle_request = handle  # type: ignore[method-assign]


def made(world: AgentWorld) -> list[str]:
    """The issues called «Отчёт»."""
    return [one.key for one in world.jira.store.issues() if one.summary.strip() == "Отчёт"]


def without_journal(world: AgentWorld) -> None:
    """A new process on an empty disk: what it knows of earlier commands it must find in Jira."""
    (world.folder / "journal.jsonl").unlink()
    again(world)
    world.learn()


def claimed(world: AgentWorld, command_type: str, **params: Any) -> int:
    """Add a command and let the agent take it in hand, not more."""
    number = world.queue.add(command_type, **params)
    for _ in range(50):
        if world.journal.memory.delivery is not None:
            return number
        world.turn()
    raise AssertionError("the command was not claimed")


def turns(world: AgentWorld, count: int) -> None:
    for _ in range(count):
        world.turn()


class OverSockets(AgentWorld):
    """The agent's own network transport to the fake on a real port; time is simulated all the same."""

    url = ""

    @classmethod
    @contextlib.contextmanager
    def opened(cls, folder: Path) -> Iterator["OverSockets"]:
        world = cls(folder)
        with on_a_port(world.jira) as world.url:
            world.wire.inner = network(world.access())  # type: ignore[assignment]
            world.journal.close()
            world.start()
            yield world
            world.wire.inner.close()

    def access(self) -> Access:
        found = super().access()
        return Access(self.url or found.url, found.headers, found.secrets)
