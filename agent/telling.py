"""What the journal says about the agent right now, in a few words for people. Reads, decides nothing."""

from pathlib import Path
from typing import Any

from agent.journal import read_records
from agent.recovery import first_thing, memory_of


def status_told(journal: Path) -> dict[str, Any]:
    """The command in hand, what is unsettled, what comes first at the next start."""
    records = list(read_records(journal))
    memory = memory_of(records)
    delivery = memory.delivery
    return {
        "in_hand": None if delivery is None else f"{delivery.id} {delivery.type}",
        "unsettled": None if memory.unsettled is None else memory.unsettled.write,
        "unreported": None if memory.finished is None else memory.finished.report.status,
        "at_next_start": type(first_thing(memory)).__name__,
        "records": len(records),
        "damaged_lines": records.count(None),
    }
