"""T8 beyond frames: whatever stands in a journal, a batch file, a configuration or a body is read or refused."""

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import TypeAdapter, ValidationError

from agent.config import HOME_VARIABLE, ConfigFault, load
from agent.journal import JournalFile, line_of, read_records
from hub.batching import checked_batch
from hub.cli.reading.batch_file import FORMS, BatchFile, everything_wrong, read_batch_file
from hub.config import load_settings
from hub.errors import Unready
from protocol.issues import Reading
from protocol.messages import AgentState, ClaimRequest, Delivery, Report
from tests.conftest import PROFILE
from tests.contracts.test_journal_file import RECORDS
from tests.promised import Covered
from tests.rules.frame_fuzz import STRUCTURE, spoilt_bytes
from tests.simulation.clock import SimulatedClock

pytestmark = pytest.mark.part("T8")
SHARE: Final = {"quick": 1, "ci": 20}.get(PROFILE, 2_000)
SEED: Final = 20_261_130
ROOT: Final = Path(__file__).parents[2]
Outcomes = Counter[str]


def fuzzed(rounds: int, one: Callable[[random.Random], str]) -> Outcomes:
    """Each round by its own number, which is told where something undeclared leaves the parser."""
    outcomes: Outcomes = Counter()
    for number in range(rounds):
        try:
            outcomes[one(random.Random(SEED * 1_000_003 + number))] += 1
        except Exception as error:
            error.add_note(f"round {number} of seed {SEED}")
            raise
    assert min(outcomes.values()) > 0
    assert len(outcomes) > 1, f"only {outcomes}: the fuzz is worth its name where several outcomes are met"
    return outcomes


def damaged(chance: random.Random, data: bytes) -> bytes:
    for _ in range(chance.choice((1, 1, 2, 5))):
        data = spoilt_bytes(chance, data) if data else data
    return data


def changed(chance: random.Random, content: Any) -> Any:
    """The same JSON with a value, a name or an item that does not belong there."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        if not isinstance(content, dict | list) or not content:
            break
        content = chance.choice(STRUCTURE[:3])(chance, content)
    return content


def test_a_journal_of_any_content_is_read_and_written_on(tmp_path: Path, covered: Covered) -> None:
    path = tmp_path / "journal.jsonl"
    lines = [line_of(record) for record in RECORDS]

    def one(chance: random.Random) -> str:
        written = [chance.choice(lines) for _ in range(chance.randrange(1, 8))]
        path.write_bytes(damaged(chance, b"".join(written)))
        journal = JournalFile(path, SimulatedClock(), sync=lambda _: None)
        journal.append(RECORDS[0])
        journal.close()
        found = list(read_records(path))
        assert found[-1] == RECORDS[0]
        assert all(record is None or record in RECORDS for record in found), "a damaged line passed for a record"
        return "with damaged lines" if None in found else "whole"

    covered("T8", fuzzed(200 * SHARE, one).total())


BATCH: Final = {
    "title": "Перенос",
    "author": "anna",
    "commands": [
        {"type": "ensure_issue", "temp_key": "new:1", "summary": "Отчёт", "labels": ["a", "b"]},
        {"type": "ensure_fields", "key": "new:1", "duedate": "2026-10-23", "labels_add": ["x"]},
        {"type": "ensure_link", "source": "AURORA-1", "target": "new:1", "link_type": "связанные", "replace": True},
        {"type": "ensure_status", "key": "AURORA-1", "target": ["Разработка", "Готово"]},
        {"type": "refresh", "keys": ["AURORA-1", "AURORA-2"]},
    ],
}
CSV: Final = (
    'type,key,summary,duedate\nensure_fields,AURORA-1,"Отчёт, второй",2026-10-23\nensure_fields,AURORA-2,Второй,\n'
)


@pytest.mark.parametrize("form", sorted(set(FORMS.values())))
def test_a_batch_file_of_any_content_is_read_or_its_faults_are_told(form: Any, covered: Covered) -> None:
    whole = (ROOT / "examples" / "batches" / "demo.yaml").read_bytes()
    samples = {"yaml": [whole, json.dumps(BATCH).encode()], "json": [json.dumps(BATCH).encode()], "csv": [CSV.encode()]}

    def one(chance: random.Random) -> str:
        data = chance.choice(samples[form])
        if chance.random() < 0.05:
            return "faults" if everything_wrong(read_batch_file(data, form)) else "read"  # undamaged
        if form == "json" and chance.random() < 0.5:
            data = json.dumps(changed(chance, json.loads(data))).encode()
        else:
            data = damaged(chance, data)
        found = read_batch_file(data, form)
        assert isinstance(found, BatchFile)
        return "faults" if everything_wrong(found) else "read"

    covered("T8", fuzzed(50 * SHARE, one).total())


BODIES: Final[dict[str, tuple[Any, Any]]] = {
    "claim": (
        ClaimRequest,
        {"agent_version": 3, "session": "s", "host": "vm", "current_command_id": 7, "blocked": None},
    ),
    "report": (Report, {"status": "done", "result": {"key": "AURORA-1", "operations": ["PUT"]}, "jira_calls": 2}),
    "reading": (Reading, {"issues": [{"key": "AURORA-1", "summary": "x", "links": [], "labels": ["a"]}]}),
    "delivery": (Delivery, {"id": 1, "type": "refresh", "params": {"keys": ["AURORA-1"]}, "pause_seconds": 5}),
    "state": (AgentState, {"session": "s", "agent_version": 3, "blocked": None}),
}


@pytest.mark.parametrize("body", BODIES)
def test_a_body_of_any_content_is_taken_or_refused_by_its_model(body: str, covered: Covered) -> None:
    model, sample = BODIES[body]
    reader = TypeAdapter[Any](model)

    def one(chance: random.Random) -> str:
        data = json.dumps(changed(chance, json.loads(json.dumps(sample)))).encode()
        if chance.random() < 0.3:
            data = damaged(chance, data)
        try:
            reader.validate_json(data)
        except ValidationError:
            return "refused"
        return "taken"

    covered("T8", fuzzed(200 * SHARE, one).total())


def test_commands_of_any_content_are_accepted_or_rejected(covered: Covered) -> None:
    def one(chance: random.Random) -> str:
        commands = changed(chance, json.loads(json.dumps(BATCH["commands"])))
        return type(checked_batch(commands if isinstance(commands, list) else [commands])).__name__

    covered("T8", fuzzed(200 * SHARE, one).total())


AGENT_TOML: Final = """
jira_url = "https://jira.example"
project = "AURORA"
board_id = 12
token_file = "/nowhere/token"
share = "/share"
settle_seconds = 120
epic_link = {field_id = "customfield_10580"}
gap_floors = {refresh = 5}
[link_types."блокирует начало"]
name = "Блокировка"
direction = "outward"
"""
HUB_TOML: Final = 'port = 8765\nshare = "/share"\nlog_format = "json"\nlink_types = ["связанные"]\n'


def test_a_configuration_of_any_content_is_loaded_or_refused_in_words(
    tmp_path: Path, covered: Covered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))

    def of_the_agent(chance: random.Random) -> str:
        (tmp_path / "agent.toml").write_bytes(damaged(chance, AGENT_TOML.encode()))
        try:
            load()
        except ConfigFault as fault:
            assert str(fault)
            return "refused"
        return "loaded"

    def of_the_hub(chance: random.Random) -> str:
        (tmp_path / "settings.toml").write_bytes(damaged(chance, HUB_TOML.encode()))
        try:
            load_settings(tmp_path)
        except Unready as fault:
            assert str(fault)
            return "refused"
        return "loaded"

    covered("T8", fuzzed(60 * SHARE, of_the_agent).total() + fuzzed(60 * SHARE, of_the_hub).total())
