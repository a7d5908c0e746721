"""How every use case works: one transaction at the present time, then a ring of the bell. No use case in here."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from hub.moments import moment
from hub.service.answers import Answer, json_text, settled_params, store, stored
from hub.service.bell import Bell
from hub.store.connection import Database, Transaction
from relay.ports import Clock

T = TypeVar("T")


class Work:
    """Transactions of one database, their time from one clock, their end told by one bell."""

    def __init__(self, database: Database, clock: Clock, bell: Bell) -> None:
        self._database = database
        self._clock = clock
        self._bell = bell

    def now(self) -> str:
        return moment(self._clock.wall())

    def reading(self) -> AbstractContextManager[Transaction]:
        return self._database.reading(self.now())

    def writing(self) -> AbstractContextManager[Transaction]:
        return self._database.writing(self.now())

    def changed(self, act: Callable[[Transaction], T]) -> T:
        """`act` in a transaction; whoever waits looks again after it."""
        with self.writing() as transaction:
            result = act(transaction)
        self._bell.ring()
        return result

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

        return self.changed(once)
