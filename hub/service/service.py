"""`Service`: every use case in a transaction of its own, then a ring of the bell. Rules stand elsewhere, HTTP too.

The functions beside this module take the `Transaction` that only a `Database` can make and that dies with its end.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from hub.errors import Language, Refusal
from hub.metrics import Family
from hub.moments import moment
from hub.restoring import Mark
from hub.service import batches, claiming, measuring, proposals, renewing, reporting, views
from hub.service import settings as link_settings
from hub.service.answers import Answer
from hub.service.bell import Bell
from hub.service.delivering import BackupFirst, Copy, Terms, delivered_body
from hub.service.intake import Intake
from hub.service.mirror import Mirror
from hub.service.planner import Planner
from hub.service.taking_over import begin_life, check_mirror_was_read, epochs
from hub.service.work import Marks, Work
from hub.store.connection import AnyDatabase, Transaction
from hub.store.schema import migrate
from protocol.messages import AgentState, ClaimRequest, Report
from relay.ports import Clock, Ids

_log = logging.getLogger("hub")
NEWEST_ANSWERS_KEPT: Final = 1_000
ANSWERS_KEPT_SECONDS: Final = 30 * 86_400.0  # as long as the relay keeps the ids of its requests
_LOOKS_WITH_COPIES: Final = 4  # one to learn of the batch, one to deliver, two more if batches are cancelled between


class Backups(Protocol):
    """Copies of the database."""

    def make(self, label: str) -> Path:
        """A copy named by the time and `label`; raises `OSError` or `sqlite3.Error`."""
        ...

    def copies(self) -> list[Path]:
        """Every copy there is, the newest first."""
        ...


class Service:
    """The hub's use cases over one database. Thread-safe; `backups` None means that no copies are made.

    `marks` None means that a database restored from a copy is not found out; `taken_over` says what was done to one.
    """

    def __init__(
        self,
        database: AnyDatabase,
        *,
        clock: Clock,
        ids: Ids,
        backups: Backups | None = None,
        marks: Marks | None = None,
    ) -> None:
        self.bell = Bell()
        self._clock = clock
        self.backups = backups
        self._work = Work(database, clock, self.bell)
        self.intake = Intake(self._work)
        self.mirror = Mirror(self._work)
        self.plans = Planner(self._work)
        migrate(database, backups.make if backups is not None else lambda label: None)
        self._ids, self._marks = ids, marks
        self._beginning = threading.Lock()
        self._begin(marks.read() if marks is not None else None)
        database.listen(self.bell.ring)

    def _begin(self, mark: Mark | None) -> None:
        with self._work.unmarked() as transaction:
            for statement in ("count_unknown_deliveries", "note_unknown_definers", "note_unknown_needs"):
                transaction.run(statement)
            fresh = (self._ids.new_id(), self._ids.new_id())
            self.epoch, self.taken_over = begin_life(transaction, mark, fresh)
            self._epochs = epochs(transaction, self.epoch)
        if self._marks is not None:
            self._work.mark_from_now_on(self._marks, self.epoch, self._begin_anew)

    def _begin_anew(self, known: Mark) -> None:
        """The database under us is not the one we knew: as at a start after a restoring. Threads find out at once."""
        with self._beginning:
            if self.epoch == known.epoch:
                self._begin(known)
                self.tell_if_taken_over()
        self.bell.ring()

    def tell_if_taken_over(self) -> None:
        """Have the log say that a restored database waits for a person."""
        if self.taken_over is not None:
            _log.warning(
                "the database was restored from a copy or came from elsewhere: %d commands are on hold until a person "
                "lets them go on (jira-hub batch list --held)",
                self.taken_over.held,
            )

    # The agent's use cases

    def claim(
        self,
        link: str,
        request: ClaimRequest,
        *,
        request_key: str | None = None,
        first: bool = True,
        last: bool = True,
        wanted: Callable[[], bool] = lambda: True,
    ) -> Answer | None:
        """One look of a claim: an answer, or None where it may go on waiting (`last` false).

        A claim no longer `wanted` answers empty without effect. Raises `Refusal`.
        """
        look = claiming.Look(request_key, wanted, last, copies=self.backups is not None, first=first)
        for _ in range(_LOOKS_WITH_COPIES):
            with self._work.writing(link) as transaction:
                found = claiming.claim(transaction, link, request, look, self._epochs)
                if isinstance(found, Answer):
                    transaction.announce()
            if not isinstance(found, BackupFirst):
                break
            look = replace(look, copy=self._copy_for(found.batch_id))
        match found:
            case Answer():
                self.bell.ring()
                return found
            case Refusal():
                raise found
            case claiming.Withdrawn():
                return claiming.NOTHING_TO_DO
            case claiming.KeepWaiting() | BackupFirst():
                return None

    def report(
        self,
        link: str,
        command_id: int,
        said: Report,
        *,
        request_key: str | None = None,
        language: Language = "en",
    ) -> Answer:
        """Take a report in. Raises `Refusal`, but `not_claimed` comes as a stored answer."""
        with self._work.writing(link) as transaction:
            transaction.announce()
            answer = reporting.report(transaction, link, command_id, said, request_key, language)
        self.bell.ring()
        return answer

    def delivery(self, link: str, command_id: int) -> dict[str, Any]:
        """The command as it was delivered, with today's status and pause."""
        with self._work.reading() as transaction:
            row = batches.command_row(transaction, link, command_id)
            settings = link_settings.link_settings(transaction, link)
            terms = Terms(link, settings, self._epochs, copies=False)
            return delivered_body(transaction, row, terms)

    def heartbeat(self, link: str, state: AgentState) -> None:
        """Keep how the agent is; the command in its hands is the one it names."""
        with self._work.writing(link) as transaction:
            agent = transaction.one("agent", link=link)
            claiming.hold_session(transaction, link, agent, state)
            claiming.seen(transaction, link, agent, state, state.current_command_id, agent["claim"] if agent else None)

    # People's use cases

    def create_batch(
        self,
        link: str,
        author: str,
        title: str,
        commands: Sequence[object],
        *,
        held: bool = False,
        assistant: bool = False,
        request_key: str | None = None,
    ) -> Answer:
        """Store a batch: 201 with the batch as JSON text. Raises `Refusal` with every fault.

        What an assistant makes waits for a person, unless the link trusts assistants.
        """
        make = proposals.propose if assistant else batches.create_batch
        return self._work.answered(
            link,
            request_key,
            201,
            lambda transaction: make(transaction, link, author, title, commands, held=held),
        )

    def refresh(self, link: str, author: str, wish: Mapping[str, Any], *, request_key: str | None = None) -> Answer:
        """A batch of one reading: `wish` has `keys` or `jql`. Raises `Refusal`."""
        return self.create_batch(link, author, "Refresh", [{**wish, "type": "refresh"}], request_key=request_key)

    def batch(self, link: str, batch_id: int) -> dict[str, Any]:
        with self._work.reading() as transaction:
            return self._batch(transaction, link, batch_id)

    def batch_list(
        self, link: str, *, limit: int, before: int | None = None, held: bool | None = None
    ) -> dict[str, Any]:
        """The newest batches first, a page of them; `held` true: those that wait for a person, false: the others."""
        wanted = None if held is None else int(held)
        with self._work.reading() as transaction:
            rows = transaction.all("batches", link=link, before=before or _BEYOND, held=wanted, limit=limit + 1)
            items = [views.batch_head(transaction, row) for row in rows[:limit]]
        return views.page(items, "id", more=len(rows) > limit)

    def cancel_batch(self, link: str, batch_id: int, who: str) -> dict[str, Any]:
        def act(transaction: Transaction) -> dict[str, Any]:
            batches.cancel_batch(transaction, link, batch_id, who)
            return self._batch(transaction, link, batch_id)

        return self._work.changed(act, link)

    def approve_batch(self, link: str, batch_id: int, *, who: str = "api", digest: str | None = None) -> dict[str, Any]:
        """Let a held batch go out; with a `digest` only while the mirror shows what was seen."""

        def act(transaction: Transaction) -> dict[str, Any]:
            check_mirror_was_read(transaction, link, batch_id)
            proposals.approve(transaction, link, batch_id, who, digest)
            return self._batch(transaction, link, batch_id)

        return self._work.changed(act, link)

    def retry_batch(self, link: str, batch_id: int, author: str) -> dict[str, Any]:
        return self._work.changed(lambda transaction: batches.retry_batch(transaction, link, batch_id, author), link)

    def command(self, link: str, command_id: int) -> dict[str, Any]:
        with self._work.reading() as transaction:
            return views.command_details(transaction, batches.command_row(transaction, link, command_id))

    def command_list(
        self, link: str, *, limit: int, before: int | None = None, filters: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The newest commands first; `filters` may name status, type, batch_id, key, text."""
        wanted = {**dict.fromkeys(("status", "type", "batch_id", "key", "text")), **(filters or {})}
        with self._work.reading() as transaction:
            rows = transaction.all("commands", link=link, before=before or _BEYOND, limit=limit + 1, **wanted)
        return views.page([views.command_view(row) for row in rows[:limit]], "id", more=len(rows) > limit)

    def cancel_command(
        self, link: str, command_id: int, who: str, *, force: bool = False, language: Language = "en"
    ) -> dict[str, Any]:
        """Cancel a queued command, or with `force` a claimed one; the view has a `warning` then."""

        def act(transaction: Transaction) -> dict[str, Any]:
            warning = batches.cancel_command(transaction, link, command_id, who, force=force)
            shown = views.command_details(transaction, batches.command_row(transaction, link, command_id))
            return {**shown, "warning": warning.in_language(language)} if warning else shown

        return self._work.changed(act, link)

    def retry_command(self, link: str, command_id: int, author: str) -> dict[str, Any]:
        return self._work.changed(
            lambda transaction: batches.retry_command(transaction, link, command_id, author), link
        )

    def settings(self, link: str) -> dict[str, Any]:
        with self._work.reading() as transaction:
            return link_settings.settings_view(transaction, link)

    def change_settings(self, link: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Set what is named. Raises `Refusal`."""

        def act(transaction: Transaction) -> dict[str, Any]:
            link_settings.change_settings(transaction, link, wanted)
            return link_settings.settings_view(transaction, link)

        return self._work.changed(act, link)

    def serve_link(self, link: str, fixed: Mapping[str, Any]) -> None:
        """Let every hub of this database know that the link is served; `fixed` settings win over stored ones."""

        def act(transaction: Transaction) -> None:
            if link_settings.value_of(transaction, link, "served_since") is None:
                link_settings.put_setting(transaction, link, "served_since", transaction.now)
            link_settings.change_settings(transaction, link, fixed)

        self._work.changed(act, link)

    def served_links(self) -> list[str]:
        """Every link that a hub of this database has ever served."""
        with self._work.reading() as transaction:
            return [row["link"] for row in transaction.all("served_links")]

    def adopt(self, link: str) -> dict[str, Any]:
        """A person lets another agent take the link over: the next one that claims holds it."""

        def act(transaction: Transaction) -> dict[str, Any]:
            claiming.release(transaction, link)
            return views.agent_view(transaction, link)

        return self._work.changed(act, link)

    def status(self, link: str) -> dict[str, Any]:
        with self._work.reading() as transaction:
            return views.status_view(transaction, link)

    def events(self, link: str, after: int) -> list[dict[str, Any]]:
        """Moves of commands since the event `after`, at most 500."""
        with self._work.reading() as transaction:
            return [views.event_view(row) for row in transaction.all("events_after", link=link, id=after)]

    def newest_event(self) -> int:
        with self._work.reading() as transaction:
            row = transaction.one("newest_event_id")
            return int(row["id"]) if row is not None else 0

    def housekeeping(self) -> None:
        """Forget answers nobody can ask for again; the newest stay, though a clock far ahead calls them old."""
        before = moment(self._clock.wall() - ANSWERS_KEPT_SECONDS)
        with self._work.writing() as transaction:
            transaction.run("forget_plans", before=before)
            transaction.run("forget_answers", before=before, newest=NEWEST_ANSWERS_KEPT)

    def measured(self) -> tuple[Family, ...]:
        """Figures of every link, for a scrape."""
        with self._work.reading() as transaction:
            return measuring.measured(transaction)

    def renew_mirrors(self) -> list[int]:
        """Make the automatic refreshes that are due; the ids of their batches."""
        with self._work.reading() as transaction:
            links = [row["link"] for row in transaction.all("links_that_renew")]
        made = [self._work.changed(partial(renewing.renew, link=link), link) for link in links]
        return [batch_id for batch_id in made if batch_id is not None]

    # Inside

    def _batch(self, transaction: Transaction, link: str, batch_id: int) -> dict[str, Any]:
        row = batches.batch_row(transaction, link, batch_id)
        return views.batch_view(transaction, row, link_settings.link_settings(transaction, link).pacing)

    def _copy_for(self, batch_id: int) -> Copy:
        assert self.backups is not None  # a claim asks for a copy only where copies are made
        return Copy(batch_id, str(self.backups.make(f"batch-{batch_id}")))


_BEYOND: Final = 2**62  # above every id
