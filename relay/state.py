"""What one side has to remember over restarts, in SQLite on a local disk. One process, and one thread, at a time."""

import os
import sqlite3
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from relay.answering import Known, Stage
from relay.beacon import Beacon
from relay.errors import AlreadyRunning, StateUnusable, UnsafeState
from relay.frames import Message, ReplyHead, RequestHead, Side
from relay.holding import Hold
from relay.link import Me, Peer
from relay.mounts import remote_kind
from relay.ports import Clock, Ids
from relay.profile import Durability

_DATASYNC: Final = getattr(os, "fdatasync", os.fsync)
KEPT_SECONDS: Final = 30 * 86_400  # ids and replies; a caller may come back after a long holiday
KEPT_NEWEST: Final = 1_000
KEPT_EPOCHS: Final = 16  # more than ever have files in the folder
_REQUEST: Final = TypeAdapter(RequestHead)
_REPLY: Final = TypeAdapter(ReplyHead)
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS memory (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS asked (
  id TEXT PRIMARY KEY, head TEXT NOT NULL, body BLOB NOT NULL, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS served (
  id TEXT PRIMARY KEY, stage TEXT NOT NULL CHECK (stage IN ('running', 'withdrawn', 'answered')),
  deliveries INTEGER NOT NULL, head TEXT, body BLOB, reply_head TEXT, reply_body BLOB,
  unsent INTEGER NOT NULL DEFAULT 1, at REAL NOT NULL,
  CHECK ((stage = 'answered') = (reply_head IS NOT NULL)));
CREATE INDEX IF NOT EXISTS served_unsent ON served (id) WHERE unsent;
CREATE TABLE IF NOT EXISTS parts (
  id TEXT NOT NULL, part INTEGER NOT NULL, parts INTEGER NOT NULL, head TEXT, body BLOB NOT NULL,
  PRIMARY KEY (id, part));
"""


@dataclass(frozen=True, slots=True)
class Stored:
    """A request or reply as it is kept: `head` is `RequestHead` or `ReplyHead` in JSON."""

    id: str
    head: str
    body: bytes


def default_state_folder() -> Path:
    """$FOLDER_RELAY_STATE, else ~/.local/state/folder-relay."""
    named = os.environ.get("FOLDER_RELAY_STATE")
    return Path(named) if named else Path.home() / ".local" / "state" / "folder-relay"


def state_folder(folder: str | os.PathLike[str], beacon: Beacon, side: Side) -> Path:
    """Where one side of one link keeps what it has to remember."""
    return Path(folder) / f"{beacon.name}-{side}-{beacon.link[:12]}"


class State:
    """The memory of one side of one link. Writes gather in one transaction until `commit`.

    One process has it at a time; in `machine`, one process is this side of the link, whatever its memory.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        beacon: Beacon,
        side: Side,
        durability: Durability,
        clock: Clock,
        machine: Path | None = None,
    ) -> None:
        self.folder = state_folder(folder, beacon, side)
        self._clock = clock
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _refuse_remote(self.folder)
        self._lock = Hold(self.folder, "lock", "holder.json", side=side, memory=self.folder, clock=clock)
        self._machine_lock = self._hold_side(machine, beacon, side)
        self._db = sqlite3.connect(
            self.folder / "state.sqlite", isolation_level=None, check_same_thread=False, cached_statements=64
        )
        self._db.execute("PRAGMA locking_mode=EXCLUSIVE")  # the lock above says so already, at no cost a commit
        self._db.execute("PRAGMA journal_mode=WAL")
        self._syncs = durability == "full"
        # NORMAL syncs whatever keeps the base whole; `sync` adds what FULL does at each commit, where it is needed.
        self._db.execute(f"PRAGMA synchronous={'NORMAL' if self._syncs else 'OFF'}")
        self._db.executescript(_SCHEMA)
        self._syncer = ThreadPoolExecutor(1, f"relay-{side}-sync")  # its thread is there only once it is needed
        self._open = self._unsynced = False
        self._peer = Peer()

    def close(self) -> None:
        """Commit, and let another process have this side."""
        try:
            self.commit()
        finally:
            self._db.close()
            self._syncer.shutdown()
            if self._machine_lock is not None:
                self._machine_lock.release()
            self._lock.release()

    def commit(self) -> None:
        """Everything since the last commit, or none of it, outlives this process."""
        if self._open:
            self._db.execute("COMMIT")
            self._open = False
            self._unsynced = self._syncs

    def sync(self) -> None:
        """Everything until now outlives this machine too."""
        self.commit()
        self.begin_sync()()

    def begin_sync(self) -> Callable[[], None]:
        """Let what was committed outlive this machine too; what is returned waits until it does.

        Where the disk is slow, another file may be synced meanwhile at no further cost.
        """
        if not self._unsynced:
            return lambda: None
        syncing = self._syncer.submit(_datasync, self.folder / "state.sqlite-wal")

        def synced() -> None:
            try:
                syncing.result()
            except OSError as fault:
                raise StateUnusable.because(fault) from fault
            self._unsynced = False

        return synced

    # --- lives

    def begin_life(self, beacon: Beacon, side: Side, ids: Ids, above: int = 0) -> Me:
        """A new life: a fresh epoch, and a count above every earlier one, committed before it is used.

        Counted from this machine's clock, so that a lost or restored state rarely falls behind its own past; where it
        does, the peer tells what it has to be `above`.
        """
        life = max(self.life() + 1, int(self._clock.wall()), above + 1)
        me = Me(beacon.link, side, ids.new_id()[:12], life)
        self._remember("life", str(life))
        self._remember("epochs", " ".join([*self.epochs()[1 - KEPT_EPOCHS :], me.epoch]))
        old = self._clock.wall() - KEPT_SECONDS
        # Rows stand in the order they came: no index by age, which each request and each reply would pay for.
        young = "SELECT rowid FROM served WHERE at >= ? ORDER BY rowid LIMIT 1"
        # The newest stay whatever their age: a clock that is far ahead at one start must not let anything run twice.
        newest = f"(SELECT max(rowid) FROM served) - {KEPT_NEWEST}"
        sql = f"""DELETE FROM served WHERE rowid < ifnull(({young}), ~(1 << 63)) AND rowid <= {newest}
                  AND (stage = 'withdrawn' OR stage = 'answered' AND NOT unsent)"""
        self._write(sql, (old,))
        self._write("DELETE FROM asked WHERE at < ?", (old,))
        self.sync()
        return me

    def epochs(self) -> list[str]:
        """The last lives of this memory, oldest first."""
        return (self._recalled("epochs") or "").split()

    def paired(self) -> str | None:
        """The fingerprint of the key this side was paired with, once and for ever."""
        return self._recalled("paired")

    def remember_paired(self, fingerprint: str) -> None:
        """From now on only that key's seals count; durable before the first frame is taken."""
        self._remember("paired", fingerprint)
        self.sync()

    def life(self) -> int:
        """The count of the last life of this side."""
        return int(self._recalled("life") or 0)

    def peer(self) -> Peer:
        """The other side as it was last committed."""
        found = self._recalled("peer")
        if found:
            epoch, life, taken = found.split()
            self._peer = Peer(epoch, int(life), int(taken))
        return self._peer

    def remember_peer(self, peer: Peer) -> None:
        """Note how far the peer's frames were taken."""
        if peer != self._peer:
            self._peer = peer
            self._remember("peer", f"{peer.epoch} {peer.life} {peer.taken}")

    # --- the calling side

    def remember_asked(self, request: Stored) -> None:
        """Keep a request for `resume`."""
        sql = """INSERT INTO asked VALUES (?, ?, ?, ?)
                 ON CONFLICT (id) DO UPDATE SET head = excluded.head, body = excluded.body"""
        self._write(sql, (request.id, request.head, request.body, self._clock.wall()))

    def forget_asked(self, request_id: str) -> None:
        """The reply is here."""
        self._write("DELETE FROM asked WHERE id = ?", (request_id,))

    def asked(self, request_id: str) -> Stored | None:
        """The request kept under this id."""
        row = self._db.execute("SELECT id, head, body FROM asked WHERE id = ?", (request_id,)).fetchone()
        return Stored(*row) if row else None

    # --- the serving side

    def known(self, request_id: str) -> Known | None:
        """What is remembered of this request id."""
        self._begin()  # a write follows in any case: one transaction instead of two
        row = self._db.execute("SELECT stage, deliveries FROM served WHERE id = ?", (request_id,)).fetchone()
        return Known(row[0], row[1]) if row else None

    def remember_delivery(self, message: Message, deliveries: int) -> None:
        """The handler is about to start for the `deliveries`-th time."""
        assert isinstance(message.head, RequestHead)
        sql = """INSERT INTO served (id, stage, deliveries, head, body, at) VALUES (?, 'running', ?, ?, ?, ?)
                 ON CONFLICT (id) DO UPDATE SET stage = 'running', deliveries = excluded.deliveries"""
        head = _REQUEST.dump_json(message.head).decode()
        self._write(sql, (message.id, deliveries, head, message.body, self._clock.wall()))

    def remember_stage(self, request_id: str, stage: Stage) -> None:
        """The request was withdrawn, or is wanted again."""
        self._write("UPDATE served SET stage = ? WHERE id = ?", (stage, request_id))

    def acquit(self, request_id: str) -> None:
        """The handler has lived through its last chance: it is not the one that kills."""
        self._write("UPDATE served SET deliveries = 0 WHERE id = ?", (request_id,))

    def request(self, request_id: str) -> Message | None:
        """The request kept under this id, as long as it is not answered."""
        row = self._db.execute(
            "SELECT head, body FROM served WHERE id = ? AND head IS NOT NULL", (request_id,)
        ).fetchone()
        return Message("request", request_id, _REQUEST.validate_json(row[0]), bytes(row[1])) if row else None

    def take_back_delivery(self, request_id: str) -> None:
        """The process ends in good order: the handler did not kill it, so this start does not count."""
        self._write("UPDATE served SET deliveries = deliveries - 1 WHERE id = ? AND deliveries > 0", (request_id,))

    def remember_reply(self, reply: Message, *, unsent: bool) -> None:
        """Keep the reply; the request's own content is not needed any more."""
        assert isinstance(reply.head, ReplyHead)
        # `unsent` stands since the request came; naming it only where it changes leaves its index untouched.
        sent = "" if unsent else "unsent = 0, "
        sql = f"""UPDATE served SET stage = 'answered', reply_head = ?, reply_body = ?, {sent}head = NULL, body = NULL,
                  at = ? WHERE id = ?"""
        head = _REPLY.dump_json(reply.head).decode()
        self._write(sql, (head, reply.body, self._clock.wall(), reply.id))

    def reply(self, request_id: str) -> Message | None:
        """The reply kept under this id."""
        sql = "SELECT reply_head, reply_body FROM served WHERE id = ? AND stage = 'answered'"
        row = self._db.execute(sql, (request_id,)).fetchone()
        return Message("reply", request_id, _REPLY.validate_json(row[0]), bytes(row[1])) if row else None

    def mark_sent(self, request_ids: Iterable[str]) -> None:
        """The peer acknowledged these replies."""
        self._begin()
        self._db.executemany("UPDATE served SET unsent = 0 WHERE id = ?", ((each,) for each in request_ids))

    def unsent(self) -> list[str]:
        """The ids whose replies an earlier life did not see acknowledged."""
        sql = "SELECT id FROM served WHERE unsent AND stage = 'answered' ORDER BY at"
        return [row[0] for row in self._db.execute(sql)]

    def interrupted(self) -> list[tuple[Message, Known]]:
        """The requests whose handlers were running when the last life ended, oldest first."""
        sql = "SELECT id, stage, deliveries, head, body FROM served WHERE unsent AND stage = 'running' ORDER BY at"
        return [
            (Message("request", row[0], _REQUEST.validate_json(row[3]), bytes(row[4])), Known(row[1], row[2]))
            for row in self._db.execute(sql)
        ]

    # --- parts of large messages

    def remember_part(self, message: Message) -> None:
        """Keep one part: its frame is about to be acknowledged, so it will not come again."""
        head = _REQUEST.dump_json(message.head).decode() if isinstance(message.head, RequestHead) else None
        sql = "INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?)"
        self._write(sql, (message.id, *message.part, head, message.body))

    def parts(self) -> list[Message]:
        """Every part of the messages that are not whole yet, in order."""
        rows = self._db.execute("SELECT id, part, parts, head, body FROM parts ORDER BY id, part")
        return [
            Message(
                "request", row[0], _REQUEST.validate_json(row[3]) if row[3] else None, bytes(row[4]), (row[1], row[2])
            )
            for row in rows
        ]

    def forget_parts(self, request_id: str | None = None) -> None:
        """The message is whole, or its sender's life is over (`None`: all of them)."""
        if request_id is None:
            self._write("DELETE FROM parts", ())
        else:
            self._write("DELETE FROM parts WHERE id = ?", (request_id,))

    # --- inside

    def _recalled(self, name: str) -> str | None:
        row = self._db.execute("SELECT value FROM memory WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def _remember(self, name: str, value: str) -> None:
        self._write("INSERT OR REPLACE INTO memory VALUES (?, ?)", (name, value))

    def _write(self, sql: str, values: tuple[object, ...]) -> None:
        self._begin()
        self._db.execute(sql, values)

    def _begin(self) -> None:
        if not self._open:
            self._db.execute("BEGIN IMMEDIATE")
            self._open = True

    def _hold_side(self, machine: Path | None, beacon: Beacon, side: Side) -> Hold | None:
        if machine is None:
            return None
        name = f"{beacon.link}-{side}"
        try:
            return Hold(machine, f"{name}.lock", f"{name}.json", side=side, memory=self.folder, clock=self._clock)
        except AlreadyRunning:
            self._lock.release()
            raise


def _datasync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        _DATASYNC(descriptor)
    finally:
        os.close(descriptor)


def _refuse_remote(folder: Path) -> None:
    kind = remote_kind(folder)
    if kind:
        raise UnsafeState(f"{folder} stands on {kind}: give a state folder on a local disk")
