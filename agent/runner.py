"""The agent's loop: recover, then for ever report what is finished, execute what is in hand, or claim.

`step(now)` does the next thing that is due and says when it wants to be woken; what to do is decided in `recovery`.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agent.events import Event
from agent.executor.execution import AllowList, command_of, created_for, execute
from agent.executor.work import CommandFailed, DryRun, EnvironmentBlocked, NoLongerClaimed, Rules, Work
from agent.learning import MYSELF, SiteSource
from agent.outcomes import Outcome
from agent.pacer import Pacer
from agent.pacing import gap
from agent.ports import Hub, HubUnreachable, HubUnwell, Jira, Journal, Refusal
from agent.records import Claim, Claimed, Closed, Finished, Recovering, Reported, Session, Stopped
from agent.recovery import (
    AskHub,
    Close,
    Execute,
    GiveUp,
    LookUp,
    after_hub,
    first_thing,
    given_up,
    known_result,
    made_key,
    next_claim_in,
)
from agent.site import Site
from protocol.commands import COMMAND_TYPES
from protocol.messages import AGENT_VERSION, MAX_ERROR, AgentState, ClaimRequest, Delivery, Report
from relay.ports import Clock, Ids

FIRST_PROBE: Final = 60.0  # seconds; "never faster", for every probe of a broken Jira costs somebody
LAST_PROBE: Final = 900.0
MAX_ROUNDS: Final = 5  # times one command may find Jira unfit although the probe in between found it fit
IDLE: Final = 1.0  # seconds between two claims, should the hub answer "nothing" at once
HUB_AGAIN: Final = (1.0, 2.0, 5.0, 10.0, 30.0)
FULL_AGAIN: Final = 600.0  # seconds between two words to the hub that the day is full
REFUSED_AGAIN: Final[Mapping[str, float]] = {"paused": 30.0}
_NOT_COUNTED: Final = frozenset({Outcome.NOT_SENT, Outcome.NOT_LET_IN})  # never the fault of one command


@dataclass(frozen=True, slots=True)
class Settings:
    """What the runner must know of the configuration; seconds."""

    host: str = ""
    gap_floor: float = 1.0
    gap_floors: Mapping[str, float] = field(default_factory=dict)
    settle: float = 120.0
    projects: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset(COMMAND_TYPES)
    dry_run: bool = False
    commands_a_day: int | None = None
    between_reads: float = 0.0


@dataclass(slots=True)
class _Blocked:
    outcome: Outcome
    text: str
    since: float
    pause: float = FIRST_PROBE


class Runner:
    """One agent over its ports. Hold the journal's lock first; it must be the only one on the journal."""

    def __init__(
        self,
        *,
        jira: Jira,
        hub: Hub,
        journal: Journal,
        names: SiteSource,
        pacer: Pacer,
        clock: Clock,
        ids: Ids,
        settings: Settings,
        listener: Callable[[Event], None] = lambda _: None,
    ) -> None:
        self._jira = jira
        self._hub = hub
        self._journal = journal
        self._names = names
        self._pacer = pacer
        self._clock = clock
        self._ids = ids
        self._settings = settings
        self._tell = listener
        self._first = first_thing(journal.memory)
        self._crashed = not journal.memory.stopped
        self._recovered = False
        self._site: Site | None = None
        self._today: Delivery | None = None
        self._answered_claim: str | None = None
        self._blocked: _Blocked | None = None
        self._full: str | None = None  # why no command is claimed although Jira is fit
        self._rounds = 0
        self._last_refusal: Refusal | None = None
        self._lost_since: float | None = None
        self._lost_times = 0
        self.ended = 0  # commands that came to an end in this life
        self.idle = False  # the last claim found nothing

    def step(self, now: float) -> float:
        """Do what is due at the monotonic moment `now`; answers the moment of the next step.

        Raises `SiteFault` where the configuration does not fit Jira; nothing that Jira, hub or share do.
        """
        try:
            wake = self._turn(now)
        except HubUnreachable as error:
            return self._hub_lost(str(error))
        except EnvironmentBlocked as error:
            return self._block(error)
        if self._lost_since is not None:
            minutes = (self._clock.monotonic() - self._lost_since) / 60
            self._tell(Event("back", f"reconnected after {minutes:.0f} min"))
            self._lost_since, self._lost_times = None, 0
        return wake

    def _turn(self, now: float) -> float:
        if self._blocked is not None:
            return self._probe(self._blocked)
        if not self._recovered:
            self._recover()
            self._recovered = True
        memory = self._journal.memory
        if memory.finished is not None:
            return self._report(memory.finished)
        if memory.delivery is not None:
            return self._execute(self._today or memory.delivery, now)
        self._known_site()
        full = next_claim_in(memory, self._settings.commands_a_day, self._clock.wall())
        if full and memory.open_claim in (None, self._answered_claim):
            return self._day_is_full(full)
        self._full = None
        return self._claim()

    def _day_is_full(self, seconds: float) -> float:
        """This machine's own limit (a hub that was taken over must not flood Jira): claim nothing, say why."""
        self.idle = True
        if self._full is None:
            limit = self._settings.commands_a_day
            self._full = f"за сутки взято {limit} команд, больше не разрешает настройка агента (commands_a_day)"
            said = f"{limit} commands within 24 hours: the agent's settings allow no more (commands_a_day)"
            self._tell(Event("full", said, until=self._clock.monotonic() + seconds))
        self._heartbeat()
        return self._clock.monotonic() + min(seconds, FULL_AGAIN)

    # --- recovery

    def _recover(self) -> None:
        if self._journal.memory.session is None:
            self._journal.append(Session(at=self._clock.wall(), session=self._ids.new_id()))
        if isinstance(self._first, AskHub | GiveUp) and self._crashed:
            self._journal.append(Recovering(at=self._clock.wall(), command_id=self._first.delivery.id))
            self._crashed = False
        match self._first:
            case GiveUp(delivery, look_up):
                known = self._looked_up(delivery) if look_up else None
                self._fail(delivery, given_up(self._journal.memory), known)
            case AskHub(delivery):
                self._after_hub(delivery, self._hub.command(delivery.id))
            case _:
                pass  # a finished report and an open claim are sent again by the turns that follow

    def _after_hub(self, delivery: Delivery, today: Delivery | None) -> None:
        match after_hub(self._journal.memory, delivery, today):
            case Execute(current):
                self._today = current
            case Close(why, orphan):
                self._close(delivery, why, orphan=orphan)
            case LookUp(original):
                result = self._looked_up(original)
                if result is None:
                    self._close(original, "closed at the hub, nothing was created")
                else:
                    self._finish(original, Report(status="done", result=result, **self._counts(original)))

    def _looked_up(self, delivery: Delivery) -> dict[str, Any] | None:
        try:
            return created_for(self._work(delivery), command_of(delivery, self._allowed()))
        except CommandFailed:
            return None

    # --- executing

    def _known_site(self) -> Site:
        if self._site is None:
            self._site = self._names.site()
        return self._site

    def _gap(self, delivery: Delivery) -> float:
        floor = self._settings.gap_floors.get(delivery.type, self._settings.gap_floor)
        return gap(delivery.pause_seconds, floor)

    def _allowed(self) -> AllowList:
        return AllowList(self._settings.projects, self._settings.types)

    def _work(self, delivery: Delivery) -> Work:
        return Work(
            delivery,
            jira=self._jira,
            hub=self._hub,
            journal=self._journal,
            pacer=self._pacer,
            clock=self._clock,
            site=self._known_site(),
            rules=Rules(
                self._gap(delivery), self._settings.settle, self._settings.dry_run, self._settings.between_reads
            ),
        )

    def _execute(self, delivery: Delivery, now: float) -> float:
        self._known_site()
        allowed = self._pacer.allowed_at(self._gap(delivery))
        if allowed > now:
            self._tell(Event("waiting", delivery=delivery, until=allowed))
            return allowed
        try:
            result = execute(self._work(delivery), command_of(delivery, self._allowed()))
        except CommandFailed as error:
            self._fail(delivery, str(error), error.known)
        except NoLongerClaimed as error:
            self._give_back(delivery, str(error))
        except DryRun as error:
            self._close(delivery, f"dry run: would {error}")
        except EnvironmentBlocked as error:
            if error.outcome in _NOT_COUNTED:
                raise
            self._rounds += 1
            if self._rounds < MAX_ROUNDS:
                raise
            self._fail(delivery, f"{MAX_ROUNDS} попыток подряд: {error}")
        else:
            if self._settings.dry_run:
                self._close(delivery, "dry run: nothing to write")
            else:
                self._finish(delivery, Report(status="done", result=result, **self._counts(delivery)))
        return self._clock.monotonic()

    def _give_back(self, delivery: Delivery, status: str) -> None:
        """What was written before a person cancelled is told all the same, as a late result (P8)."""
        memory = self._journal.memory
        if made_key(memory) is not None:
            self._finish(delivery, Report(status="done", result=known_result(memory), **self._counts(delivery)))
        elif memory.written:
            self._fail(delivery, f"команду сняли посреди выполнения ({status}): сделано не всё")
        else:
            self._close(delivery, f"the hub says {status}")

    def _counts(self, delivery: Delivery) -> dict[str, Any]:
        memory = self._journal.memory
        return {"jira_calls": memory.calls, "rate_limited": memory.rate_limited, "delivery": delivery.delivery}

    def _fail(self, delivery: Delivery, error: str, known: Mapping[str, Any] | None = None) -> None:
        result = {**known_result(self._journal.memory), **(known or {})} or None
        text = error if len(error) <= MAX_ERROR else f"{error[: MAX_ERROR - 1]}…"
        self._finish(delivery, Report(status="failed", error=text, result=result, **self._counts(delivery)))

    def _finish(self, delivery: Delivery, report: Report) -> None:
        record = Finished(at=self._clock.wall(), command_id=delivery.id, request_id=self._ids.new_id(), report=report)
        self._journal.append(record)
        self._tell(Event("ended", "", delivery, report, self._pacer.allowed_at(self._gap(delivery))))

    def _close(self, delivery: Delivery, why: str, *, orphan: bool = False) -> None:
        finished = self._journal.memory.finished
        record = Closed(at=self._clock.wall(), command_id=delivery.id, why=why)
        if orphan:
            self._journal.keep_orphan(finished or record)
        self._journal.append(record)
        self._tell(Event("rehearsed" if self._settings.dry_run else "closed", why, delivery))
        self._over()

    def _over(self) -> None:
        self._today = None
        self._rounds = 0
        self.ended += 1
        self._journal.compact()

    # --- the hub

    def _state(self) -> dict[str, Any]:
        memory = self._journal.memory
        return {
            "agent_version": AGENT_VERSION,
            "session": memory.session,
            "host": self._settings.host or None,
            "blocked": self._blocked.text[:MAX_ERROR] if self._blocked else self._full,
            "current_command_id": memory.delivery.id if memory.delivery else None,
        }

    def _report(self, finished: Finished) -> float:
        try:
            refusal = self._hub.report(finished.command_id, finished.report, finished.request_id)
        except HubUnwell:
            # The relay keeps every answer: under the same id this one would come back for ever.
            self._journal.append(finished.model_copy(update={"request_id": self._ids.new_id()}))
            raise
        delivery = self._journal.memory.delivery
        assert delivery is not None
        if refusal is None:
            self._journal.append(Reported(at=self._clock.wall(), command_id=finished.command_id))
            self._over()
        elif refusal.status == 404:
            self._close(delivery, "the hub does not know this command", orphan=True)
        elif refusal.code == "not_claimed":
            self._close(delivery, refusal.detail)
        elif refusal.status in (413, 422) and finished.report.status == "done":
            self._fail(delivery, f"хаб не принял отчёт: {refusal.said}")
        elif refusal.status in (413, 422):
            self._close(delivery, f"the hub refused the report: {refusal.detail}", orphan=True)
        else:
            return self._refused(refusal)
        return self._clock.monotonic()

    def _claim(self) -> float:
        request_id = self._journal.memory.open_claim
        if request_id is None or request_id == self._answered_claim:
            request_id = self._ids.new_id()
            self._journal.append(Claim(at=self._clock.wall(), request_id=request_id))
        before = self._clock.monotonic()
        try:
            answer = self._hub.claim(ClaimRequest(**self._state()), request_id)
        except HubUnwell:
            self._answered_claim = request_id  # an answer too, although it says nothing
            raise
        self._answered_claim = request_id
        self.idle = answer is None
        if isinstance(answer, Refusal):
            return self._refused(answer)
        self._last_refusal = None
        if answer is None:
            return max(self._clock.monotonic(), before + IDLE)
        self._journal.append(Claimed(at=self._clock.wall(), request_id=request_id, delivery=answer))
        self._tell(Event("claimed", delivery=answer))
        return self._clock.monotonic()

    def _refused(self, refusal: Refusal) -> float:
        if refusal != self._last_refusal:
            self._tell(Event("refused", f"{refusal.code}: {refusal.said}"))
        self._last_refusal = refusal
        return self._clock.monotonic() + REFUSED_AGAIN.get(refusal.code, 60.0)

    def _hub_lost(self, text: str) -> float:
        if self._lost_since is None:
            self._lost_since = self._clock.monotonic()
            self._tell(Event("lost", text))
        pause = HUB_AGAIN[min(self._lost_times, len(HUB_AGAIN) - 1)]
        self._lost_times += 1
        return self._clock.monotonic() + pause

    # --- a Jira that is not fit for work

    def _block(self, error: EnvironmentBlocked) -> float:
        pause = max(FIRST_PROBE, error.wait_seconds)
        self._blocked = blocked = _Blocked(error.outcome, str(error), self._clock.monotonic(), pause)
        self._tell(Event("blocked", str(error)))
        self._heartbeat()
        return self._clock.monotonic() + blocked.pause

    def _probe(self, blocked: _Blocked) -> float:
        if blocked.outcome is Outcome.NOT_LET_IN:
            # Each try feeds the counter that locks the account: only a person tries again, by a new token or a restart.
            if not self._jira.renewed():
                self._heartbeat()
                return self._clock.monotonic() + FIRST_PROBE
            self._names.forget()
            self._site = None
        delivery = self._journal.memory.delivery
        # A call of the command that waits for it: every request sent counts (G-48), and its gap is kept (P3).
        allowed = self._pacer.allowed_at(self._gap(self._today or delivery)) if delivery else 0.0
        if allowed > self._clock.monotonic():
            return allowed
        found = self._jira.send(MYSELF, command_id=delivery.id if delivery else None)
        if found.outcome is Outcome.OK:
            minutes = (self._clock.monotonic() - blocked.since) / 60
            self._blocked = None
            self._tell(Event("unblocked", f"Jira is back after {minutes:.0f} min"))
            return self._clock.monotonic()
        blocked.outcome, blocked.text = found.outcome, found.text
        blocked.pause = max(min(blocked.pause * 2, LAST_PROBE), found.wait_seconds)
        self._heartbeat()
        return self._clock.monotonic() + blocked.pause

    def _heartbeat(self) -> None:
        # The hub learns of it with the next one; being unreachable as well changes nothing here.
        with contextlib.suppress(HubUnreachable):
            self._hub.heartbeat(AgentState(**self._state()))

    def stop(self) -> None:
        """Note an orderly end, so that the next start is not counted as a crash."""
        self._journal.append(Stopped(at=self._clock.wall()))
