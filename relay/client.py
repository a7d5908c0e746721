"""`Client`: ask the other side over a folder and wait for the reply. The exchange's rules stand in `asking`."""

import logging
import math
import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

from pydantic import TypeAdapter

from relay.asking import Asking
from relay.beacon import Beacon
from relay.calls import DELIVERY_LIMIT, REPLY_TOO_LARGE, Reply, body_bytes, reply_from
from relay.errors import (
    DeliveryLimitExceeded,
    MessageTooLarge,
    PeerOffline,
    QueueFull,
    RelayClosed,
    RelayError,
    RelayTimeout,
    ShareUnavailable,
    UnknownRequest,
)
from relay.exchange import RelayStatus, Settings
from relay.frames import (
    REQUEST_ID_PATTERN,
    Message,
    ReplyHead,
    RequestHead,
    Side,
    head_problem,
    packed,
)
from relay.link import Link, Parcel, Received
from relay.parts import Assembly, parcels_of
from relay.ports import Clock, Folder, Ids
from relay.profile import Durability, Profile
from relay.side import SideDriver
from relay.state import State, Stored

_LOG: Final = logging.getLogger(__name__)
_HEAD: Final = TypeAdapter(RequestHead)
# A request that is answered sooner is never written to the local state: nobody can miss what has come.
SAVE_AFTER_SECONDS: Final = 0.05
STRAGGLER_SECONDS: Final = 1.0  # between an outcome's last word and its being there lie two statements of one thread


class Waiter:
    """One caller's wait for one reply."""

    __slots__ = ("_done", "_last_word", "acknowledged", "error", "reply")

    def __init__(self) -> None:
        self._done = threading.Lock()  # a bare lock wakes its waiter in a third of an Event's time
        self._done.acquire()
        self._last_word = threading.Lock()  # taken once: by the outcome, or by a caller who has waited long enough
        self.reply: Message | None = None
        self.error: BaseException | None = None
        self.acknowledged = False

    def wait(self, seconds: float) -> bool:
        """Whether there is a reply or an error within `seconds`."""
        return self._done.acquire(timeout=min(max(seconds, 0.0), threading.TIMEOUT_MAX))

    def finish(self, reply: Message | None, error: BaseException | None = None) -> bool:
        """Wake the caller; the first word counts. `False`: somebody else had it, the caller may be gone."""
        if not self._last_word.acquire(blocking=False):
            return False
        self.reply, self.error = reply, error
        self._done.release()
        return True

    def abandon(self) -> bool:
        """The caller leaves. `False`: an outcome came first, and is his in a moment."""
        return self._last_word.acquire(blocking=False)


@dataclass(frozen=True, slots=True)
class _Ask:
    request: Message
    parcels: tuple[Parcel, ...]
    waiter: Waiter

    @property
    def request_id(self) -> str:
        return self.request.id


@dataclass(frozen=True, slots=True)
class _Resume:
    request_id: str
    waiter: Waiter


@dataclass(frozen=True, slots=True)
class _GiveUp:
    request_id: str
    waiter: Waiter


Pending = _Ask | _Resume


class ClientExchange:
    """The calling side's exchange.

    Its writes may come after its frames: the server keeps every answer under the request id, so a client that forgot
    something asks again and gets the same.
    """

    gives_way = False

    def __init__(self, profile: Profile, on_late: Callable[[Reply], object] = lambda _: None) -> None:
        self._asking: Asking[Waiter] = Asking()
        self._on_late = on_late
        self._assembly = Assembly(profile.max_message_bytes)
        self._unsaved: dict[str, tuple[Message, float]] = {}
        self._saved: set[str] = set()
        self._answered: set[str] = set()
        self._save_by = math.inf
        self._peer_moved = False
        self._calls = 0
        self._failure: BaseException | None = None  # nothing is asked any more

    def open(self, state: State, link: Link, beacon: Beacon) -> None:
        self._state, self._link = state, link
        self._saved.clear()

    def handle(self, item: Any, now: float) -> None:
        if self._failure is not None and isinstance(item, (_Ask, _Resume)):
            item.waiter.finish(None, self._failure)
            return
        match item:
            case _Ask(request, parcels, waiter):
                self._calls += 1
                self._asking.ask(request.id, waiter)
                self._unsaved[request.id] = (request, now)
                self._save_by = min(self._save_by, now + SAVE_AFTER_SECONDS)
                self._link.send(parcels)
            case _Resume(request_id, waiter):
                self._resume(request_id, waiter, now)
            case _GiveUp(request_id, waiter):
                if self._asking.give_up(request_id, waiter):
                    self._save_by = now  # whoever asks again finds the request, whatever happens to us
                    withdrawal = packed(Message("withdraw", request_id))
                    self._link.send([Parcel("withdraw", request_id, withdrawal)])

    def _resume(self, request_id: str, waiter: Waiter, now: float) -> None:
        if request_id in self._unsaved:
            request = self._unsaved[request_id][0]
        else:
            stored = self._state.asked(request_id)
            if stored is None:
                detail = f"nothing is kept of request {request_id}: call again under this request_id instead"
                waiter.finish(None, UnknownRequest(detail))
                return
            request = Message("request", request_id, _HEAD.validate_json(stored.head), stored.body)
            self._saved.add(request_id)
        self._asking.ask(request_id, waiter)
        self._link.send(parcels_of(request))

    def take(self, received: Received, now: float) -> None:
        if received.new_life:
            self._assembly.clear()
        for parcel in received.acknowledged:
            if parcel.kind == "request":
                for waiter in self._asking.waiting_for(parcel.id):
                    waiter.acknowledged = True
        for message in received.messages:
            self._peer_moved = True
            if message.kind == "reply" and (reply := self._assembly.whole(message)) is not None:
                self._give(reply)
        if received.new_life or received.messages:
            self._save_by = min(self._save_by, now + SAVE_AFTER_SECONDS)

    def _give(self, reply: Message) -> None:
        given = False
        for waiter in self._asking.reply(reply.id):
            given |= waiter.finish(reply)
        if not given:
            self._late(reply)
        # Where everybody has left the request is kept: `RelayTimeout` promised that it can be resumed.
        if given and self._unsaved.pop(reply.id, None) is None and reply.id in self._saved:
            self._answered.add(reply.id)

    def _late(self, reply: Message) -> None:
        try:
            self._on_late(reply_from(reply))
        except Exception:  # noqa: BLE001  # the program's own code; the link goes on
            _LOG.exception("what was to be done with the late reply to request %s failed", reply.id)

    def prepare(self, now: float) -> bool:
        if now < self._save_by:
            return False
        if self._save(everything=False, now=now):
            self._state.sync()  # whoever resumes relies on it; what is forgotten of the peer comes twice, and is known
        return True

    def _save(self, *, everything: bool, now: float) -> bool:
        due = [one for one, (_, at) in self._unsaved.items() if everything or at + SAVE_AFTER_SECONDS <= now + 0.001]
        for request_id in due:
            request, _ = self._unsaved.pop(request_id)
            assert isinstance(request.head, RequestHead)
            self._state.remember_asked(Stored(request_id, _HEAD.dump_json(request.head).decode(), request.body))
            self._saved.add(request_id)
        for request_id in self._answered:
            self._state.forget_asked(request_id)
        self._saved -= self._answered
        self._answered.clear()
        if self._peer_moved:
            self._state.remember_peer(self._link.peer)
            self._peer_moved = False
        soonest = min((at for _, at in self._unsaved.values()), default=math.inf)
        self._save_by = soonest + SAVE_AFTER_SECONDS
        return bool(due)

    def settle(self) -> None:
        """Callers are woken at once, not after a commit: see above."""

    def requests_open(self) -> bool:
        return len(self._asking) > 0

    def wake_at(self) -> float:
        return self._save_by

    def close(self) -> None:
        self._save(everything=True, now=0.0)
        self.failed(RelayClosed("the client was closed"))

    def failed(self, error: BaseException) -> None:
        self._failure = error
        for waiter in self._asking.all_waiting():
            waiter.finish(None, error)

    def counters(self) -> dict[str, int]:
        return {"calls": self._calls, "open": len(self._asking), "late": self._asking.late}


class Client:
    """Calls over the link in `folder` (`<share>/<link>`). Thread-safe; one per side, machine and link.

    `state_dir` (default $FOLDER_RELAY_STATE or ~/.local/state/folder-relay) has to be on a local disk.
    `durability="none"` leaves out every fsync: quicker, and safe against crashes of programs but not of machines.
    A paired link needs no word: the key that `folder-relay pair` stored is used, or the one in `key_file`.
    `on_late` is told of each reply nobody waits for any more, perhaps twice, in the relay's thread: be quick.
    Raises `AlreadyRunning`, `ProtocolMismatch`, `UnsafeState`, `KeyUnreadable`. A missing share is waited for.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | Folder,
        *,
        side: Side = "agent",
        state_dir: str | os.PathLike[str] | None = None,
        durability: Durability = "full",
        clock: Clock | None = None,
        ids: Ids | None = None,
        profile: Profile | None = None,
        key_file: str | os.PathLike[str] | None = None,
        on_late: Callable[[Reply], object] = lambda _: None,
    ) -> None:
        settings = Settings(folder, side, state_dir, durability, clock, ids, profile, key_file)
        self._exchange = ClientExchange(profile or Profile(), on_late)
        self._driver = SideDriver(settings, self._exchange)
        self._driver.start(f"relay-{side}")

    def new_id(self) -> str:
        """A request id for `call(request_id=…)`, to be written down before it is used."""
        return self._driver.ids.new_id()

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        request_id: str | None = None,
    ) -> Reply:
        """The other side's reply to one request; `body` is bytes, or anything that JSON can say. Seconds.

        The same `request_id` again, from a new process too, is the same request: it never runs twice, and the reply
        that was given is given again.

        Raises `RelayTimeout` (outcome unknown; `PeerOffline` where the other side never took the request),
        `ShareUnavailable`, `QueueFull`, `MessageTooLarge`, `DeliveryLimitExceeded`, `RelayClosed`.
        """
        pending = self.pending_call(self._waiter(), method, path, body, headers=headers, request_id=request_id)
        self.submit(pending)
        return self.outcome(pending, timeout, waited=pending.waiter.wait(timeout))

    def resume(self, request_id: str, *, timeout: float = 30.0) -> Reply:
        """Wait (again) for the reply to a request that was given up, in this process or an earlier one. Seconds.

        Raises what `call` does, and `UnknownRequest` where nothing is kept of it here: `call` it again then.
        """
        pending = self.pending_resume(self._waiter(), request_id)
        self.submit(pending)
        return self.outcome(pending, timeout, waited=pending.waiter.wait(timeout))

    def status(self) -> RelayStatus:
        """How the link is; never blocks."""
        return self._driver.status()

    def close(self) -> None:
        """End. Whoever still waits gets `RelayClosed`; the requests can be resumed by the next client."""
        self._driver.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _waiter(self) -> Waiter:
        """A place for one caller to wait; where no thread drives the client, the caller has to do it meanwhile."""
        return Waiter()

    # --- the steps of a call, for callers that wait in another way

    def pending_call(
        self,
        waiter: Waiter,
        method: str,
        path: str,
        body: Any,
        *,
        headers: Mapping[str, str] | None,
        request_id: str | None,
    ) -> Pending:
        """A request checked and packed; nothing is under way yet."""
        content, pairs = body_bytes(body, headers)
        if len(content) > self._driver.profile.max_message_bytes:
            limit = self._driver.profile.max_message_bytes
            raise MessageTooLarge(f"the body has {len(content)} bytes, {limit} at most")
        if request_id is None:
            request_id = self._driver.ids.new_id()
        elif re.fullmatch(REQUEST_ID_PATTERN, request_id) is None:
            raise ValueError(f"{request_id!r} is no request id: {REQUEST_ID_PATTERN}")
        head = RequestHead(method.upper(), path, pairs)
        if (problem := head_problem(head)) is not None:
            raise ValueError(f"this request cannot be sent: {problem}")
        request = Message("request", request_id, head, content)
        return _Ask(request, parcels_of(request), waiter)

    def pending_resume(self, waiter: Waiter, request_id: str) -> Pending:
        """A request that is kept here, to be asked again."""
        return _Resume(request_id, waiter)

    def submit(self, pending: Pending) -> None:
        """Send it on its way."""
        if not self._driver.running:
            raise RelayClosed("the client is closed")
        if not self._driver.has_room():
            raise QueueFull("too many requests wait to be sent; try again when some are answered")
        self._driver.submit(pending)

    def give_up(self, pending: Pending) -> None:
        """Nobody waits for it any more."""
        pending.waiter.abandon()
        self._driver.submit(_GiveUp(pending.request_id, pending.waiter))

    def outcome(self, pending: Pending, timeout: float, *, waited: bool) -> Reply:
        """What came of it: `waited` successfully, or until the timeout."""
        request_id, waiter = pending.request_id, pending.waiter
        if not waited and not waiter.wait(0.0 if waiter.abandon() else STRAGGLER_SECONDS):
            self._driver.submit(_GiveUp(request_id, waiter))
            raise self._silence(request_id, waiter, timeout)
        if isinstance(waiter.error, ShareUnavailable):
            raise ShareUnavailable(waiter.error.state, waiter.error.detail, request_id)
        if waiter.error is not None:
            raise waiter.error
        assert waiter.reply is not None and isinstance(waiter.reply.head, ReplyHead)
        error = waiter.reply.head.error
        if error == DELIVERY_LIMIT:
            raise DeliveryLimitExceeded(request_id)
        if error == REPLY_TOO_LARGE:
            raise MessageTooLarge(reply_from(waiter.reply).json()["detail"])
        return reply_from(waiter.reply)

    def _silence(self, request_id: str, waiter: Waiter, timeout: float) -> RelayError:
        state, detail = self._driver.share_state()
        if state != "ok":
            return ShareUnavailable(state, detail, request_id)
        heard = self._driver.heard_seconds()
        if not waiter.acknowledged and (heard is None or heard >= timeout):
            detail = f"the other side did not take request {request_id} within {timeout:g} s"
            return PeerOffline(request_id, detail + self._driver.pairing_problem())
        return RelayTimeout(
            request_id, f"no reply to request {request_id} within {timeout:g} s; its outcome is unknown"
        )
