"""One side of a link at work: scan, decide, commit, publish. `step` does what is due and says when it is due again.

What requests and replies mean is the business of its `Exchange`; this module moves frames.
"""

import logging
import math
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any, Final

from relay.assurance import Assurance
from relay.clock import SystemClock, SystemIds
from relay.errors import (
    AlreadyRunning,
    NotAFrame,
    RelayError,
    ShareFault,
    ShareState,
    ShareUnavailable,
    StateUnusable,
)
from relay.exchange import Exchange, RelayStatus, Settings
from relay.health import ShareHealth
from relay.intake import Intake
from relay.jumps import Jumps
from relay.leftovers import leftovers, usurper
from relay.link import Link, hello
from relay.looking import Lookout
from relay.measured import Measured, fitting_profile, measured_of, refuse_unsafe
from relay.names import AnyName
from relay.opening import Opening
from relay.pairing import pairing_problem, with_keys
from relay.places import folder_and_bell
from relay.profile import Profile
from relay.quarantine import Quarantine
from relay.state import State
from relay.tidying import MAX_REFUSE, REFUSE_SECONDS, Refuse

_LOG: Final = logging.getLogger(__name__)


class SideDriver:
    """Drives one side. Everything but `submit`, `status`, `start` and `stop` belongs to its thread."""

    def __init__(self, settings: Settings, exchange: Exchange) -> None:
        self.clock = settings.clock or SystemClock()
        self.ids = settings.ids or SystemIds()
        self.profile = settings.profile or Profile()
        self._settings = settings
        self._exchange = exchange
        self._folder, self.bell = folder_and_bell(settings, self.clock)
        self._inbox: deque[Any] = deque()
        self._share = Assurance(self._folder)
        self._opening = Opening(settings, self._folder, self._share, self.clock)
        self._state: State | None = None
        self._link: Link | None = None
        self._lookout = Lookout(self.profile)
        self._intake = Intake(self._folder, self.profile)
        self._refuse = Refuse(self._folder, self._share.assure)
        self._active_at = -math.inf  # when something was last asked, answered or taken
        self._health = ShareHealth(self.profile.retry_seconds, self.clock.monotonic())
        self._busy_since: float | None = None
        self._jumps = Jumps(self.clock, self.profile.jump_seconds)
        self._measured: Measured | None = None  # what the doctor found out about the share
        self._watching = False
        self._stopping = False
        self._opened = threading.Event()
        self._refusal: RelayError | None = None
        self._usurped: str | None = None  # who else is this side now
        self._thread: threading.Thread | None = None

    # --- from any thread

    def start(self, name: str) -> None:
        """Raises `AlreadyRunning`, `ProtocolMismatch`, `UnsafeState`, `StateUnusable`. Waits for a missing share."""
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        # Never longer than a hung share is given: status and callers then tell what is wrong.
        self._opened.wait(self.profile.stuck_seconds)
        if self._refusal is not None:
            raise self._refusal

    def stop(self, seconds: float = 5.0) -> None:
        """End in good order; a driver that hangs in the share is left behind after `seconds`."""
        self._stopping = True
        self.bell.ring()
        if self._thread is not None:
            self._thread.join(seconds)

    def submit(self, item: Any) -> None:
        """Hand something to the driver."""
        self._inbox.append(item)
        self.bell.ring()

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive() and not self._stopping

    def has_room(self) -> bool:
        """Whether one more message may be submitted."""
        queued = len(self._inbox)
        return queued < self.profile.queue_messages and (self._link is None or self._link.has_room())

    def share_state(self) -> tuple[ShareState, str]:
        """How the share is; `stuck` when a call on it does not come back."""
        busy = self._busy_since
        if busy is not None and self.clock.monotonic() - busy > self.profile.stuck_seconds:
            return "stuck", "a call on the share does not come back"
        if self._usurped is not None:
            return "foreign", self._usurped
        if self._refusal is not None:
            return "stuck", str(self._refusal)
        return self._health.state, self._health.detail

    def heard_seconds(self) -> float | None:
        """How long ago the peer was heard."""
        link = self._link
        if link is None or link.heard_at is None:
            return None
        return max(0.0, self.clock.monotonic() - link.heard_at)

    def pairing_problem(self) -> str:
        """What to add to a complaint of silence where only one of the sides is paired."""
        return pairing_problem(self._intake.counts)

    @property
    def refusal(self) -> RelayError | None:
        """Why this side has ended by itself."""
        return self._refusal

    def status(self) -> RelayStatus:
        """How this side is; answers even while the share hangs."""
        link, beacon = self._link, self._share.beacon
        share, detail = self.share_state()
        heard = self.heard_seconds()
        return RelayStatus(
            side=self._settings.side,
            link=beacon.name if beacon else None,
            share=share,
            detail=detail,
            epoch=link.me.epoch if link else None,
            life=link.me.life if link else None,
            peer_heard_seconds=heard,
            peer_online=heard is not None and heard <= self.profile.offline_seconds,
            in_flight=link.in_flight if link else 0,
            waiting=(link.waiting if link else 0) + len(self._inbox),
            watching=self._watching,
            announced_share=self._lookout.meter.share,
            counters=self._intake.counts
            | {"unwhole": len(self._intake.doubts), "jumps": self._jumps.count}
            | (asdict(link.tally) if link else {})
            | self._exchange.counters(),
            paired=link is not None and link.me.key is not None,
            latency_seconds=link.round_trips.average or None if link else None,
            round_trips=link.round_trips.as_dict() if link else None,
            share_profile=asdict(self._measured) if self._measured else None,
        )

    # --- the driver's thread

    def _run(self) -> None:
        try:
            moved = False
            while not self._stopping:
                self._busy_since = self.clock.monotonic()
                wake = self.step(moved=moved)
                self._busy_since = None
                moved = self.bell.wait(wake - self.clock.monotonic())
            self._close()
        except RelayError as refusal:
            self._end_by(refusal)
        except (OSError, sqlite3.Error) as fault:  # the share's are told apart before: this is the local disk
            ended = StateUnusable.because(fault)
            if self._opened.is_set():  # before, whoever waits in `start` hears of it
                _LOG.error("this side of the link has ended: %s", ended)
            self._end_by(ended)
        except BaseException as error:
            # The top of this thread: callers must learn that nobody works for them any more.
            self._exchange.failed(error)
            raise
        finally:
            if self._state is not None:
                with suppress(sqlite3.Error):  # a disk that refused once refuses again: that was told already
                    self._state.close()
            self.bell.close()
            self._opened.set()
            self._busy_since = None

    def _end_by(self, refusal: RelayError) -> None:
        self._refusal = refusal
        self._exchange.failed(refusal)

    def step(self, *, moved: bool = False) -> float:
        """Do what is due; the moment on the monotonic clock at which something is due again."""
        now = self.clock.monotonic()
        if self._jumps.noticed(now):
            self._lookout.due = -math.inf
            if self._link is not None:
                self._link.postpone(self.profile.resend_after)
        if self._health.state == "foreign":
            self._leave_stranger()
        if self._link is None and not self._open(now):
            return now + self.profile.retry_seconds
        link, state = self._link, self._state
        assert link is not None and state is not None
        while self._inbox:
            self._exchange.handle(self._inbox.popleft(), now)
            self._lookout.active(now)
            self._active_at = now
        if moved or min(self._lookout.due, self._intake.doubts.wake_at) <= now:
            self._guarded(lambda: self._scan(link, now, announced=moved), on_write=False, now=now)
        if self._exchange.prepare(now):
            state.commit()
        self._exchange.settle()
        if link.standing.behind is not None:
            self._begin_above(link, state, link.standing.behind)
        if self._health.may_write(now) and self._usurped is None:
            self._guarded(lambda: self._write(link, state, now), on_write=True, now=now)
        if self._inbox:
            return -math.inf
        later = self._refuse.wake_at(now) if self._health.state == "ok" else math.inf
        return min(self._wake_at(link), self._exchange.wake_at(), later)

    def _wake_at(self, link: Link) -> float:
        looks = min(self._lookout.due, self._intake.doubts.wake_at)
        if self._health.state != "ok":
            return min(self._health.retry_at, looks) if self._health.readable else max(self._health.retry_at, looks)
        return looks if self._usurped else min(looks, link.wake_at(requests_open=self._exchange.requests_open()))

    # --- opening and closing

    def _open(self, now: float) -> bool:
        try:
            found = self._opening.step(now, self.profile.presence_seconds)
        except (ShareFault, NotAFrame) as error:
            self._down(error if isinstance(error, ShareFault) else ShareFault("lost", str(error)), now, on_write=False)
            self._opened.set()
            return False
        finally:
            self._state = self._opening.state
        if found is None:
            return False
        beacon, state = found.beacon, found.state
        self._intake.quarantine = Quarantine(state.folder)
        self._fit_to(measured_of(state.folder))
        me = with_keys(state.begin_life(beacon, self._settings.side, self.ids), found.keys)
        link = Link(me, state.peer(), self.profile, now)
        self._health.worked(now, on_write=False)
        self._refuse.add(leftovers(self._folder, me))
        link.send([hello(me)])
        self._exchange.open(state, link, beacon)
        self._link = link
        self._opened.set()
        return True

    def _leave_stranger(self) -> None:
        """Begun while another device stood in the share's place, a side would wait for that one for ever.

        Only a link on which nobody was ever heard is left, and only while nothing is asked on it: one that was proved
        to be the right one is waited for, whatever stands in its place.
        """
        link, state = self._link, self._state
        if link is None or state is None or link.peer.epoch is not None or self._exchange.requests_open():
            return
        _LOG.warning("nobody was ever heard on the link opened at the start; opening the one that is here now")
        self._link = self._state = None
        self._refuse.clear()
        self._opening.leave()

    def _begin_above(self, link: Link, state: State, known: int) -> None:
        """The peer has seen a greater life of this side, whose clock was ahead then: below it nobody listens."""
        assert self._share.beacon is not None
        me = state.begin_life(self._share.beacon, self._settings.side, self.ids, known)
        _LOG.warning("the other side knows life %d of this one: life %d follows %d", known, me.life, link.me.life)
        link.begin_again(replace(link.me, epoch=me.epoch, life=me.life))

    def _fit_to(self, found: Measured | None) -> None:
        """Scan and wait as the doctor measured, unless the program knows better."""
        self._measured = found
        refuse_unsafe(self._settings.durability, found)
        if self._settings.profile is None:
            self.profile = self._intake.profile = fitting_profile(self.profile, found)
            self._lookout = Lookout(self.profile)

    def _close(self) -> None:
        link, state = self._link, self._state
        if link is not None and state is not None:
            now = self.clock.monotonic()
            while self._inbox:
                self._exchange.handle(self._inbox.popleft(), now)
            self._exchange.prepare(now)
            self._exchange.close()
            state.commit()
            if self._health.state == "ok" and self._usurped is None:
                self._guarded(lambda: self._write(link, state, math.inf), on_write=True, now=now)

    # --- the share

    def _guarded(self, action: Callable[[], bool], *, on_write: bool, now: float) -> None:
        """Do something with the share. Only an action that really touched it proves that it is ok again."""
        try:
            touched = action()
        except ShareFault as fault:
            self._down(fault, now, on_write=on_write)
            return
        if touched and (away := self._health.worked(self.clock.monotonic(), on_write=on_write)):
            _LOG.warning("the share is ok again after %.1f s", away)
            if self._link is not None:
                self._link.postpone(away)

    def _down(self, fault: ShareFault, now: float, *, on_write: bool) -> None:
        if self._health.failed(fault, now, on_write=on_write):
            _LOG.warning("the share is %s: %s", fault.state, fault)
        if not self._health.readable:
            self._lookout.due = max(self._lookout.due, self._health.retry_at)

    # --- receiving

    def _scan(self, link: Link, now: float, *, announced: bool) -> bool:
        self._watching = self.bell.listens()  # before the listing, so that nothing falls between the two
        self._share.assure()
        if self._health.state == "lost":
            self._folder.prepare()  # a subfolder may have been made anew by somebody who did not know what is in it
        started = self.clock.monotonic()
        names = self._folder.arrivals()
        cost = self.clock.monotonic() - started
        frames = self._intake.fresh(link, names)
        arrivals = 0
        for parsed, name in frames[: self.profile.files_per_tick]:
            arrivals += self._look_at(link, parsed, name, now)
        if guess := self._intake.guess(link, now, heard=arrivals > 0, waiting=self._exchange.requests_open()):
            arrivals += self._look_at(link, guess, str(guess), now)
        more = arrivals > 0 and len(frames) > self.profile.files_per_tick
        self._lookout.looked(now, cost, arrivals=arrivals, announced=announced)
        if arrivals:
            self._active_at = now
        if more:
            self._lookout.due = now
        return True

    def _look_at(self, link: Link, parsed: AnyName, name: str, now: float) -> int:
        """Read one file and act on it; 1 if it was new, 0 if there was nothing to see."""
        received = self._intake.take(link, parsed, name, now, self._share.doubt)
        if received is None:
            return 0
        if link.standing.superseded_by is not None:
            self._give_way(link, link.standing.superseded_by)
        self._exchange.take(received, now)
        return 1

    def _give_way(self, link: Link, epoch: str) -> None:
        """Two servers would run each request twice, so one ends. A client is only deaf and dumb, and says why: two
        that end, and that their machines start anew, would end each other for ever."""
        if self._usurped is not None:
            return
        self._usurped = usurper(self._folder, link.me, epoch)
        _LOG.error("%s", self._usurped)
        if self._exchange.gives_way:
            raise AlreadyRunning(self._usurped)
        self._refuse.clear()
        self._exchange.failed(ShareUnavailable("foreign", self._usurped))

    # --- sending

    def _write(self, link: Link, state: State, now: float) -> bool:
        published = self._publish(link, state)
        # After publishing it is the other side's turn, so there is time; before, somebody here waits for his.
        at_once = not self._inbox and (published or now - self._active_at >= REFUSE_SECONDS)
        self._refuse.add(link.take_refuse())
        return self._refuse.delete(keep=0 if at_once else MAX_REFUSE) or published

    def _publish(self, link: Link, state: State) -> bool:
        published = False
        for _ in range(self.profile.window + 1):
            now = self.clock.monotonic()
            due = link.outgoing(now, self.clock.wall(), requests_open=self._exchange.requests_open())
            if due:
                synced = state.begin_sync()  # nothing is told that the death of this machine could undo
                self._refuse.add(link.take_refuse())
                self._refuse.delete(keep=self.profile.window - link.in_flight)  # the folder holds one window at most
            for publication in due:
                self._share.assure()
                durable = self._settings.durability == "full"
                try:
                    self._folder.publish(str(publication.name), publication.data, durable=durable, first=synced)
                except ShareFault as fault:
                    link.failed(publication, name_used=fault.name_used)
                    raise
                link.published(publication, self.clock.monotonic())
                published = True
            if not due:
                break
        return published
