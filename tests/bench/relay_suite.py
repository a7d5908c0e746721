"""`make bench ONLY=relay`: round trips, throughput, backlog and idleness of the relay beside floors and peers."""

import contextlib
import time
from dataclasses import dataclass
from typing import Final

from tests.bench.catalogue import (
    ONE_WAY,
    ONE_WAY_DURABLE,
    ONE_WAYS,
    OURS,
    OURS_DURABLE,
    PERSIST,
    RAW,
    RAW_DURABLE,
    ROUND_TRIPS,
    installed,
)
from tests.bench.ends import End
from tests.bench.measuring import cpu_seconds, fuse_available, median, middle_ratio, percentile, scratch, settle, told
from tests.bench.pairs import CALLS_SECONDS, Pair, one_way, pair_of
from tests.bench.reporting import Figure, Target

OUTLIER_MS: Final = 100.0
CALLERS: Final = 64
FEW: Final = 100
WINDOW: Final = 16
MESSAGES_PER_CALL: Final = 2  # a request and a reply; the raw limit counts messages too
TRIP: Final = "round trip of 1 KiB, two processes"
FUSE_TRIP: Final = "the same, each side behind a FUSE mount (no events)"
FLOW: Final = "throughput of 1 KiB messages"
BACKLOG: Final = "cost of a message while requests wait"
IDLE: Final = "idle"


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    blocks: int
    calls: int
    durable_calls: int
    peer_rounds: int
    peer_seconds: float
    fuse_blocks: int
    fuse_pairs: int
    idle_calls: int
    flow_rounds: int
    flow: int
    waiting: int
    idle_seconds: float


FULL: Final = Plan(20, 500, 60, 3, 1.5, 8, 4, 20, 5, 4_000, 100_000, 30.0)
QUICK: Final = Plan(2, 30, 8, 1, 0.0, 1, 1, 1, 1, 256, 1_000, 1.0)


def figures(*, quick: bool) -> list[Figure]:
    plan = QUICK if quick else FULL
    found = round_trips(plan)
    if fuse_available():
        found += fuse_round_trips(plan)
    found += throughput(plan)
    found += backlog(plan)
    found += idleness(plan)
    return found


# --- round trips


def round_trips(plan: Plan) -> list[Figure]:
    told("relay: round trips against the floors")
    names = (RAW, OURS, RAW_DURABLE, OURS_DURABLE)
    pooled: dict[str, list[float]] = {name: [] for name in names}
    blocks: dict[str, list[float]] = {name: [] for name in names}
    with contextlib.ExitStack() as stack:
        pairs = {name: stack.enter_context(pair_of(name)) for name in names}
        for name in names:
            pairs[name].calls(20)
        for _ in range(plan.blocks):
            settle()
            for name in names:
                took = pairs[name].calls(plan.calls if name in (RAW, OURS) else plan.durable_calls)
                pooled[name] += took
                blocks[name].append(median(took))
        peers = _peer_round_trips(plan, pairs[RAW])
    found = [_floor(RAW, blocks[RAW], pooled[RAW]), *peers]
    found += _ours(OURS, blocks, RAW, pooled[OURS], Target("relay round trip, not durable", "≤", 2))
    slow = sum(took > OUTLIER_MS for took in pooled[OURS])
    target = Target("relay round trip, not durable: calls above 100 ms", "=", 0, of_ratio=False, unit="calls")
    found.append(Figure(TRIP, f"{OURS}: above 100 ms", "ours", slow, "calls", note=_of(pooled[OURS]), target=target))
    found.append(_floor(RAW_DURABLE, blocks[RAW_DURABLE], pooled[RAW_DURABLE]))
    found += _ours(
        OURS_DURABLE, blocks, RAW_DURABLE, pooled[OURS_DURABLE], Target("relay round trip, durable", "≤", 1.5)
    )
    return found


def _floor(name: str, blocks: list[float], pooled: list[float], measurement: str = TRIP) -> Figure:
    return Figure(measurement, name, "floor", median(blocks), "ms", ratio=1.0, note=_of(pooled))


def _ours(who: str, blocks: dict[str, list[float]], floor: str, pooled: list[float], target: Target) -> list[Figure]:
    ratio = middle_ratio(zip(blocks[who], blocks[floor], strict=True))
    value, reference = median(blocks[who]), median(blocks[floor])
    return [Figure(TRIP, who, "ours", value, "ms", reference, ratio, _of(pooled), target)]


def _of(took: list[float]) -> str:
    return f"n={len(took):,}, p95 {percentile(took, 95):.2g}, p99 {percentile(took, 99):.2g} ms"


def _peer_round_trips(plan: Plan, floor: Pair) -> list[Figure]:
    names = [name for name in ROUND_TRIPS if name not in (RAW, OURS, RAW_DURABLE, OURS_DURABLE)]
    found = []
    for name in names:
        if not installed(name):
            found.append(Figure(TRIP, name, "peer", float("nan"), "ms", note="not installed"))
            continue
        told(f"relay: {name}")
        blocks, pooled, lost = [], [], 0
        for _ in range(plan.peer_rounds):
            beside = median(floor.calls(plan.calls // 2))
            with pair_of(name) as peer:
                peer.calls(1)
                # As many as fit: a peer that polls once a second gets a few, a quick one hundreds.
                took = peer.calls(300, think=0.003, seconds=plan.peer_seconds)
                lost += peer.lost
            pooled += took
            if took:  # else all of them were lost
                blocks.append((median(took), beside))
        value, ratio = median(block for block, _ in blocks), middle_ratio(blocks)
        note = _of(pooled) + (f", {lost} lost" if lost else "")
        found.append(Figure(TRIP, name, "peer", value, "ms", median(block for _, block in blocks), ratio, note))
    return found


def fuse_round_trips(plan: Plan) -> list[Figure]:
    told("relay: round trips behind FUSE")
    blocks, pooled = [], []
    with contextlib.ExitStack() as stack:
        floor = stack.enter_context(pair_of(RAW))
        pairs = [stack.enter_context(pair_of(OURS, fuse=True)) for _ in range(plan.fuse_pairs)]
        for pair in pairs:
            pair.calls(10)
        for _ in range(plan.fuse_blocks):
            beside = median(floor.calls(plan.calls // 2))
            took = pairs[0].calls(plan.calls // 5)
            pooled += took
            blocks.append((median(took), beside))
        for pair in pairs:
            pair.begin_calls(plan.idle_calls, think=1.8)
        idle = [each for pair in pairs for each in pair.end_calls()]
        lost = sum(pair.lost for pair in pairs)
    value, reference = median(block for block, _ in blocks), median(beside for _, beside in blocks)
    trip = Target("relay round trip on a share without events", "≤", 9)
    first = Target("relay, share without events: first call after idle, p99", "≤", 300, of_ratio=False, unit="ms")
    none = Target("relay, share without events: lost", "=", 0, of_ratio=False, unit="calls")
    return [
        Figure(FUSE_TRIP, RAW, "floor", reference, "ms", ratio=1.0, note="not behind FUSE"),
        Figure(FUSE_TRIP, OURS, "ours", value, "ms", reference, middle_ratio(blocks), _of(pooled), trip),
        Figure(
            FUSE_TRIP, "ours, first after idle, p99", "ours", percentile(idle, 99), "ms", note=_of(idle), target=first
        ),
        Figure(FUSE_TRIP, "ours, lost", "ours", lost, "calls", target=none),
    ]


# --- throughput


def throughput(plan: Plan) -> list[Figure]:
    speeds: dict[str, list[float]] = {name: [] for name in (ONE_WAY, ONE_WAY_DURABLE, OURS, OURS_DURABLE)}
    wrong = {OURS: 0, OURS_DURABLE: 0}
    with contextlib.ExitStack() as stack:
        crowds = {name: stack.enter_context(pair_of(name, role="crowd")) for name in (OURS, OURS_DURABLE)}
        for number in range(plan.flow_rounds):
            told(f"relay: throughput, round {number + 1} of {plan.flow_rounds}")
            speeds[ONE_WAY].append(one_way(ONE_WAY, plan.flow)[0])
            speeds[ONE_WAY_DURABLE].append(one_way(ONE_WAY_DURABLE, plan.flow // 8)[0])
            for name, crowd in crowds.items():
                settle()
                done = crowd.caller.ask(CALLS_SECONDS, callers=CALLERS, count=plan.flow)
                speeds[name].append(MESSAGES_PER_CALL * done["calls"] / (done["end"] - done["begin"]))
                wrong[name] += done["wrong"]
    found = [
        Figure(FLOW, ONE_WAY, "floor", median(speeds[ONE_WAY]), "/s", ratio=1.0),
        *_peer_flows(plan, speeds[ONE_WAY]),
    ]
    found.append(_flow(OURS, ONE_WAY, speeds, wrong, Target("relay throughput, 64 callers, not durable", "≥", 4)))
    found.append(Figure(FLOW, ONE_WAY_DURABLE, "floor", median(speeds[ONE_WAY_DURABLE]), "/s", ratio=1.0))
    target = Target("relay throughput, 64 callers, durable", "≥", 10)
    found.append(_flow(OURS_DURABLE, ONE_WAY_DURABLE, speeds, wrong, target))
    return found


def _flow(who: str, floor: str, speeds: dict[str, list[float]], wrong: dict[str, int], target: Target) -> Figure:
    value, reference = median(speeds[who]), median(speeds[floor])
    ratio = middle_ratio(zip(speeds[who], speeds[floor], strict=True))
    note = f"{value / MESSAGES_PER_CALL:,.0f} calls a second, {CALLERS} callers, {wrong[who]} lost or wrong"
    return Figure(FLOW, who, "ours", value, "/s", reference, ratio, note, target)


def _peer_flows(plan: Plan, floor: list[float]) -> list[Figure]:
    found = []
    count = max(20, plan.flow // 8)  # looking through a long queue is dear for them: a short one favours them
    for name in (*(name for name in ONE_WAYS if name not in (ONE_WAY, ONE_WAY_DURABLE)), PERSIST):
        if not installed(name):
            found.append(Figure(FLOW, name, "peer", float("nan"), "/s", note="not installed"))
            continue
        told(f"relay: throughput of {name}")
        speed, lost = _in_one_process(count) if name == PERSIST else one_way(name, count)
        note = f"n={count:,}, {lost} lost"
        found.append(Figure(FLOW, name, "peer", speed, "/s", median(floor), speed / median(floor), note))
    return found


def _in_one_process(count: int) -> tuple[float, int]:
    settle()
    with scratch() as root, End("both", PERSIST, root, root / "local") as end:
        (root / "box").mkdir()
        end.wait_ready()
        done = end.ask(CALLS_SECONDS, count=count)
    return count / (done["end"] - done["begin"]), 0


# --- backlog


def backlog(plan: Plan) -> list[Figure]:
    """100 requests kept waiting against very many, drained to the last."""
    told("relay: backlog")
    few, many, most = [], [], 0
    with pair_of(OURS, role="flood") as pair:
        pair.caller.ask(CALLS_SECONDS, waiting=FEW, total=FEW)
        for waiting, costs in ((FEW, few), (plan.waiting, many), (FEW, few)):
            settle()
            # With few waiting, a tenth of the messages says as much.
            done = pair.caller.ask(CALLS_SECONDS, waiting=waiting, total=max(waiting, plan.waiting // 10))
            costs.append(done["ms"])
            most = max(most, done["most"])
    value, reference = median(many), median(few)
    cost = Target("relay cost of a message, 100,000 waiting against 100", "≤", 1.2)
    window = Target("relay backlog: frames in a folder of the link", "≤", WINDOW, of_ratio=False, unit="frames")
    return [
        Figure(BACKLOG, f"ours, {FEW} waiting", "ours", reference, "ms"),
        Figure(
            BACKLOG, f"ours, {plan.waiting:,} waiting", "ours", value, "ms", reference, value / reference, target=cost
        ),
        Figure(BACKLOG, "ours, most frames in a folder", "ours", most, "frames", target=window),
    ]


# --- idleness


def idleness(plan: Plan) -> list[Figure]:
    """CPU of each side while nothing happens, after enough calls to know whether events can be trusted."""
    told("relay: idle")
    found = []
    with contextlib.ExitStack() as stack:
        pairs = {"events reliable": (stack.enter_context(pair_of(OURS_DURABLE)), 0.05)}
        if fuse_available():
            pairs["no events"] = (stack.enter_context(pair_of(OURS_DURABLE, fuse=True)), 0.15)
        for pair, _ in pairs.values():
            pair.calls(60)
        time.sleep(min(plan.idle_seconds, 5.0))
        ends = [
            (told_as, side, end, limit)
            for told_as, (pair, limit) in pairs.items()
            for side, end in (("client", pair.caller), ("server", pair.server))
        ]
        before, started = [cpu_seconds(end.pid) for _, _, end, _ in ends], time.monotonic()
        time.sleep(plan.idle_seconds)
        spent = [cpu_seconds(end.pid) for _, _, end, _ in ends]
        window = time.monotonic() - started
    for (told_as, side, _, limit), first, last in zip(ends, before, spent, strict=True):
        target = Target(f"relay idle, {told_as}: {side}", "≤", limit, of_ratio=False, unit="% of a core")
        percent = 100 * (last - first) / window
        who = f"ours, {told_as}: {side}"
        found.append(Figure(IDLE, who, "ours", percent, "% of a core", note=f"over {window:.0f} s", target=target))
    return found
