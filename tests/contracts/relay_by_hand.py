"""A client and a server without threads, moved step by step under a clock of the test's own; either may be killed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from relay.calls import Reply, reply_message
from relay.client import ClientExchange, Waiter, _Ask, _GiveUp, _Resume
from relay.exchange import Settings
from relay.frames import PEER_OF, Message, RequestHead, Side
from relay.link import Received
from relay.parts import parcels_of
from relay.profile import Profile
from relay.running import withdrawn
from relay.server import ServerExchange
from relay.side import SideDriver
from relay.testing import MemoryShare


class HandClock:
    """Time that moves when the test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.behind = 0.0

    def wall(self) -> float:
        return 1_790_000_000.0 + self.now - self.behind

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += max(0.0, seconds)

    def boot_id(self) -> str:
        return "boot"


class CountedIds:
    """Ids in order, never twice."""

    def __init__(self) -> None:
        self.given = 0

    def new_id(self) -> str:
        self.given += 1
        return f"{self.given:012x}{'0' * 20}"


class HandRunner:
    """Handlers that run until the test lets them answer (`Runner`)."""

    def __init__(self, done: Callable[[Message], None]) -> None:
        self._done = done
        self.running: dict[str, Message] = {}
        self.interrupted: list[str] = []

    def open(self, link: str) -> None:
        """Nothing to get ready."""

    def start(self, requests: list[Message]) -> None:
        for request in requests:
            assert request.id not in self.running, "one id runs once at a time"
            self.running[request.id] = request

    def interrupt(self, request_id: str) -> None:
        self.interrupted.append(request_id)

    def close(self) -> None:
        self.running.clear()

    def answer(self, request_id: str, body: bytes) -> None:
        del self.running[request_id]
        self._done(reply_message(request_id, Reply(200, {}, body), 1 << 20))

    def stop_for_want_of_a_caller(self, request_id: str) -> None:
        del self.running[request_id]
        self._done(withdrawn(request_id))


@dataclass
class Call:
    """One wait for one reply."""

    request_id: str
    waiter: Waiter = field(default_factory=Waiter)


class Hands:
    """Both sides of one link."""

    def __init__(self, root: Path, profile: Profile | None = None) -> None:
        self.clock, self.ids, self.share = HandClock(), CountedIds(), MemoryShare(ids=CountedIds())
        self.profile = profile or Profile(presence_seconds=0.0)
        self._root = root
        self.on_late: Callable[[Reply], object] = lambda _: None
        self.begin_server()
        self.begin_client()

    def _settings(self, side: Side) -> Settings:
        return Settings(
            self.share.view(side), side, self._root / side, "none", self.clock, self.ids, self.profile, None
        )

    def begin_server(self) -> None:
        def runner_of(done: Callable[[Message], None]) -> HandRunner:
            self.runner = HandRunner(done)
            return self.runner

        self.serving = ServerExchange(self.profile, runner_of)
        self.server = SideDriver(self._settings("hub"), self.serving)
        self.serving.attach(self.server)
        self.server.step()

    def begin_client(self) -> None:
        self.client = SideDriver(
            self._settings("agent"), ClientExchange(self.profile, lambda reply: self.on_late(reply))
        )
        self.client.step()

    def kill(self, driver: SideDriver) -> None:
        """The process is gone: what was committed stays, nothing else."""
        state = driver._state
        assert state is not None
        if state._open:
            state._db.execute("ROLLBACK")
        state._db.close()
        state._lock.release()

    def restart_server(self) -> None:
        self.kill(self.server)
        self.begin_server()

    def restart_client(self) -> None:
        self.kill(self.client)
        self.begin_client()

    def run(self, seconds: float = 1.0, step: float = 0.05) -> None:
        """Let both sides do what is due for a while."""
        ends = self.clock.now + seconds
        while self.clock.now < ends:
            self.client.step()
            self.server.step()
            self.clock.now += step

    def ask(self, request_id: str, content: bytes = b"") -> Call:
        call = Call(request_id)
        request = Message("request", request_id, RequestHead("POST", "/", []), content)
        self._submit(_Ask(request, parcels_of(request), call.waiter))
        return call

    def resume(self, request_id: str) -> Call:
        call = Call(request_id)
        self._submit(_Resume(request_id, call.waiter))
        return call

    def give_up(self, call: Call) -> None:
        self._submit(_GiveUp(call.request_id, call.waiter))

    def _submit(self, item: Any) -> None:
        self.client.submit(item)

    def files(self, reader: Side) -> dict[str, bytes]:
        """What `reader` may see, to be lost, kept and brought back."""
        return self.share.files[reader]

    def keep(self) -> dict[Side, dict[str, bytes]]:
        return {side: dict(self.share.files[side]) for side in PEER_OF}


__all__ = ["Call", "HandClock", "HandRunner", "Hands", "Received"]
