"""The work on one command: its reads and writes, paced, journalled, counted, and what may be sent again.

Which reads and writes are made is decided by the executors beside this module and by the differences.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tenacity import RetryCallState, Retrying, retry_if_result, stop_after_attempt

from agent.outcomes import Answer, JiraRequest, Outcome
from agent.pacer import Pacer
from agent.ports import Hub, Jira, Journal
from agent.records import Intent, Step
from agent.recovery import made_key
from agent.site import Site
from agent.writes import CREATION, CreateIssue, DeleteLink, Write, request_of, said
from protocol.messages import Delivery
from relay.ports import Clock

READ_ATTEMPTS: Final = 4
RATE_ATTEMPTS: Final = 8  # by then four minutes have gone by at least: the environment is not fit for work
SEND_ATTEMPTS: Final = 4  # of a write that never left
MAX_UNKNOWN: Final = 3  # writes of one command whose outcome nobody knows; then a person must look
FIRST_BACKOFF: Final = 10.0

_READ_AGAIN: Final = frozenset({Outcome.NOT_SENT, Outcome.UNKNOWN, Outcome.BROKEN, Outcome.GATEWAY, Outcome.TOO_MANY})
_UNEXECUTED: Final = frozenset({Outcome.NOT_SENT, Outcome.TOO_MANY})  # the only outcomes after which a write goes again
_UNKNOWN: Final = frozenset({Outcome.UNKNOWN, Outcome.BROKEN, Outcome.GATEWAY})
_SAID_NO: Final = frozenset({Outcome.REFUSED, Outcome.FORBIDDEN})


class CommandFailed(Exception):
    """The command cannot be done; the text goes into its `error`, and what is `known` all the same into its result."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.known: dict[str, Any] = {}


class Refused(CommandFailed):
    """Jira said no to a request, in its own words: nothing was executed."""


class EnvironmentBlocked(Exception):
    """Jira, or the way to it, is not fit for work. The command is kept. O6: not even a probe without a person.

    `wait_seconds` is how long Jira asks to be left alone.
    """

    def __init__(self, outcome: Outcome, text: str, wait_seconds: float = 0.0) -> None:
        super().__init__(text)
        self.outcome = outcome
        self.wait_seconds = wait_seconds


class NoLongerClaimed(Exception):
    """The hub no longer wants this command done; nothing was written. The text is its status of today."""


class DryRun(Exception):
    """The end of a rehearsal; the text is the write that was not made."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Settings of the agent's that concern the work on a command; seconds."""

    gap_seconds: float
    settle_seconds: float
    dry_run: bool = False
    between_reads_seconds: float = 0.0


def attempts(limits: dict[Outcome, int]) -> Callable[[RetryCallState], bool]:
    """A tenacity stop: so many attempts, by the outcome of the last one."""
    stops = {outcome: stop_after_attempt(limit) for outcome, limit in limits.items()}

    def stop(state: RetryCallState) -> bool:
        assert state.outcome is not None
        return stops[state.outcome.result().outcome](state)

    return stop


class Work:
    """One delivery in hand. Every request it makes is a call of its command."""

    def __init__(
        self,
        delivery: Delivery,
        *,
        jira: Jira,
        hub: Hub,
        journal: Journal,
        pacer: Pacer,
        clock: Clock,
        site: Site,
        rules: Rules,
    ) -> None:
        self.delivery = delivery
        self.site = site
        self._jira = jira
        self._hub = hub
        self._journal = journal
        self._pacer = pacer
        self._clock = clock
        self._rules = rules
        self._called = False
        # A write attempted in an earlier life keeps the gap too.
        self._attempted = bool(journal.memory.written) or journal.memory.unsettled is not None
        self._unknown: list[str] = []  # what was said of the writes whose outcome nobody knows
        self.identities: dict[str, str | None] = {}  # by key, as far as Jira was asked: they never change

    @property
    def created_key(self) -> str | None:
        """The issue this command has created, if Jira said so."""
        return self._journal.memory.created_key

    @property
    def made_key(self) -> str | None:
        """The same, or what an earlier command of the same root has created."""
        return made_key(self._journal.memory)

    @property
    def tried_to_create(self) -> bool:
        """Whether a creation for this command was ever begun."""
        return self._journal.memory.tried_to_create

    @property
    def newest_own_key(self) -> str | None:
        """The newest issue this agent has created for any command."""
        return self._journal.memory.newest_own_key

    @property
    def written(self) -> tuple[str, ...]:
        """The writes of this command that were done, in this life and earlier ones."""
        return self._journal.memory.written

    @property
    def unsettled(self) -> Intent | None:
        """A write that may or may not have happened."""
        return self._journal.memory.unsettled

    @property
    def age_seconds(self) -> float:
        """How long ago an effect of this command may have come about: since its first delivery, or since a write of
        unknown outcome that an earlier command of its root left behind."""
        since = self._clock.wall() if self.unsettled is None else self.unsettled.at
        return max(self.delivery.age_seconds, self._clock.wall() - since)

    def read(self, request: JiraRequest) -> Any:
        """The JSON of a reading; raises `CommandFailed` or `EnvironmentBlocked`."""
        found = self.try_read(request)
        if found.outcome is not Outcome.OK:
            raise Refused(found.text)
        return found.json

    def try_read(self, request: JiraRequest) -> Answer:
        """A reading whose refusal (O5, O7) is an answer too. Repeated while it is the way that fails, not Jira."""
        retrying = Retrying(
            retry=retry_if_result(lambda found: found.outcome in _READ_AGAIN),
            stop=attempts({**dict.fromkeys(_READ_AGAIN, READ_ATTEMPTS), Outcome.TOO_MANY: RATE_ATTEMPTS}),
            wait=self._pause_again,
            sleep=self._pacer.sleep,
            retry_error_callback=_last,
        )
        found: Answer = retrying(self._read_once, request)
        if found.outcome is Outcome.OK or found.outcome in _SAID_NO:
            return found
        if found.outcome is Outcome.BROKEN:
            raise CommandFailed(found.text)  # Jira is there and breaks on this very request
        raise EnvironmentBlocked(found.outcome, found.text, found.wait_seconds)

    def _read_once(self, request: JiraRequest) -> Answer:
        # Reads of one command follow at once unless this machine is told otherwise, but for the pages of a refresh.
        first = not self._called or self.delivery.type == "refresh"
        self._pacer.wait_gap(self._rules.gap_seconds if first else self._rules.between_reads_seconds)
        self._called = True
        return self._jira.send(request, command_id=self.delivery.id)

    def _pause_again(self, state: RetryCallState) -> float:
        """A retry is a call like any other: never before the gap; after a 429 never before Jira says so."""
        assert state.outcome is not None
        found: Answer = state.outcome.result()
        backoff = FIRST_BACKOFF * 2 ** (state.attempt_number - 1)
        return max(found.wait_seconds or backoff, self._rules.gap_seconds)

    def write(self, write: Write) -> bool:
        """Write once; False: nobody knows whether it happened, the state must be read before anything else.

        Raises `CommandFailed`, `EnvironmentBlocked`, `NoLongerClaimed`, `DryRun`, `HubUnreachable`.
        """
        if self._rules.dry_run:
            raise DryRun(said(write))
        if len(self._unknown) >= MAX_UNKNOWN:
            # Here and not at once: what the last of them did has been looked at by now.
            raise CommandFailed(f"исход записи неизвестен {MAX_UNKNOWN} раза подряд: {self._unknown[-1]}")
        retrying = Retrying(
            retry=retry_if_result(lambda found: found.outcome in _UNEXECUTED),
            stop=attempts({Outcome.NOT_SENT: SEND_ATTEMPTS, Outcome.TOO_MANY: RATE_ATTEMPTS}),
            wait=self._pause_again,
            sleep=self._pacer.sleep,
            retry_error_callback=_last,
        )
        found: Answer = retrying(self._write_once, write)
        if found.outcome in _UNKNOWN:
            self._unknown.append(found.text)
            return False
        if found.outcome is Outcome.OK or _is_gone(write, found):
            return True
        if found.outcome in _SAID_NO:
            raise Refused(found.text)
        raise EnvironmentBlocked(found.outcome, found.text, found.wait_seconds)

    def _write_once(self, write: Write) -> Answer:
        if self._attempted or not self._called:
            self._pacer.wait_gap(self._rules.gap_seconds)
        self._check_claim()
        text = said(write)
        self._attempted = self._called = True
        self._journal.append(
            Intent(
                at=self._clock.wall(),
                command_id=self.delivery.id,
                write=text,
                boot_id=self._clock.boot_id(),
                monotonic=self._clock.monotonic(),
            )
        )
        found = self._jira.send(request_of(write), command_id=self.delivery.id)
        if found.outcome not in _UNKNOWN:
            done = found.outcome is Outcome.OK or _is_gone(write, found)
            created = str(found.json["key"]) if done and isinstance(write, CreateIssue) else None
            self._step(text, done=done, created_key=created)
        return found

    def _check_claim(self) -> None:
        """Right before every write: a person may have cancelled in the pause, the gap or the block before it (H14)."""
        today = self._hub.command(self.delivery.id)
        if today is None or today.status != "claimed":
            raise NoLongerClaimed("unknown to the hub" if today is None else today.status)

    def _step(self, text: str, *, done: bool, created_key: str | None = None) -> None:
        self._journal.append(
            Step(
                at=self._clock.wall(),
                command_id=self.delivery.id,
                write=text,
                outcome="done" if done else "not done",
                created_key=created_key,
            )
        )

    def wait_settled(self) -> None:
        """Wait until the unsettled write has happened or never will, and the search index shows an issue it made."""
        if self.unsettled is not None:
            window = max(self._rules.gap_seconds, self._rules.settle_seconds)
            # A creation may be as late as one window, and the index that has to show it lag behind it by another.
            windows = 2 if self.unsettled.write == CREATION else 1
            self._pacer.wait_settled(self.unsettled, windows * window)

    def wait_once_more(self) -> None:
        """One settle window from now: for an index that does not live yet."""
        self._pacer.sleep(max(self._rules.gap_seconds, self._rules.settle_seconds))

    def settle(self, *, done: bool, created_key: str | None = None) -> None:
        """The state was read and tells whether the unsettled write has happened."""
        if self.unsettled is not None:
            self._step(self.unsettled.write, done=done, created_key=created_key)


def _last(state: RetryCallState) -> Answer:
    assert state.outcome is not None
    found: Answer = state.outcome.result()
    return found


def _is_gone(write: Write, found: Answer) -> bool:
    return isinstance(write, DeleteLink) and found.outcome is Outcome.REFUSED and found.status == 404


def bring_about(
    work: Work, missing: Callable[[], tuple[Write, ...]], *, step_by_step: bool = False, rounds: int = 8
) -> None:
    """Write what is `missing` until nothing is; `missing` reads the state of now and takes the difference.

    A write of unknown outcome is never sent again blindly: the state is read at once, and if the effect is not there,
    once more after the settle window; only then may the same difference be written anew.
    `step_by_step` reads again after each write, where the next depends on what the last one did.
    """
    for _ in range(rounds):
        writes = missing()
        texts = {said(write) for write in writes}
        if work.unsettled is not None and work.unsettled.write in texts:
            work.wait_settled()
            writes = missing()
            texts = {said(write) for write in writes}
        if work.unsettled is not None:
            work.settle(done=work.unsettled.write not in texts)
        if not writes:
            return
        if all(work.write(write) for write in (writes[:1] if step_by_step else writes)) and not step_by_step:
            return
    raise CommandFailed(f"за {rounds} попыток состояние не стало желаемым")
