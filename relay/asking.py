"""The calling side of an exchange: which reply goes to whom. A reply never reaches a request with another id (P6)."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

W = TypeVar("W")  # whatever stands for one waiting caller


@dataclass(slots=True)
class Asking(Generic[W]):
    """The requests that are waited for. Two callers may wait for one id; both get the reply."""

    _waiting: dict[str, list[W]] = field(default_factory=dict)
    late: int = 0

    def ask(self, request_id: str, waiter: W) -> None:
        """`waiter` waits for the reply to `request_id` from now on."""
        self._waiting.setdefault(request_id, []).append(waiter)

    def reply(self, request_id: str) -> tuple[W, ...]:
        """Who gets the reply that has come; nobody: it is late and counted."""
        waiters = self._waiting.pop(request_id, None)
        if waiters is None:
            self.late += 1
            return ()
        return tuple(waiters)

    def give_up(self, request_id: str, waiter: W) -> bool:
        """`waiter` waits no longer; whether nobody does, so that the request is to be withdrawn."""
        waiters = self._waiting.get(request_id)
        if waiters is None or waiter not in waiters:
            return False
        waiters.remove(waiter)
        if not waiters:
            del self._waiting[request_id]
        return not waiters

    def waiting_for(self, request_id: str) -> tuple[W, ...]:
        """Who waits for this reply."""
        return tuple(self._waiting.get(request_id, ()))

    def all_waiting(self) -> tuple[W, ...]:
        """Everybody, to be told that the client closes."""
        return tuple(waiter for waiters in self._waiting.values() for waiter in waiters)

    def __len__(self) -> int:
        return len(self._waiting)
