"""Medians and ratios, CPU and memory of a process, scratch folders. No floor, peer or part of ours in here."""

import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

DISK: Final = Path(tempfile.gettempdir())
NANOSECONDS: Final = 1e9
SETTLE_SECONDS: Final = 0.05


def percentile(values: Sequence[float], rank: float) -> float:
    """The value below which `rank` percent of the values lie, interpolated; nan for none."""
    if not values:
        return float("nan")
    ordered = sorted(values)
    place = (len(ordered) - 1) * rank / 100
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def median(values: Iterable[float]) -> float:
    found = list(values)
    return statistics.median(found) if found else float("nan")


def middle_ratio(pairs: Iterable[tuple[float, float]]) -> float:
    """The middle one of the blocks' own ratios (measured, floor beside it): a drifting machine cancels out."""
    return median(measured / floor for measured, floor in pairs)


def cpu_seconds(pid: int) -> float:
    """CPU time of every live thread of a process, by the scheduler's nanosecond accounting (not by ticks)."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):  # the thread ended meanwhile
            total += int((task / "schedstat").read_text().split()[0])
    return total / NANOSECONDS


def rss_mib(pid: int) -> float:
    """Resident memory of a process now."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return float("nan")


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A fresh folder on disk, gone afterwards."""
    path = Path(tempfile.mkdtemp(prefix="bridge-bench-", dir=DISK))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def settle() -> None:
    """Write out what earlier measurements left behind, else the next one's fsync pays for it."""
    os.sync()
    time.sleep(SETTLE_SECONDS)


def fuse_available() -> bool:
    """Whether a folder can be seen through a FUSE mount here, which hides one side's events from the other."""
    return shutil.which("bindfs") is not None and os.access("/dev/fuse", os.R_OK | os.W_OK)


@contextlib.contextmanager
def through_fuse(folder: Path, name: str) -> Iterator[Path]:
    """`folder` through a FUSE mount of its own beside it: writes made elsewhere give no events here, as on a share."""
    mounted = folder.with_name(f"{folder.name}-{name}")
    mounted.mkdir()
    subprocess.run(["bindfs", "--no-allow-other", folder, mounted], check=True, timeout=20)
    try:
        yield mounted
    finally:
        unmount = ["umount", "-l"] if os.geteuid() == 0 else ["fusermount3", "-u", "-z"]
        subprocess.run([*unmount, mounted], check=True, timeout=20)
        mounted.rmdir()


def told(text: str) -> None:
    """Progress, beside the results."""
    print(text, file=sys.stderr, flush=True)
