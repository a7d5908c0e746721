"""`make bench ONLY=queue`: the durable cycle of a command, its growth and large batches, beside floors and peers.

The cycle is run on SQLite and on PostgreSQL: the floor first, then the peers, ours last.
"""

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from tests.bench import postgres_contenders as postgres
from tests.bench.catalogue import installed
from tests.bench.measuring import median, middle_ratio, scratch, settle, told
from tests.bench.our_queue import OurCycle, OurQueue
from tests.bench.queue_contenders import CONTENDERS, FLOOR, Cycle, Durable, Queue
from tests.bench.reporting import Figure, Target

OURS: Final = "ours"
STEPS: Final = ("enqueue", "claim", "report")
WARM_UP: Final = 10  # statements are prepared by then
FEW: Final = 200
SMALL_TABLE: Final = 1_000
CYCLE: Final = {
    "full": "durable enqueue → claim → report, SQLite FULL",
    "normal": "enqueue → claim → report, SQLite NORMAL",
}
POSTGRES_CYCLE: Final = {
    "full": "durable enqueue → claim → report, PostgreSQL",
    "normal": "the same, PostgreSQL with synchronous_commit off",
}
POSTGRES_FLOOR: Final = "raw psycopg, SKIP LOCKED"
GROWTH: Final = "claim, SQLite NORMAL"
BATCH: Final = "one batch, SQLite FULL"


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    blocks: int
    cycles: int
    finished: int
    waiting: int
    claims: int
    batches: int


FULL: Final = Plan(8, 40, 1_000_000, 100_000, 60, 5)
QUICK: Final = Plan(2, 5, 2_000, 1_000, 5, 1)


def figures(*, quick: bool) -> list[Figure]:
    plan = QUICK if quick else FULL
    found = sqlite_cycles(plan, "full", Target("queue cycle against raw sqlite3, FULL", "≤", 1.15))
    found += sqlite_cycles(plan, "normal", Target("queue cycle against raw sqlite3, NORMAL", "≤", 2.5))
    found += postgres_cycles(plan)
    found += growth(plan, "finished", plan.finished, lambda size: (size, FEW))
    found += growth(plan, "waiting", plan.waiting, lambda size: (0, size))
    return found + large_batch(plan)


def _present(name: str) -> bool:
    return installed({"huey SqliteStorage": "huey", "persist-queue SQLiteAckQueue": "persist-queue"}.get(name, name))


def _contenders() -> dict[str, type[Queue]]:
    return {**{name: made for name, made in CONTENDERS.items() if _present(name)}, OURS: OurQueue}


@contextlib.contextmanager
def _opened(name: str, root: Path, durable: Durable) -> Any:
    folder = root / f"{len(list(root.iterdir()))}-{name.split(' ')[0]}"
    folder.mkdir()
    with contextlib.closing(_contenders()[name](folder, durable)) as queue:
        yield queue


def timed(work: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    begin = time.perf_counter()
    answer = work(*arguments)
    return (time.perf_counter() - begin) * 1000, answer


# --- the cycle


def sqlite_cycles(plan: Plan, durable: Durable, target: Target) -> list[Figure]:
    with scratch() as root, contextlib.ExitStack() as stack:
        queues = {name: stack.enter_context(_opened(name, root, durable)) for name in _contenders()}
        took = _blocks(plan, f"SQLite {durable.upper()}", queues)
    found = [_cycle_figure(CYCLE[durable], name, took, FLOOR, target) for name in took]
    best = min((figure for figure in found if figure.kind == "peer"), key=lambda figure: figure.value, default=None)
    if best is not None:
        ahead = Target(f"queue cycle against the best peer, {durable.upper()}", "≤", 1)
        ratio = middle_ratio(zip(_sums(took[OURS]), _sums(took[best.who]), strict=True))
        value = median(_sums(took[OURS]))
        note = f"the best: {best.who}"
        found.append(
            Figure(CYCLE[durable], "ours, against the best peer", "ours", value, "ms", best.value, ratio, note, ahead)
        )
    return found


def postgres_cycles(plan: Plan) -> list[Figure]:
    """On a server of the bench's own; where none can be started, a row that says so."""
    missing = postgres.missing()
    if missing is not None:
        note = f"not measured: {missing}"
        return [Figure(POSTGRES_CYCLE["full"], OURS, "ours", float("nan"), "ms", note=note)]
    found: list[Figure] = []
    targets: dict[Durable, Target | None] = {
        "full": Target("queue cycle against raw psycopg, PostgreSQL", "≤", 1.3),
        "normal": None,  # for comparison: no hub runs so
    }
    with postgres.server() as url, scratch() as root:
        for durable, target in targets.items():
            made = {POSTGRES_FLOOR: postgres.RawPsycopg, OURS: partial(postgres.our_queue, mark=root / durable)}
            with contextlib.ExitStack() as stack:
                queues = {name: stack.enter_context(postgres.opened(made[name], url, durable)) for name in made}
                took = _blocks(plan, f"PostgreSQL {durable.upper()}", queues)
            found += [_cycle_figure(POSTGRES_CYCLE[durable], name, took, POSTGRES_FLOOR, target) for name in took]
    return found


def _blocks(plan: Plan, where: str, queues: Mapping[str, Cycle]) -> dict[str, list[dict[str, float]]]:
    """Every contender's medians, block by block, all of them in each block."""
    took: dict[str, list[dict[str, float]]] = {name: [] for name in queues}
    for queue in queues.values():
        _cycles(queue, WARM_UP)
    for number in range(plan.blocks):
        told(f"queue: {where}, block {number + 1} of {plan.blocks}")
        for name, queue in queues.items():
            settle()
            took[name].append(_cycles(queue, plan.cycles))
    return took


def _cycles(queue: Cycle, count: int) -> dict[str, float]:
    """The median milliseconds of each step. One command at a time, as the hub hands them out."""
    steps: dict[str, list[float]] = {step: [] for step in STEPS}
    for _ in range(count):
        steps["enqueue"].append(timed(queue.enqueue)[0])
        milliseconds, ticket = timed(queue.claim)
        steps["claim"].append(milliseconds)
        steps["report"].append(timed(queue.report, ticket)[0])
        if isinstance(queue, OurCycle):
            queue.tidy()
    return {step: median(values) for step, values in steps.items()}


def _sums(blocks: list[dict[str, float]]) -> list[float]:
    return [sum(block.values()) for block in blocks]


def _cycle_figure(
    measurement: str, name: str, took: dict[str, list[dict[str, float]]], floor: str, target: Target | None
) -> Figure:
    sums = _sums(took[name])
    ratio = middle_ratio(zip(sums, _sums(took[floor]), strict=True))
    note = ", ".join(f"{step} {median(block[step] for block in took[name]):.3g}" for step in STEPS)
    kind, goal = ("ours", target) if name == OURS else ("floor" if name == floor else "peer", None)
    return Figure(measurement, name, kind, median(sums), "ms", median(_sums(took[floor])), ratio, note, goal)


# --- growth


def growth(plan: Plan, what: str, size: int, filling: Callable[[int], tuple[int, int]]) -> list[Figure]:
    """The claim of a large table against the same of a small one, both open at once."""
    small = SMALL_TABLE if what == "finished" else FEW
    found = []
    for name in _contenders():
        told(f"queue: {size:,} {what}, {name}")
        with scratch() as root, _opened(name, root, "normal") as little, _opened(name, root, "normal") as large:
            little.fill(*filling(small))
            large.fill(*filling(size))
            settle()
            pairs = [_claims(little, large, plan.claims // 5 or 1) for _ in range(5)]
        ratio = middle_ratio((big, few) for few, big in pairs)
        value, reference = median(big for _, big in pairs), median(few for few, _ in pairs)
        target = None
        if name == OURS:
            target = Target(f"queue claim, {size:,} {what} against a small table", "≤", 1.2)
        kind = "ours" if name == OURS else "floor" if name == FLOOR else "peer"
        note = f"small table: {reference:.3g} ms"
        found.append(Figure(f"{GROWTH}, {size:,} {what}", name, kind, value, "ms", reference, ratio, note, target))
    return found


def _claims(little: Any, large: Any, count: int) -> tuple[float, float]:
    took: tuple[list[float], list[float]] = ([], [])
    for _ in range(count):
        for queue, values in zip((little, large), took, strict=True):
            milliseconds, ticket = timed(queue.claim)
            values.append(milliseconds)
            queue.report(ticket)
    return median(took[0]), median(took[1])


# --- batches


def large_batch(plan: Plan) -> list[Figure]:
    told("queue: batches of 1,000")
    with scratch() as root, _opened(OURS, root, "full") as ours, _opened(FLOOR, root, "full") as floor:
        took, beside = [], []
        for _ in range(plan.batches):
            settle()
            beside.append(timed(floor.fill, 0, 1_000)[0])
            took.append(timed(ours.create, 1_000)[0])
    target = Target("batch of 1,000 commands, validated and stored", "≤", 1_000, of_ratio=False, unit="ms")
    ratio = middle_ratio(zip(took, beside, strict=True))
    return [
        Figure(BATCH, f"{FLOOR}, 1,000 rows in one commit", "floor", median(beside), "ms", ratio=1.0),
        Figure(BATCH, "ours, 1,000 commands", "ours", median(took), "ms", median(beside), ratio, target=target),
    ]
