"""The journal on the local disk: one JSON record a line, a checksum in each, synced before anything depends on it.

Only storing and finding again; what the records mean is decided in `recovery`.
"""

import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from agent.files import replace_file
from agent.records import RECORD, Answered, AnyRecord
from agent.recovery import Memory, condensed, memory_of, remembered
from relay.ports import Clock

MAX_LINE: Final = 128 * 2**20  # bytes; the report of a large refresh is the longest record
COMPACT_OVER: Final = 2_000_000  # bytes: about ten thousand commands' worth of records
KEPT_LINES: Final = 2_000  # after a compaction, for people who read the journal


def line_of(record: AnyRecord) -> bytes:
    """One line, its CRC32 last: `{"kind":…,"crc":"0a1b2c3d"}`, so that it stays JSON."""
    body = record.model_dump_json(exclude_none=True).encode()
    return body[:-1] + b',"crc":"%08x"}\n' % zlib.crc32(body)


def record_of(line: bytes) -> AnyRecord | None:
    """The record of a line; None if it is damaged in any way."""
    head, mark, tail = line.rpartition(b',"crc":"')
    if not mark or len(line) > MAX_LINE or len(tail) != 10 or tail[8:] != b'"}':
        return None
    body = head + b"}"
    if tail[:8] != b"%08x" % zlib.crc32(body):
        return None
    try:
        return RECORD.validate_json(body)
    except ValidationError:
        return None


def read_records(path: Path) -> Iterator[AnyRecord | None]:
    """Every record in order, None for each damaged line; a journal that is not there is empty."""
    try:
        with path.open("rb") as file:
            yield from (record_of(line.rstrip(b"\n")) for line in file if line.strip())
    except FileNotFoundError:
        return


class JournalFile:
    """The journal (`ports.Journal`). One process writes it: hold the lock first.

    A write that fails part-way is repaired by a newline before the next record, so that only the torn line is lost.
    """

    def __init__(self, path: Path, clock: Clock, *, sync: Callable[[int], None] = os.fsync) -> None:
        self._path = path
        self._clock = clock
        self._sync = sync
        self.damaged = 0
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = self._open(path)
        self._torn = self._ends_torn()
        self._memory = self._read()

    def _open(self, path: Path) -> int:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._sync_folder()
        return file

    def _sync_folder(self) -> None:
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._sync(folder)
        finally:
            os.close(folder)

    def _ends_torn(self) -> bool:
        size = os.fstat(self._file).st_size
        return size > 0 and os.pread(self._file, 1, size - 1) != b"\n"

    def _read(self) -> Memory:
        records = list(read_records(self._path))
        self.damaged = records.count(None)
        return memory_of(records)

    @property
    def memory(self) -> Memory:
        return self._memory

    def append(self, record: AnyRecord) -> None:
        """Durable when this returns. `answered` is not synced: it counts only while this boot lasts."""
        self._write((b"\n" if self._torn else b"") + line_of(record))
        if not isinstance(record, Answered):
            self._sync(self._file)
        self._memory = remembered(self._memory, record)

    def _write(self, data: bytes) -> None:
        self._torn = True  # until every byte is in: an error below must not glue the next record to half of this one
        left = memoryview(data)
        while left:
            left = left[os.write(self._file, left) :]
        self._torn = False

    def compact(self) -> None:
        """Replace a long journal by what still matters and its newest lines; only with empty hands."""
        memory = self._memory
        if memory.delivery is not None or memory.finished is not None or self._size() < COMPACT_OVER:
            return
        if memory.last_call is None:
            return  # a damaged line hides the last call: dropping that line would make an older call the last one
        with self._path.open("rb") as file:
            newest = [line for line in file if record_of(line.rstrip(b"\n")) is not None][-KEPT_LINES:]
        kept = condensed(memory, self._clock.wall())
        # The newest lines first: folded alone they may tell half a story, the condensed records end it.
        replace_file(self._path, [*newest, *map(line_of, kept)], sync=self._sync)
        os.close(self._file)
        self._file = self._open(self._path)
        self.damaged = 0

    def _size(self) -> int:
        return os.fstat(self._file).st_size

    def keep_orphan(self, record: AnyRecord) -> None:
        """Append to `orphans.jsonl` beside the journal, for a person to look at."""
        path = self._path.with_name("orphans.jsonl")
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.write(file, line_of(record))
            self._sync(file)
        finally:
            os.close(file)

    def close(self) -> None:
        os.close(self._file)
