"""`Server`: answer the other side's requests over a folder. What becomes of a request is decided in `answering`."""

import math
import os
import threading
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self, assert_never

from relay import answering, delivery
from relay.beacon import Beacon
from relay.calls import DELIVERY_LIMIT, relay_reply
from relay.errors import RelayError
from relay.exchange import RelayStatus, Settings
from relay.frames import Message, ReplyHead, Side
from relay.link import Link, Received
from relay.parts import Assembly, parcels_of
from relay.ports import Clock, Folder, Ids
from relay.profile import Durability, Profile
from relay.running import WITHDRAWN, AsgiApp, AsgiRunner, Done, Handler, Runner, runner_for
from relay.side import SideDriver
from relay.state import State

MAX_HANDLERS: Final = 256  # at once; the rest waits in the order it came
HANDLER_THREADS: Final = 32
NOTE_SENT_SECONDS: Final = 1.0  # a forgotten "sent" only sends a reply once more, so it may ride on a later commit


class ServerExchange:
    """The serving side's exchange: what is decided is committed before it is started, sent or acknowledged."""

    gives_way = True

    def __init__(self, profile: Profile, runner_of: Callable[[Done], Runner]) -> None:
        self._profile = profile
        self._driver: SideDriver | None = None
        self._runner = runner_of(self._done)
        self._stages: dict[str, answering.Stage] = {}  # of the handlers that run now, or are about to
        self._queue: deque[tuple[Message, int]] = deque()
        self._taken: list[tuple[Message, int]] = []  # of those, what came since the last commit
        self._starts: list[Message] = []
        self._interrupts: list[str] = []
        self._sent: list[str] = []
        self._note_sent_by = math.inf
        self._dirty = False
        self._running = 0
        self._trial: str | None = None
        self._trial_ends = math.inf
        self.on_failure: Callable[[], None] = lambda: None
        self._counts = {"requests": 0, "executed": 0, "answered": 0, "given_up": 0, "withdrawn": 0, "asked_again": 0}

    def attach(self, driver: SideDriver) -> None:
        """The driver that is woken by answers."""
        self._driver = driver

    def _done(self, answer: Message) -> None:
        assert self._driver is not None
        self._driver.submit(answer)

    def open(self, state: State, link: Link, beacon: Beacon) -> None:
        self._state, self._link = state, link
        self._assembly = Assembly(self._profile.max_message_bytes, state.parts())
        self._runner.open(beacon.name)
        for request_id in state.unsent():
            self._send_again(request_id)
        for request, known in state.interrupted():
            match answering.on_start_up(known):
                case delivery.Run(deliveries):
                    self._enqueue(request, deliveries)
                case delivery.GiveUp():
                    self._give_up(request.id)
                case answering.Nothing():
                    pass

    # --- messages

    def take(self, received: Received, now: float) -> None:
        if received.new_life:
            self._assembly.clear()
            self._state.forget_parts()
            self._dirty = True
            # Whoever waited died with that life; what is still wanted is asked for again in this one.
            for request_id in [one for one, stage in self._stages.items() if stage == "running"]:
                self._take_withdrawal(request_id)
        for parcel in received.acknowledged:
            if parcel.kind == "reply" and parcel.last:
                self._sent.append(parcel.id)
                self._note_sent_by = min(self._note_sent_by, now + NOTE_SENT_SECONDS)
        for message in received.messages:
            self._dirty = True
            if message.kind == "request":
                self._take_request(message)
            elif message.kind == "withdraw":
                self._take_withdrawal(message.id)

    def _take_request(self, message: Message) -> None:
        whole = self._assembly.whole(message)
        if message.part[1] > 1:
            if whole is None:
                self._state.remember_part(message)
                return
            self._state.forget_parts(message.id)
        if whole is None:
            return
        self._counts["requests"] += 1
        known = self._known(whole.id)
        decision = answering.on_request(known)
        match decision:
            case delivery.Run(deliveries):
                self._enqueue(whole, deliveries)
            case delivery.GiveUp():
                self._give_up(whole.id)
            case answering.Repeat():
                self._counts["asked_again"] += 1
                self._send_again(whole.id)
            case answering.Wait():
                if self._stages[whole.id] == "withdrawn":
                    self._stages[whole.id] = "running"
                    self._state.remember_stage(whole.id, "running")
            case _:
                assert_never(decision)

    def _take_withdrawal(self, request_id: str) -> None:
        match answering.on_withdrawal(self._known(request_id)):
            case answering.Interrupt():
                self._interrupts.append(request_id)
                self._withdrawn(request_id)
            case answering.Drop():
                self._withdrawn(request_id)
            case answering.Nothing():
                pass

    def _withdrawn(self, request_id: str) -> None:
        self._counts["withdrawn"] += 1
        self._state.remember_stage(request_id, "withdrawn")
        if request_id in self._stages:
            self._stages[request_id] = "withdrawn"

    def _known(self, request_id: str) -> answering.Known | None:
        if (stage := self._stages.get(request_id)) is not None:
            return answering.Known(stage, 0, alive=True)
        return self._state.known(request_id)

    # --- handlers

    def _enqueue(self, request: Message, deliveries: int) -> None:
        self._stages[request.id] = "running"
        self._queue.append((request, deliveries))
        self._taken.append((request, deliveries))
        self._dirty = True

    def _keep_waiting(self) -> None:
        """What was taken and not started is about to be acknowledged, so it will not come again: kept, not counted."""
        if self._queue:
            started = {request.id for request in self._starts}
            for request, deliveries in self._taken:
                if request.id in started or (stage := self._stages.get(request.id)) is None:
                    continue
                self._state.remember_delivery(request, deliveries - 1)
                if stage == "withdrawn":
                    self._state.remember_stage(request.id, stage)
        self._taken.clear()

    def _start_next(self, now: float) -> None:
        while self._queue and self._running < MAX_HANDLERS and self._trial is None:
            request, deliveries = self._queue.popleft()
            if self._stages.get(request.id) == "withdrawn":
                del self._stages[request.id]
                continue
            if delivery.on_trial(deliveries):
                self._trial, self._trial_ends = request.id, now + delivery.TRIAL_SECONDS
            self._state.remember_delivery(request, deliveries)
            self._starts.append(request)
            self._running += 1
            self._dirty = True

    def _end_trial(self) -> None:
        self._trial, self._trial_ends = None, math.inf

    def _give_up(self, request_id: str) -> None:
        self._counts["given_up"] += 1
        detail = "its handler ended the server's process at each of its deliveries"
        self._keep(relay_reply(request_id, 508, DELIVERY_LIMIT, detail), "running")

    def handle(self, item: Any, now: float) -> None:
        """An answer has come."""
        assert isinstance(item, Message)
        self._running -= 1
        self._counts["executed"] += 1
        if item.id == self._trial:
            self._end_trial()
        stage = self._stages.pop(item.id)
        if not _is_withdrawn(item):
            self._keep(item, stage)
        elif stage == "running":  # it stopped for want of a caller, and meanwhile there is one again
            request = self._state.request(item.id)
            assert request is not None
            self._enqueue(request, 1)

    def _keep(self, answer: Message, stage: answering.Stage) -> None:
        send = answering.on_answer(stage)
        self._dirty = True
        self._state.remember_reply(answer, unsent=send)
        if send:
            self._counts["answered"] += 1
            self._link.send(parcels_of(answer))

    def _send_again(self, request_id: str) -> None:
        reply = self._state.reply(request_id)
        assert reply is not None
        self._link.send(parcels_of(reply))

    # --- the driver's turns

    def prepare(self, now: float) -> bool:
        if self._trial_ends <= now:
            assert self._trial is not None
            self._state.acquit(self._trial)
            self._end_trial()
            self._dirty = True
        self._start_next(now)
        self._keep_waiting()
        if not self._dirty and now < self._note_sent_by:
            return False
        if now >= self._note_sent_by:
            self._state.mark_sent(self._sent)
            self._sent, self._note_sent_by = [], math.inf
        self._state.remember_peer(self._link.peer)
        self._dirty = False
        return True

    def settle(self) -> None:
        starts, self._starts = self._starts, []
        if starts:
            self._runner.start(starts)
        while self._interrupts:
            self._runner.interrupt(self._interrupts.pop())

    def requests_open(self) -> bool:
        return bool(self._stages)

    def wake_at(self) -> float:
        return min(self._note_sent_by, self._trial_ends)

    def close(self) -> None:
        """Handlers that are stopped in good order did not kill anybody: this start is taken back."""
        self._runner.close()
        self._state.mark_sent(self._sent)
        waiting = {request.id for request, _ in self._queue}
        for request_id in self._stages.keys() - waiting:
            self._state.take_back_delivery(request_id)

    def failed(self, error: BaseException) -> None:
        """Nobody waits on this side; handlers still running find no one to take their answers."""
        self._runner.close()
        self.on_failure()

    def counters(self) -> dict[str, int]:
        return self._counts | {"running": self._running, "queued": len(self._queue)}


def _is_withdrawn(answer: Message) -> bool:
    return isinstance(answer.head, ReplyHead) and answer.head.error == WITHDRAWN


class Server:
    """Answers requests that come over the link in `folder` (`<share>/<link>`) with `handler(Request) -> Reply`.

    The handler may be a plain function (runs in a bounded pool) or a coroutine function. Each request id runs at most
    once at a time, and never again once it is answered; a handler interrupted by the death of the process runs again,
    three times in all (`idempotency-key` lets it tell), then the caller gets 508.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | Folder,
        handler: Handler,
        *,
        side: Side = "hub",
        state_dir: str | os.PathLike[str] | None = None,
        durability: Durability = "full",
        clock: Clock | None = None,
        ids: Ids | None = None,
        profile: Profile | None = None,
        key_file: str | os.PathLike[str] | None = None,
    ) -> None:
        settings = Settings(folder, side, state_dir, durability, clock, ids, profile, key_file)
        limit = (profile or Profile()).max_message_bytes
        self._set_up(settings, lambda done: runner_for(handler, done, limit, HANDLER_THREADS))

    @classmethod
    def for_asgi(
        cls,
        folder: str | os.PathLike[str] | Folder,
        app: AsgiApp,
        *,
        side: Side = "hub",
        state_dir: str | os.PathLike[str] | None = None,
        durability: Durability = "full",
        clock: Clock | None = None,
        ids: Ids | None = None,
        profile: Profile | None = None,
        key_file: str | os.PathLike[str] | None = None,
    ) -> Self:
        """A server whose handler is an ASGI app; it runs on one event loop in a thread of the server's own.

        The scope has `client` ("relay", 0), `extensions["relay"]` with `link` and `request_id`, and the header
        `idempotency-key` is the request id. A withdrawn request gets `http.disconnect` from `receive`.
        """
        server = cls.__new__(cls)
        settings = Settings(folder, side, state_dir, durability, clock, ids, profile, key_file)
        limit = (profile or Profile()).max_message_bytes
        server._set_up(settings, lambda done: AsgiRunner(app, done, limit))
        return server

    def _set_up(self, settings: Settings, runner_of: Callable[[Done], Runner]) -> None:
        self._exchange = ServerExchange(settings.profile or Profile(), runner_of)
        self._driver = SideDriver(settings, self._exchange)
        self._exchange.attach(self._driver)
        self._name = f"relay-{settings.side}"
        self._at_end: Callable[[], None] | None = None
        self._ended = threading.Event()
        self._exchange.on_failure = self._ended.set

    @classmethod
    def for_url(cls, folder: str | os.PathLike[str] | Folder, url: str, **settings: Any) -> Self:
        """A server that hands every request on to the HTTP server at `url`, such as `http://127.0.0.1:8787`."""
        from relay.upstream import Upstream  # httpx2 costs 100 ms at start-up; only this needs it

        upstream = Upstream(url)
        server = cls(folder, upstream, **settings)
        server._at_end = upstream.close
        return server

    def start(self) -> Self:
        """Begin in threads of its own. Raises `AlreadyRunning`, `ProtocolMismatch`, `UnsafeState`."""
        self._driver.start(self._name)
        return self

    def stop(self) -> None:
        """End in good order: handlers that run are stopped, and run again under the next server."""
        self._driver.stop()
        if self._at_end is not None:
            self._at_end()
        self._ended.set()

    def serve_forever(self) -> None:
        """Start, and return once `stop` was called by another thread or a signal handler.

        Raises `AlreadyRunning` when another process has become this side of the link.
        """
        self.start()
        self.wait()

    def wait(self) -> None:
        """Return once the server has ended. Raises what has ended it, unless that was `stop`."""
        self._ended.wait()
        if (refusal := self.refusal) is not None:
            raise refusal

    @property
    def refusal(self) -> RelayError | None:
        """What has ended the server, unless that was `stop`; None while it serves."""
        return self._driver.refusal

    def status(self) -> RelayStatus:
        """How the link is; never blocks."""
        return self._driver.status()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
