"""The queue as its specification tells it (queue.md), in plain dictionaries: what the API is compared with.

Nothing of the hub is used here. Confirmation by state is left out: one agent that reads has nothing else in its hands.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

LOST = ("failed", "cancelled", "skipped")
TERMINAL = ("done", "confirmed_by_state", *LOST)
NO_REPORT = "агент не отчитался после 3 выдач"
Wish = dict[str, Any]


@dataclass
class Command:
    id: int
    batch: int
    seq: int
    wish: Wish  # with its type; temporary keys until it is handed out
    root_id: int
    held: bool
    status: str = "queued"
    deliveries: int = 0
    claimed_at: int = 0
    result: Wish | None = None
    error: str | None = None

    @property
    def defines(self) -> str | None:
        return self.wish.get("temp_key")


def keys_of(wish: Wish) -> list[str]:
    """Every key a wish uses, in the order the specification names them."""
    if wish["type"] == "refresh":
        return list(wish["keys"])
    names = ("key", "source", "target", "epic_key") if wish["type"] == "ensure_link" else ("key", "epic_key")
    return list(dict.fromkeys(wish[name] for name in names if wish.get(name)))


def temporary(keys: Iterable[str]) -> list[str]:
    return [key for key in keys if key.startswith("new:")]


def with_real(wish: Wish, real: dict[str, str]) -> Wish:
    if wish["type"] == "refresh":
        return {**wish, "keys": list(dict.fromkeys(real.get(key, key) for key in wish["keys"]))}
    names = ("key", "source", "target", "epic_key")
    return {**wish, **{name: real[wish[name]] for name in names if wish.get(name) in real}}


def with_reading(wishes: list[Wish]) -> list[Wish]:
    """The batch as it is stored: summaries without blanks at their ends, and the reading that ends it."""
    wishes = [{**wish, "summary": wish["summary"].strip()} if "summary" in wish else wish for wish in wishes]
    if all(wish["type"] == "refresh" for wish in wishes):
        return wishes
    touched = [key for wish in wishes for key in ([wish["temp_key"]] if "temp_key" in wish else []) + keys_of(wish)]
    return [*wishes, {"type": "refresh", "keys": list(dict.fromkeys(touched))}]


def is_sound(wishes: list[Wish]) -> bool:
    """Whether a batch may be created."""
    defined: set[str] = set()
    summaries: set[str] = set()
    for wish in wishes:
        if wish["type"] == "ensure_link" and wish["source"] == wish["target"]:
            return False
        if "temp_key" in wish and wish["temp_key"] in (*defined, wish.get("epic_key")):
            return False
        if any(key not in defined for key in temporary(keys_of(wish))):
            return False
        if "temp_key" in wish:
            if wish["summary"].strip() in summaries:
                return False
            summaries.add(wish["summary"].strip())
            defined.add(wish["temp_key"])
    return True


@dataclass
class PlainQueue:
    """One link. Answers are HTTP statuses, or what goes out."""

    commands: dict[int, Command] = field(default_factory=dict)
    paused: bool = False
    now: int = 0

    # --- looking

    def of_batch(self, batch: int) -> list[Command]:
        return sorted((c for c in self.commands.values() if c.batch == batch), key=lambda c: c.seq)

    def batches(self) -> list[int]:
        return sorted({command.batch for command in self.commands.values()})

    def definer(self, command: Command, key: str) -> Command:
        return next(c for c in self.of_batch(command.batch) if c.defines == key)

    def is_lost(self, command: Command) -> bool:
        return any(self.definer(command, key).status in LOST for key in temporary(keys_of(command.wish)))

    # --- people

    def create(self, batch: int, ids: list[int], wishes: list[Wish], *, held: bool, roots: list[int | None]) -> None:
        for seq, (number, wish) in enumerate(zip(ids, wishes, strict=True), 1):
            root = roots[seq - 1] if seq <= len(roots) else None
            self.commands[number] = Command(number, batch, seq, wish, root or number, held)

    def end(self, command: Command, status: str, error: str | None = None) -> None:
        command.status, command.error = status, error
        if status in LOST and command.defines:
            for other in self.of_batch(command.batch):
                if other.status == "queued" and self.is_lost(other):
                    self.end(other, "skipped")

    def cancel_batch(self, batch: int) -> None:
        for command in self.of_batch(batch):
            if command.status == "queued":
                command.status = "skipped" if self.is_lost(command) else "cancelled"

    def cancel(self, number: int, *, force: bool) -> int:
        command = self.commands[number]
        if command.status == "queued" or (command.status == "claimed" and force):
            self.end(command, "cancelled")
            return 200
        return 409

    def approve(self, batch: int) -> None:
        for command in self.of_batch(batch):
            command.held = False

    def retried(self, batch: int, chosen: set[int]) -> tuple[list[Wish], list[int | None]] | None:
        """The wishes of the new batch with the roots of their chains; None for a conflict."""
        siblings, real = self.of_batch(batch), dict[str, str]()
        grown = True
        while grown:
            before = set(chosen)
            for command in siblings:
                if command.id not in chosen:
                    continue
                for key in temporary(keys_of(command.wish)):
                    definer = self.definer(command, key)
                    chain = [c for c in self.commands.values() if c.root_id == definer.root_id and c.status == "done"]
                    if chain:
                        assert chain[0].result is not None
                        real[key] = chain[0].result["key"]
                    elif definer.status in ("queued", "claimed"):
                        return None
                    else:
                        chosen.add(definer.id)
            defined = {command.defines for command in siblings if command.id in chosen} - {None}
            for command in siblings:
                reads = command.wish["type"] == "refresh"
                if command.status == "skipped" and not reads and defined & {*temporary(keys_of(command.wish))}:
                    chosen.add(command.id)
            grown = chosen != before
        wishes = [(with_real(c.wish, real), c.root_id) for c in siblings if c.id in chosen]
        if any(wish["type"] != "refresh" for wish, _ in wishes):
            wishes = [pair for pair in wishes if pair[0]["type"] != "refresh"]
        return with_reading([wish for wish, _ in wishes]), [root for _, root in wishes]

    # --- the agent

    def claim(self) -> Command | int:
        if self.paused:
            return 503
        while out := [c for c in self.commands.values() if c.status == "claimed" and not c.held]:
            oldest = min(out, key=lambda c: (c.claimed_at, c.id))
            if oldest.deliveries < 3:
                return self._handed_out(oldest)
            self.end(oldest, "failed", NO_REPORT)
        for command in sorted(self.commands.values(), key=lambda c: (c.batch, c.seq)):
            if command.status != "queued" or command.held:
                continue
            if self.is_lost(command):
                self.end(command, "skipped")
                continue
            definers = {key: self.definer(command, key) for key in temporary(keys_of(command.wish))}
            if all(definer.status == "done" for definer in definers.values()):
                real = {key: (definer.result or {})["key"] for key, definer in definers.items()}
                command.wish = with_real(command.wish, real)
                return self._handed_out(command)
        return 204

    def _handed_out(self, command: Command) -> Command:
        command.status, command.claimed_at = "claimed", self.now
        command.deliveries += 1
        return command

    def report(self, number: int, status: str, key: str | None, delivery: int | None) -> int:
        command = self.commands.get(number)
        if command is None:
            return 404
        if command.status == "queued":
            return 409
        creation = command.wish["type"] == "ensure_issue"
        if command.status == "claimed":
            if status == "failed" and delivery is not None and delivery < command.deliveries:
                return 200
            if status == "done" and creation and key is None:
                return 422
            command.result = {"key": key} if key else {}
            if command.wish["type"] == "refresh" and status == "done":
                command.result = {"issues": 0, "missing": [], "moved": {}, "truncated": False}
            self.end(command, status, "it broke" if status == "failed" else None)
            return 200
        if command.status == "cancelled" and creation and status == "done" and key and command.result is None:
            command.result = {"key": key}
        return 200
