"""How every use case works: one transaction at the present time, then a ring of the bell. No use case in here."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, TypeVar

from hub.errors import Refusal, Said
from hub.moments import moment
from hub.restoring import Mark
from hub.service.answers import Answer, json_text, settled_params, store, stored
from hub.service.bell import Bell
from hub.store.connection import AnyDatabase, Transaction
from relay.ports import Clock

T = TypeVar("T")


class _Exchanged(Exception):
    """Somebody restored a copy of the database, or put another one there, while we worked on it."""


_log = logging.getLogger(__name__)


class Marks(Protocol):
    """The high-water mark beside the database."""

    def read(self) -> Mark | None: ...

    def write(self, mark: Mark) -> None:
        """Raises `OSError`."""
        ...


class Work:
    """Transactions of one database, their time from one clock, their end told by one bell."""

    def __init__(self, database: AnyDatabase, clock: Clock, bell: Bell) -> None:
        self._database = database
        self._clock = clock
        self._bell = bell
        self._marks: Marks | None = None
        self._known = Mark("", 0)  # the epoch we work under, the newest event we know to be committed
        self._exchanged: Callable[[Mark], None] = lambda known: None

    def now(self) -> str:
        return moment(self._clock.wall())

    def reading(self) -> AbstractContextManager[Transaction]:
        return self._database.reading(self.now())

    def writing(self, link: str | None = None) -> AbstractContextManager[Transaction]:
        """Alone on this link, or on the whole database where none is named; the mark rises after the commit."""
        writing = self._database.writing(self.now(), link)
        return writing if self._marks is None else self._marked(writing, self._marks)

    def mark_from_now_on(self, marks: Marks, epoch: str, exchanged: Callable[[Mark], None]) -> None:
        """Every commit raises the mark, beginning with what is committed now.

        `exchanged(known)` is called when the database is another one, or an older one, than was last `known`.
        """
        with self.reading() as transaction:
            newest = transaction.one("newest_event_id")
        assert newest is not None  # an aggregate always has its row
        known = Mark(epoch, newest["id"])
        marks.write(known)
        self._marks, self._known, self._exchanged = marks, known, exchanged

    def unmarked(self) -> AbstractContextManager[Transaction]:
        """Alone on the whole database, whichever it is."""
        return self._database.writing(self.now())

    def changed(self, act: Callable[[Transaction], T], link: str | None = None) -> T:
        """`act` in a transaction; whoever waits looks again after it."""
        with self.writing(link) as transaction:
            result = act(transaction)
            transaction.announce()
        self._bell.ring()
        return result

    @contextmanager
    def _marked(self, writing: AbstractContextManager[Transaction], marks: Marks) -> Iterator[Transaction]:
        known = self._known  # before the transaction begins: whatever is known then, it has to see
        try:
            with writing as transaction:
                yield transaction
                life = transaction.one("life")
                assert life is not None  # an aggregate always has its row
                if life["epoch"] != known.epoch or life["event_id"] < known.event_id:
                    raise _Exchanged  # and nothing of this is committed
        except _Exchanged:
            self._exchanged(known)
            raise _replaced() from None
        now_known = Mark(known.epoch, life["event_id"])
        if self._known.epoch == known.epoch and self._known.event_id < now_known.event_id:
            self._known = now_known
        try:
            marks.write(now_known)
        except OSError as error:
            # What was committed is committed. A mark too low finds fewer copies out, which is no reason to fail.
            _log.warning("the high-water mark cannot be written: %s", error)

    def answered(
        self, link: str, request_key: str | None, status: int, act: Callable[[Transaction], Mapping[str, Any]]
    ) -> Answer:
        """What `act` made, as JSON under `status`; under the same key the same bytes, and `act` is not asked again."""

        def once(transaction: Transaction) -> Answer:
            before = stored(transaction, link, request_key)
            if before is not None:
                return before
            made = act(transaction)
            return store(transaction, link, request_key, Answer(status, json_text(made)), settled_params(made))

        return self.changed(once, link)


def _replaced() -> Refusal:
    return Refusal(
        "unavailable",
        Said(
            "the database was restored from a copy a moment ago; nothing of this was done",
            "база данных только что восстановлена из копии; ничего не сделано",
        ),
        hint=Said("ask again; what was open is on hold", "повторите; всё незавершённое ждёт решения человека"),
    )
