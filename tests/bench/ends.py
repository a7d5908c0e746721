"""The ends of a measurement as processes of their own: one line of JSON in, one out. `catalogue` knows which there are.

`python -m tests.bench.ends ROLE NAME SHARE LOCAL` says `ready` first, then obeys until its input ends.
"""

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Self

ROOT: Final = Path(__file__).resolve().parents[2]
PEERS: Final = Path(sys.prefix) / "peers"  # where `make bench` installs the peers: beside what is locked, not among it
START_SECONDS: Final = 60.0
END_SECONDS: Final = 5.0


class EndFailed(RuntimeError):
    """An end died or did not answer in time."""


class End:
    """One end as a child process. Ended by leaving the `with` block."""

    def __init__(self, role: str, name: str, share: Path, local: Path) -> None:
        self._told = f"{role} of {name}"
        command = [sys.executable, "-m", "tests.bench.ends", role, name, str(share), str(local)]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._rest = b""

    @property
    def pid(self) -> int:
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.terminate()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()

    def wait_ready(self) -> None:
        if self.answer(START_SECONDS) != "ready":
            raise EndFailed(f"{self._told} did not get ready")

    def order(self, **what: Any) -> None:
        """Tell it what to do, without waiting."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps(what).encode() + b"\n")
        self._process.stdin.flush()

    def ask(self, timeout: float, **what: Any) -> Any:
        self.order(**what)
        return self.answer(timeout)

    def answer(self, timeout: float) -> Any:
        """The next line it says."""
        assert self._process.stdout
        deadline = time.monotonic() + timeout
        while b"\n" not in self._rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise EndFailed(f"{self._told} said nothing for {timeout:.0f} s")
            piece = os.read(self._process.stdout.fileno(), 1 << 20)
            if not piece:
                raise EndFailed(f"{self._told} ended by itself")
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)


def say(what: Any) -> None:
    """Tell the runner one thing. Called by the ends."""
    print(json.dumps(what), flush=True)


def _end_with_input() -> None:
    # A serving end gets no orders: its input ends when the runner does, whatever ended it.
    sys.stdin.read()
    os._exit(0)


def main(arguments: Sequence[str]) -> None:
    role, name, share, local = arguments
    sys.path.append(str(PEERS))
    from tests.bench.catalogue import ROUND_TRIPS, end_of

    Path(local).mkdir(parents=True, exist_ok=True)
    if role == "serve":
        threading.Thread(target=_end_with_input, daemon=True).start()
        ROUND_TRIPS[name].serve(Path(share), Path(local), lambda: say("ready"))
    obey = end_of(role, name, Path(share), Path(local))
    say("ready")
    for line in sys.stdin:
        say(obey(**json.loads(line)))


if __name__ == "__main__":
    main(sys.argv[1:])
