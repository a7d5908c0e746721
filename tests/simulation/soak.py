"""The long run: world after world from a seed on, resumable; the last line of its output is one JSON object.

`python -m tests.simulation.soak --hours 1 --report FILE`: hours of real time; the report is also where it goes on from.
"""

import argparse
import json
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Final

from tests.simulation.swarm import Outcome, run_seed
from tests.simulation.world import HOUR

FIRST_SEED: Final = 1_000
_EMPTY: Final[dict[str, Any]] = {
    "next_seed": FIRST_SEED,
    "worlds": 0,
    "simulated_hours": 0.0,
    "worked_seconds": 0.0,
    "judged": 0,
    "faults": {},
    "statuses": {},
    "moves": {},
    "broken": [],
}


def main() -> None:
    """Run until the hours are over; a broken promise is noted with its seed, and the run goes on."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=1.0, help="of real time")
    parser.add_argument("--report", type=Path, default=Path("soak-report.json"))
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    report = json.loads(given.report.read_text(encoding="utf-8")) if given.report.exists() else dict(_EMPTY)
    until = time.monotonic() + given.hours * HOUR
    with ProcessPoolExecutor(given.processes) as pool:
        while time.monotonic() < until:
            first = report["next_seed"]
            report["next_seed"] = first + given.processes
            for outcome in pool.map(run_seed, range(first, first + given.processes)):
                _add(report, outcome)
            given.report.write_text(json.dumps(report, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(_last_line(report), ensure_ascii=False))
    raise SystemExit(bool(report["broken"]))


def _add(report: dict[str, Any], outcome: Outcome) -> None:
    report["worlds"] += 1
    report["simulated_hours"] += outcome.hours
    report["worked_seconds"] += outcome.seconds
    report["judged"] += outcome.judged
    for name, counted in (("faults", outcome.faults), ("statuses", outcome.statuses)):
        report[name] = dict(sorted((Counter(report[name]) + counted).items()))
    moves = Counter({f"{source} -> {target}": number for (source, target), number in outcome.moves.items()})
    report["moves"] = dict(sorted((Counter(report["moves"]) + moves).items()))
    report["broken"] += outcome.broken
    speed = outcome.hours * HOUR / outcome.seconds
    kind = "BROKEN" if outcome.broken else "held"
    print(f"seed {outcome.seed} {outcome.kind}: {outcome.hours:.1f} h, {speed:.0f} x, {kind}", flush=True)
    for text in outcome.broken:
        print(f"  {text}", flush=True)


def _last_line(report: dict[str, Any]) -> dict[str, Any]:
    return {
        "simulated_hours": round(report["simulated_hours"], 1),
        "speed": round(report["simulated_hours"] * HOUR / max(report["worked_seconds"], 1e-9)),
        "worlds": report["worlds"],
        "judged": report["judged"],
        "faults": sum(report["faults"].values()),
        "broken": len(report["broken"]),
    }


if __name__ == "__main__":
    main()
