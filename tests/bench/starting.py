"""Programs from outside: how long a start takes, what it costs in memory, when a server gives its first answer."""

import contextlib
import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.bench.ends import ROOT

START_SECONDS: Final = 30.0
END_SECONDS: Final = 10.0
LOOK_SECONDS: Final = 0.003
BIN: Final = Path(sys.executable).parent
NOTHING_TOLD: Final[Mapping[str, str]] = {}


class StartFailed(RuntimeError):
    """A program ended, or was not there in time."""


def with_bytecode(folder: Path) -> dict[str, str]:
    """Environment of programs whose bytecode is kept, as an installed one's is: whoever measures switches it off."""
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder)}


def run_through(command: Sequence[str], told: Mapping[str, str] = NOTHING_TOLD) -> float:
    """Milliseconds from the start of a program to its end; a failing one is a mistake of the bench."""
    begin = time.perf_counter()
    environment = {**os.environ, **told}
    subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=True, timeout=START_SECONDS)
    return (time.perf_counter() - begin) * 1000


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def program(command: Sequence[str], told: Mapping[str, str], output: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A program that runs until it is left; what it says goes into a file."""
    with output.open("ab") as said:
        process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **told}, stdout=said, stderr=said)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def first_answer(process: subprocess.Popen[bytes], port: int, path: str, output: Path) -> None:
    """Return once a GET is answered with 200."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("GET", path)
            if connection.getresponse().status == 200:
                return
        connection.close()
        time.sleep(LOOK_SECONDS)
    raise StartFailed(f"no answer from {path}: {output.read_text(errors='replace')[-2000:]}")
