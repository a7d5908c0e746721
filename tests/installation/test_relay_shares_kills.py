"""Two processes, each killed again and again, and a courier between their folders that loses a fifth of the frames."""

import contextlib
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contracts.shares.mounts import ROOT, wait_until
from tests.contracts.shares.traffic import FULL, LINK_SERVED_BY, SIDES, Side, make_links, traffic

SECONDS = 180.0 if FULL else 15.0
KILLS = 40 if FULL else 3
REQUESTS = 2_000 if FULL else 50
PAUSE_SECONDS = (1.0, 4.5)
SETTLE_SECONDS = 150.0


@contextlib.contextmanager
def couriers(shares: dict[Side, Path], logs: Path, seed: int) -> Iterator[list[Path]]:
    """One courier for each link, a process of its own; the files they count in."""
    processes, counts = [], []
    try:
        for name in LINK_SERVED_BY.values():
            counts.append(logs / f"{name}.json")
            command = [sys.executable, "-m", "examples.demo.courier", shares["hub"] / name, shares["agent"] / name]
            options = ["--log", counts[-1], "--seed", str(seed)]
            with (logs / f"{name}.log").open("wb") as log:
                processes.append(subprocess.Popen([*command, *options], cwd=ROOT, stdout=log, stderr=log))
        yield counts
        assert [process.poll() for process in processes] == [None] * len(processes), f"a courier died, see {logs}"
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(10)


@pytest.mark.timeout(600)  # three minutes of work, and room to come to rest on a busy machine
def test_every_request_has_its_effect_once_over_kills_of_either_side_and_a_fifth_of_the_frames_lost(
    tmp_path: Path,
) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    shares: dict[Side, Path] = {"hub": tmp_path / "hub-share", "agent": tmp_path / "agent-share"}
    shares["hub"].mkdir()
    make_links(shares["hub"])
    shutil.copytree(shares["hub"], shares["agent"])
    with (
        couriers(shares, tmp_path, seed) as counts,
        traffic(tmp_path / "home", shares, count=1_000_000, callers=40, gap=0.05, large_every=150, timeout=20.0) as run,
    ):
        wait_until(lambda: run.answered() > 0, "the first answer")
        end = time.monotonic() + SECONDS
        while (left := end - time.monotonic()) > 0 or run.kills < KILLS:
            time.sleep(min(max(left, 0.0), dice.uniform(*PAUSE_SECONDS)))
            side = dice.choice(SIDES)
            station = run.stations[side]
            if dice.random() < 0.2:  # it stands still for a while first, as a machine that swaps
                station.send(signal.SIGSTOP)
                time.sleep(dice.uniform(0.1, 1.0))
            run.kill_and_restart(side)
        run.settle(SETTLE_SECONDS)
        told = [json.loads(path.read_text(encoding="utf-8")) for path in counts]
        print(f"{run.answered()} requests, {run.kills} kills, couriers {told}")
        assert run.answered() >= REQUESTS
        assert run.kills >= KILLS
        assert all(one["lost"] > 0.1 * one["carried"] for one in told)
