"""Random worlds by their seeds: which faults are about, for how long, on what kind of share; what became of them."""

import contextlib
import gc
import logging
import random
import shutil
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Final, Literal, TypeVar

from tests.simulation.faults import ALL, random_faults
from tests.simulation.world import HOUR, Broken, Plan, World

STORM: Final = Plan(faults=ALL, intensity=8.0, batch_every=0.5 * HOUR)  # everything goes wrong, often
STORM_SECONDS: Final = 12 * HOUR
Kind = Literal["calm", "some", "all"]
Given = TypeVar("Given")
Became = TypeVar("Became")
KINDS: Final[tuple[Kind, ...]] = ("some", "some", "all", "some", "calm")
AT_ONCE: Final = 2
_MEMORY: Final = Path("/dev/shm")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one world. `broken` is empty where every promise held."""

    seed: int
    kind: Kind
    hours: float
    seconds: float
    digest: str
    broken: tuple[str, ...]
    faults: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    moves: Counter[tuple[str | None, str]] = field(default_factory=Counter)
    fault_states: Counter[tuple[str, str]] = field(default_factory=Counter)
    judged: int = 0


def kind_of(seed: int) -> Kind:
    return KINDS[seed % len(KINDS)]


def plan_of(seed: int) -> tuple[Plan, float]:
    """The plan of a seed, and how many seconds of the world pass before the faults stop."""
    chance = random.Random(seed * 7_919 + 1)
    kind = kind_of(seed)
    faults = {"calm": frozenset[str](), "all": ALL, "some": random_faults(chance)}[kind]
    slow = chance.random() < 0.3
    plan = Plan(
        faults=faults,
        intensity=chance.choice((0.5, 1.0, 2.0, 6.0)),
        batch_every=chance.choice((0.3, 1.0, 3.0)) * HOUR,
        settle=chance.choice((120.0, 300.0)),
        latency=chance.choice((1.0, 5.0)) if slow else chance.choice((0.01, 0.05, 0.3)),
        announces=chance.random() < 0.6,
        scan_limit=chance.choice((5.0, 10.0)),
        first_scan=chance.choice((0.2, 0.5)),
    )
    return plan, chance.choice((2.0, 6.0, 12.0, 24.0)) * HOUR


def stops_at(seed: int) -> float:
    """A random moment at which the faults of this seed stop."""
    return random.Random(seed * 104_729).uniform(0.25, 6.0) * HOUR


@contextlib.contextmanager
def world_folder() -> Iterator[Path]:
    """A folder for one world; in memory where the system has such a place, for nothing in it has to last."""
    folder = Path(tempfile.mkdtemp(prefix="world-", dir=_MEMORY if _MEMORY.is_dir() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Thousands of simulated outages need not be logged; and garbage is collected between worlds, not within."""
    logging.disable(logging.CRITICAL)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()
        logging.disable(logging.NOTSET)


def run_seed(seed: int, *, plan: Plan | None = None, seconds: float | None = None) -> Outcome:
    """Run one world until it has come to rest. Any exception of the product counts as a broken promise too."""
    own_plan, own_seconds = plan_of(seed)
    broken: tuple[str, ...] = ()
    began = time.process_time()
    with world_folder() as folder, quiet():
        world = World(folder, seed, plan or own_plan)
        try:
            world.run(own_seconds if seconds is None else seconds)
            world.settle()
        except Broken as error:
            broken = (str(error),)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is a bug found
            where = traceback.extract_tb(error.__traceback__)[-1]
            broken = (f"{type(error).__name__}: {error} ({where.filename}:{where.lineno}, seed {seed})",)
        statuses = Counter(str(row["status"]) for row in world.commands())
        outcome = Outcome(
            seed,
            kind_of(seed),
            world.time.now / HOUR,
            time.process_time() - began,
            world.digest(),
            broken,
            world.weather.injected,
            statuses,
            world.witness.moves,
            world.witness.fault_states,
            world.judged,
        )
        world.close()
    return outcome


def stopped(seed: int) -> Outcome:
    """The seed's own plan, its faults stopped at a random moment."""
    return run_seed(seed, seconds=stops_at(seed))


def stormy(seed: int) -> Outcome:
    return run_seed(seed, plan=STORM, seconds=STORM_SECONDS)


@cache
def _pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(AT_ONCE, mp_context=get_context("spawn"))


def lived(run: Callable[[Given], Became], given: Iterable[Given]) -> Iterator[Became]:
    """Worlds side by side, one a core: each is alone in its process, so that what is given alone decides."""
    yield from _pool().map(run, given)


def main() -> None:
    """`python -m tests.simulation.swarm FIRST COUNT`: each world's outcome in a line."""
    import sys

    first, count = int(sys.argv[1]), int(sys.argv[2])
    for seed in range(first, first + count):
        one = run_seed(seed)
        speed = one.hours * HOUR / one.seconds
        print(f"{seed} {one.kind} {one.hours:.1f} h {speed:.0f} x {dict(one.statuses)} {one.broken or ''}", flush=True)


if __name__ == "__main__":
    main()
