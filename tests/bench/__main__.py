"""`python -m tests.bench --only relay`: ours beside floors and peers in one run, as a table and a line of JSON."""

import argparse
import signal
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Final

from rich.console import Console

from tests.bench.ends import PEERS
from tests.bench.measuring import told
from tests.bench.reporting import Figure, print_report

WIDTH: Final = 190  # the table's columns do not wrap, in a log either
SUITES: Final = ("relay", "queue", "hub", "agent", "sim")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--only", choices=SUITES, help="one suite; all of them without it")
    parser.add_argument("--quick", action="store_true", help="a smoke run: it proves that everything works, no more")
    options = parser.parse_args()
    sys.path.append(str(PEERS))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # through every `with`: mounts, processes, scratch
    began, found = time.monotonic(), list[Figure]()
    for suite in [options.only] if options.only else SUITES:
        measure: Callable[..., list[Figure]] = import_module(f"tests.bench.{suite}_suite").figures
        found += measure(quick=options.quick)
    told(f"done in {time.monotonic() - began:.0f} s")
    title = f"{options.only or 'everything'}{' (quick: figures mean nothing)' if options.quick else ''}"
    print_report(found, title, Console(width=WIDTH))


if __name__ == "__main__":
    main()
