"""Starting, watching and ending the demo's processes, each with a log file of its own."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

STOP_SECONDS: Final = 10.0
LOOK_SECONDS: Final = 0.1
LOG_TAIL: Final = 2_000


class DemoFailure(Exception):
    """Something of the demo did not come up or did not end; the text says what and where to look."""


@dataclass
class Program:
    """One running process and where its words go."""

    name: str
    process: "subprocess.Popen[bytes]"
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def running(self) -> bool:
        return self.process.poll() is None

    def last_words(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")[-LOG_TAIL:]

    def kill(self) -> None:
        """End it as a power cut would: kill -9, by its own pid."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=STOP_SECONDS)

    def stop(self) -> None:
        """Ask it to end; what does not listen is killed."""
        if self.running():
            self.process.terminate()
            try:
                self.process.wait(timeout=STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()


def start(name: str, arguments: Sequence[str], *, logs: Path, environment: Mapping[str, str]) -> Program:
    """Start a program that outlives this one if it is left; its output is appended to `logs/<name>.log`."""
    log = logs / f"{name}.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
            start_new_session=True,
        )
    return Program(name, process, log)


def wait_until(true: Callable[[], bool], *, seconds: float, what: str, programs: Sequence[Program] = ()) -> None:
    """Look until it is so. Raises `DemoFailure` when time is over or one of `programs` has ended meanwhile."""
    end = time.monotonic() + seconds
    while not true():
        ended = next((program for program in programs if not program.running()), None)
        if ended is not None:
            raise DemoFailure(
                f"{ended.name} ended with code {ended.process.returncode}; its last words:\n{ended.last_words()}"
            )
        if time.monotonic() > end:
            raise DemoFailure(f"{what} did not come about within {seconds:.0f} s; the logs are kept")
        time.sleep(LOOK_SECONDS)


def free_port() -> int:
    """A loopback port that is free now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
