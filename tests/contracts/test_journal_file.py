"""The journal on a real disk: torn at every byte, flipped at every bit, full, compacted; read back each time."""

import os
import stat
from pathlib import Path

import pytest

from agent import journal as journal_module
from agent.journal import JournalFile, line_of, read_records, record_of
from agent.records import Answered, AnyRecord, Call, Claim, Claimed, Finished, Intent, Reported, Session, Step
from agent.recovery import memory_of
from protocol.messages import Delivery, Report
from tests.simulation.clock import SimulatedClock

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


def opened(path: Path, **more: object) -> JournalFile:
    return JournalFile(path, SimulatedClock(), **more)  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.jsonl"


def test_every_record_comes_back_as_it_was(path: Path) -> None:
    journal = opened(path)
    for record in RECORDS:
        journal.append(record)
    assert list(read_records(path)) == RECORDS
    assert opened(path).memory == journal.memory == memory_of(RECORDS)


def test_file_and_folder_are_the_owners_alone(path: Path) -> None:
    opened(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_journal_that_is_not_there_is_empty(path: Path) -> None:
    assert list(read_records(path)) == []


def test_an_append_torn_at_any_byte_costs_that_record_alone(path: Path) -> None:
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


def test_a_damaged_line_in_the_middle_is_skipped_and_counted(path: Path) -> None:
    path.parent.mkdir()
    damaged = line_of(RECORDS[1]).replace(b"claim", b"clame")
    path.write_bytes(line_of(RECORDS[0]) + damaged + b"\xff\xfe nonsense\n" + line_of(RECORDS[2]))
    journal = opened(path)
    assert journal.damaged == 2
    assert journal.memory.delivery == DELIVERY


def test_a_write_that_fails_part_way_is_repaired_before_the_next_record(
    path: Path, monkeypatch: pytest.MonkeyPatch
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


def test_everything_but_an_answer_is_synced_before_append_returns(path: Path) -> None:
    synced: list[int] = []
    journal = opened(path, sync=synced.append)
    for record in RECORDS:
        synced.clear()
        journal.append(record)
        assert bool(synced) == (not isinstance(record, Answered)), record


def test_a_link_in_the_journals_place_is_not_followed(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        opened(path)


def test_compaction_keeps_what_matters_and_shrinks_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    path: Path, records: list[AnyRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "COMPACT_OVER", 0)
    journal = opened(path)
    for record in records:
        journal.append(record)
    journal.compact()
    assert list(read_records(path)) == records


def test_nothing_is_compacted_while_a_damaged_line_hides_the_last_call(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "COMPACT_OVER", 0)
    path.parent.mkdir()
    path.write_bytes(line_of(RECORDS[3]) + line_of(RECORDS[5]) + b"damaged\n")
    journal = opened(path)
    journal.compact()
    assert opened(path).memory.last_call is None


def test_a_crash_in_compaction_leaves_the_old_journal_or_the_new(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_orphans_are_kept_beside_the_journal(path: Path) -> None:
    journal = opened(path)
    journal.keep_orphan(RECORDS[7])
    assert list(read_records(path.with_name("orphans.jsonl"))) == [RECORDS[7]]
