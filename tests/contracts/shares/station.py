"""One machine of a relay test as a process of its own: a server on one link, callers on another, both counted durably.

Run as `python -m tests.contracts.shares.station ORDERS`; lines on standard input: `status` is answered by one line of
JSON, `enough` ends the asking of new requests. The end of standard input ends the process in good order.
"""

import dataclasses
import hashlib
import json
import logging
import os
import random
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from relay import (
    Client,
    PeerOffline,
    Profile,
    QueueFull,
    RelayClosed,
    RelayTimeout,
    Reply,
    Request,
    Server,
    ShareUnavailable,
)

LARGE_BYTES = 1_500_000  # three parts of a message
AGAIN_SECONDS = 0.1
_TABLES = {
    "effects.db": "CREATE TABLE IF NOT EXISTS effects (serial INTEGER PRIMARY KEY, id TEXT UNIQUE);"
    "CREATE TABLE IF NOT EXISTS runs (id TEXT, life TEXT)",
    "asked.db": "CREATE TABLE IF NOT EXISTS asked (number INTEGER PRIMARY KEY, answer TEXT)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What a station does. `serve` and `call` are link folders as this machine sees them, `home` is its own disk."""

    side: Literal["hub", "agent"]
    serve: str
    call: str
    home: str
    count: int
    callers: int
    timeout: float = 60.0
    large_every: int = 0
    gap: float = 0.0
    visibility: float = 0.0
    """Seconds a file may take to the other side, as a doctor would have measured it."""


def request_id(side: str, number: int) -> str:
    return f"{side}-{number:06d}"


def content(side: str, number: int, large_every: int) -> bytes:
    """The body of one request: small text mostly, a large one of bytes now and then; both ends can make it."""
    if large_every and number % large_every == 0:
        return random.Random(request_id(side, number)).randbytes(LARGE_BYTES)
    return json.dumps({"text": "снег " * (number % 50), "number": number}, ensure_ascii=False).encode()


class Ledger:
    """A small database on the local disk, shared by threads; `life` names this process."""

    def __init__(self, file: Path) -> None:
        self.life = f"{os.getpid()}-{time.monotonic_ns()}"
        self._lock = threading.Lock()
        self._db = sqlite3.connect(file, check_same_thread=False, isolation_level=None, timeout=30)
        # What must survive is kill -9 of the process, not of the machine.
        self._db.executescript(f"PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; {_TABLES[file.name]}")

    def carry_out(self, one: str) -> int:
        """The effect behind the handler, once per id; and each execution noted. The effect's serial number."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("INSERT OR IGNORE INTO effects (id) VALUES (?)", (one,))
            self._db.execute("INSERT INTO runs VALUES (?, ?)", (one, self.life))
            (serial,) = self._db.execute("SELECT serial FROM effects WHERE id = ?", (one,)).fetchone()
            self._db.execute("COMMIT")
        return int(serial)

    def open_questions(self) -> list[int]:
        with self._lock:
            return [row[0] for row in self._db.execute("SELECT number FROM asked WHERE answer IS NULL")]

    def asked_so_far(self) -> int:
        with self._lock:
            return int(self._db.execute("SELECT coalesce(max(number), 0) FROM asked").fetchone()[0])

    def answered_so_far(self) -> int:
        with self._lock:
            return int(self._db.execute("SELECT count(answer) FROM asked").fetchone()[0])

    def ask(self, number: int) -> None:
        with self._lock:
            self._db.execute("INSERT OR IGNORE INTO asked VALUES (?, NULL)", (number,))

    def answer(self, number: int, text: str) -> None:
        with self._lock:
            self._db.execute("UPDATE asked SET answer = ? WHERE number = ? AND answer IS NULL", (text, number))


class Station:
    """Serves, asks, and tells how it is."""

    def __init__(self, orders: Orders) -> None:
        home = Path(orders.home)
        self._orders = orders
        self._effects, self._asked = Ledger(home / "effects.db"), Ledger(home / "asked.db")
        self._errors: Counter[str] = Counter()
        self._enough = threading.Event()
        self._lock = threading.Lock()
        self._numbers = self._all_numbers()
        profile = Profile(visibility_seconds=orders.visibility)
        self._server = Server(
            orders.serve, self._handle, side=orders.side, state_dir=home / "state", profile=profile
        ).start()
        self._client = Client(orders.call, side=orders.side, state_dir=home / "state", profile=profile)

    def run(self) -> None:
        """Obey standard input to its end."""
        for _ in range(self._orders.callers):
            threading.Thread(target=self._ask_all, daemon=True).start()
        for line in sys.stdin:
            if line.strip() == "enough":
                self._enough.set()
            else:
                print(json.dumps(self._status()), flush=True)
        self._enough.set()
        # At once, as two programs would: each may have to wait for a hanging share.
        ends = [threading.Thread(target=end) for end in (self._client.close, self._server.stop)]
        for thread in ends:
            thread.start()
        for thread in ends:
            thread.join()
        print(json.dumps({"closed": True}), flush=True)

    def _handle(self, request: Request) -> Reply:
        serial = self._effects.carry_out(request.id)
        digest = hashlib.sha256(request.body).hexdigest()
        return Reply.of({"id": request.id, "serial": serial, "sha256": digest})

    def _all_numbers(self) -> Iterator[int]:
        """What an earlier life did not see answered first, then new ones."""
        yield from self._asked.open_questions()
        yield from range(self._asked.asked_so_far() + 1, self._orders.count + 1)

    def _ask_all(self) -> None:
        while not self._enough.is_set():
            with self._lock:
                number = next(self._numbers, None)
                if number is None:
                    return
                self._asked.ask(number)
            self._ask(number)
            time.sleep(self._orders.gap)

    def _ask(self, number: int) -> None:
        """Ask until there is an answer: always under the same id, so it is always the same request."""
        side, large_every = self._orders.side, self._orders.large_every
        body = content(side, number, large_every)
        one = request_id(side, number)
        while True:
            try:
                reply = self._client.call("POST", f"/{one}", body, timeout=self._orders.timeout, request_id=one)
            except RelayClosed:
                return
            except (PeerOffline, RelayTimeout, ShareUnavailable, QueueFull) as error:
                self._errors[type(error).__name__] += 1
                time.sleep(AGAIN_SECONDS)
                continue
            self._asked.answer(number, reply.text if reply.status == 200 else f"status {reply.status}: {reply.text}")
            return

    def _status(self) -> dict[str, Any]:
        return {
            "server": self._server.status().as_dict(),
            "client": self._client.status().as_dict(),
            "asked": self._asked.asked_so_far(),
            "answered": self._asked.answered_so_far(),
            "errors": dict(self._errors),
        }


def main() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    Station(Orders(**json.loads(sys.argv[1]))).run()


def orders_json(orders: Orders) -> str:
    return json.dumps(dataclasses.asdict(orders))


if __name__ == "__main__":
    main()
