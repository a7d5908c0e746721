"""One suite for the real journal and the simulated one: torn, flipped, full, compacted, cut; read back each time."""

import os
import random
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from agent import journal as journal_module
from agent.journal import JournalFile, line_of, read_records, record_of
from agent.records import Answered, AnyRecord, Call, Claim, Claimed, Finished, Intent, Reported, Session, Step
from agent.recovery import memory_of
from protocol.messages import Delivery, Report
from tests.simulation.clock import SimulatedClock
from tests.simulation.disks import SimulatedJournal
from tests.simulation.virtual_time import Machine, PowerCut, Process, Time

DELIVERY = Delivery(
    id=41, type="ensure_fields", params={"key": "AURORA-1", "duedate": None, "summary": 'Ё "\\\n'}, pause_seconds=120
)
RECORDS: list[AnyRecord] = [
    Session(at=1.5, session="s"),
    Claim(at=1.5, request_id="c"),
    Claimed(at=1.5, request_id="c", delivery=DELIVERY),
    Call(at=1.5, command_id=41, request="PUT", boot_id="b", monotonic=0.1),
    Intent(at=1.5, command_id=41, write="PUT", boot_id="b", monotonic=0.1),
    Answered(at=1.5, boot_id="b", monotonic=0.2, outcome="O3"),
    Step(at=1.5, command_id=41, write="PUT", outcome="done", created_key="AURORA-9"),
    Finished(at=1.5, command_id=41, request_id="f", report=Report(status="done", result={"key": None})),
    Reported(at=1.5, command_id=41),
]


class RealJournal(JournalFile):
    """The journal as the agent has it; it notes what it syncs, and when."""

    def __init__(self, path: Path, heard: Callable[[], None]) -> None:
        self._durable: dict[int, int] = {}
        self._heard = heard
        super().__init__(path, SimulatedClock(), sync=self._note)

    def _note(self, file: int) -> None:
        self._heard()
        os.fsync(file)
        found = os.fstat(file)
        self._durable[found.st_ino] = found.st_size

    @property
    def synced(self) -> int:
        return self._durable.get(self._path.stat().st_ino, 0)


class Opened(Protocol):
    """Opens the journal of one life; `heard` is told of each file that is synced, before it is."""

    def __call__(self, path: Path, heard: Callable[[], None] = lambda: None) -> RealJournal | SimulatedJournal: ...


def really(path: Path, heard: Callable[[], None] = lambda: None) -> RealJournal:
    return RealJournal(path, heard)


def in_the_world(path: Path, heard: Callable[[], None] = lambda: None) -> SimulatedJournal:
    process = Process("agent", Machine(Time(), "vm"))

    def passes(point: str) -> bool:
        if point == "fsync before":
            heard()
        return False

    process.dies_when = passes
    return SimulatedJournal(path, SimulatedClock(), process, random.Random(1))


@pytest.fixture(params=[really, in_the_world])
def opened(request: pytest.FixtureRequest) -> Opened:
    made: Opened = request.param
    return made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.jsonl"


def test_every_record_comes_back_as_it_was(opened: Opened, path: Path) -> None:
    journal = opened(path)
    for record in RECORDS:
        journal.append(record)
    assert list(read_records(path)) == RECORDS
    assert opened(path).memory == journal.memory == memory_of(RECORDS)


def test_file_and_folder_are_the_owners_alone(opened: Opened, path: Path) -> None:
    opened(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_journal_that_is_not_there_is_empty(path: Path) -> None:
    assert list(read_records(path)) == []


def test_an_append_torn_at_any_byte_costs_that_record_alone(opened: Opened, path: Path) -> None:
    """The seeds' journal lost the next record at 295 of 295 crash points."""
    whole = b"".join(map(line_of, RECORDS[:2]))
    torn = line_of(RECORDS[2])
    for cut in range(len(torn) + 1):
        path.unlink(missing_ok=True)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(whole + torn[:cut])
        journal = opened(path)
        journal.append(RECORDS[3])
        found = [record for record in read_records(path) if record is not None]
        # The line is whole from its last brace on; its newline is not part of it.
        assert found == [*RECORDS[:2], *([RECORDS[2]] if cut >= len(torn) - 1 else []), RECORDS[3]], cut
        journal.close()


def test_no_single_bit_flip_passes_for_a_record() -> None:
    for record in RECORDS:
        line = line_of(record).rstrip(b"\n")
        for bit in range(len(line) * 8):
            flipped = bytearray(line)
            flipped[bit // 8] ^= 1 << bit % 8
            assert record_of(bytes(flipped)) in (None, record), (record, bit)


def test_a_damaged_line_in_the_middle_is_skipped_and_counted(opened: Opened, path: Path) -> None:
    path.parent.mkdir()
    damaged = line_of(RECORDS[1]).replace(b"claim", b"clame")
    path.write_bytes(line_of(RECORDS[0]) + damaged + b"\xff\xfe nonsense\n" + line_of(RECORDS[2]))
    journal = opened(path)
    assert journal.damaged == 2
    assert journal.memory.delivery == DELIVERY


def test_a_write_that_fails_part_way_is_repaired_before_the_next_record(
    opened: Opened, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = opened(path)
    journal.append(RECORDS[0])
    write = os.write

    def half(file: int, data: bytes) -> int:
        if len(data) > 20:
            return write(file, data[:20])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journal_module.os, "write", lambda file, data: half(file, data[:21]))
    with pytest.raises(OSError, match="No space"):
        journal.append(RECORDS[1])
    monkeypatch.undo()
    assert journal.memory == memory_of(RECORDS[:1])
    journal.append(RECORDS[2])
    assert list(read_records(path)) == [RECORDS[0], None, RECORDS[2]]


def test_everything_but_an_answer_is_synced_before_append_returns(opened: Opened, path: Path) -> None:
    synced: list[None] = []
    journal = opened(path, lambda: synced.append(None))
    for record in RECORDS:
        synced.clear()
        journal.append(record)
        assert bool(synced) == (not isinstance(record, Answered)), record


def test_a_power_cut_takes_an_unsynced_answer_and_nothing_else(opened: Opened, path: Path) -> None:
    journal = opened(path)
    durable = 0
    for number, record in enumerate(RECORDS, 1):
        journal.append(record)
        size = path.stat().st_size
        durable = durable if isinstance(record, Answered) else size
        assert journal.synced == durable
        for left in range(durable, size + 1):  # as much as fate has it
            after = path.with_name("after")
            after.write_bytes(path.read_bytes()[:left])
            found = [each for each in read_records(after) if each is not None]
            assert found in (RECORDS[:number], RECORDS[: number - 1]), (record, left)
            assert len(found) == number or isinstance(record, Answered)


def test_after_compaction_everything_is_durable_and_the_next_answer_is_not(
    opened: Opened, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "COMPACT_OVER", 0)
    monkeypatch.setattr(journal_module, "KEPT_LINES", 2)
    journal = opened(path)
    for record in RECORDS:
        journal.append(record)
    before = path.stat().st_size
    journal.compact()
    compact = path.stat().st_size
    assert journal.synced == compact < before
    journal.append(RECORDS[5])
    assert isinstance(RECORDS[5], Answered)
    assert journal.synced == compact < path.stat().st_size


def test_the_simulated_machines_cut_leaves_every_length_the_contract_allows(path: Path) -> None:
    left: set[int] = set()
    for seed in range(400):
        path.unlink(missing_ok=True)
        journal = SimulatedJournal(path, SimulatedClock(), Process("agent", Machine(Time(), "vm")), random.Random(seed))
        for record in RECORDS[3:6]:
            journal.append(record)
        synced, size = journal.synced, path.stat().st_size
        journal.lose_unsynced()
        left.add(path.stat().st_size)
        journal.close()
    assert {synced, size} <= left <= set(range(synced, size + 1))


def test_the_power_may_go_before_inside_and_after_each_write_and_sync_of_the_simulated_journal(path: Path) -> None:
    """What is left is what was there, with the record or a torn part of it: the real suite above covers its reading."""
    before, after = line_of(RECORDS[0]), line_of(RECORDS[0]) + line_of(RECORDS[1])
    points = ["journal before", "journal inside", "journal after", "fsync before", "fsync after"]
    for point in points:
        path.unlink(missing_ok=True)
        process = Process("agent", Machine(Time(), "vm"))
        journal = SimulatedJournal(path, SimulatedClock(), process, random.Random(1))
        journal.append(RECORDS[0])
        process.dies_when = point.__eq__
        with pytest.raises(PowerCut):
            journal.append(RECORDS[1])
        left = path.read_bytes()
        assert after.startswith(left), point
        assert len(left) in {"journal before": {len(before)}, "journal inside": range(len(before), len(after))}.get(
            point, {len(after)}
        )
        with pytest.raises(PowerCut):
            journal.append(RECORDS[2])
        assert path.read_bytes() == left, "nobody is left to write"
        journal.close()


def test_a_link_in_the_journals_place_is_not_followed(opened: Opened, path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        opened(path)


def test_compaction_keeps_what_matters_and_shrinks_the_file(
    opened: Opened, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "COMPACT_OVER", 10_000)
    monkeypatch.setattr(journal_module, "KEPT_LINES", 5)
    journal = opened(path)
    for _ in range(20):
        for record in RECORDS:
            journal.append(record)
    size = path.stat().st_size
    before = journal.memory
    journal.compact()
    assert path.stat().st_size < size / 5
    assert opened(path).memory == before
    journal.append(Claim(at=2, request_id="after"))
    assert opened(path).memory.open_claim == "after"


@pytest.mark.parametrize("records", [RECORDS[:3], RECORDS[:8]], ids=["in hand", "unreported"])
def test_nothing_is_compacted_with_a_command_in_hand(
    opened: Opened, path: Path, records: list[AnyRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "COMPACT_OVER", 0)
    journal = opened(path)
    for record in records:
        journal.append(record)
    journal.compact()
    assert list(read_records(path)) == records


def test_nothing_is_compacted_while_a_damaged_line_hides_the_last_call(
    opened: Opened, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "COMPACT_OVER", 0)
    path.parent.mkdir()
    path.write_bytes(line_of(RECORDS[3]) + line_of(RECORDS[5]) + b"damaged\n")
    journal = opened(path)
    journal.compact()
    assert opened(path).memory.last_call is None


def test_a_crash_in_compaction_leaves_the_old_journal_or_the_new(
    opened: Opened, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "COMPACT_OVER", 0)
    calls = 0
    for at in range(1, 4):
        path.unlink(missing_ok=True)
        journal = opened(path)
        for record in RECORDS:
            journal.append(record)
        calls = 0

        def power_cut(_: int, limit: int = at) -> None:
            nonlocal calls
            calls += 1
            if calls == limit:
                raise KeyboardInterrupt

        monkeypatch.setattr(journal, "_sync", power_cut)
        try:
            journal.compact()
        except KeyboardInterrupt:
            assert at < 3
        assert opened(path).memory == memory_of(RECORDS)


def test_orphans_are_kept_beside_the_journal(opened: Opened, path: Path) -> None:
    journal = opened(path)
    journal.keep_orphan(RECORDS[7])
    assert list(read_records(path.with_name("orphans.jsonl"))) == [RECORDS[7]]
