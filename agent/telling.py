"""What the journal says about the agent right now, in a few words for people. Reads, decides nothing."""

from pathlib import Path
from typing import Any, assert_never

from agent.journal import read_records
from agent.recovery import MAX_CRASHES, AskHub, GiveUp, Memory, Resend, SendReport, StartClean, first_thing, memory_of


def status_told(journal: Path) -> dict[str, Any]:
    """The command in hand, what is unsettled, what comes first at the next start."""
    records = list(read_records(journal))
    memory = memory_of(records)
    delivery = memory.delivery
    return {
        "in_hand": None if delivery is None else f"{delivery.id} {delivery.type}",
        "unsettled": None if memory.unsettled is None else memory.unsettled.write,
        "unreported": None if memory.finished is None else memory.finished.report.status,
        "at_next_start": first_said(memory),
        "records": len(records),
        "damaged_lines": records.count(None),
    }


def first_said(memory: Memory) -> str:
    """What the next start does before anything else."""
    match first_thing(memory):
        case SendReport(finished):
            return f"sends the report of command {finished.command_id} to the hub ({finished.report.status})"
        case AskHub(delivery):
            return f"asks the hub whether command {delivery.id} is still wanted, and goes on with it if so"
        case GiveUp(delivery):
            return f"reports command {delivery.id} failed: it has ended the agent {MAX_CRASHES} times"
        case Resend():
            return "asks the hub once more for the answer to the last claim"
        case StartClean():
            return "claims the next command"
        case other:
            assert_never(other)
