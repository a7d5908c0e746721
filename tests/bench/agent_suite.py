"""`make bench ONLY=agent`: from the agent's start to its first claim, and its memory, beside its bare dependencies."""

import contextlib
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from examples.jira.settings import DEFAULT_TOKEN
from relay import Reply, Request, Server, create_link
from tests.bench.measuring import median, middle_ratio, rss_mib, scratch, told
from tests.bench.our_queue import LINK
from tests.bench.reporting import Figure, Target
from tests.bench.starting import (
    BIN,
    START_SECONDS,
    StartFailed,
    first_answer,
    free_port,
    program,
    run_through,
    with_bytecode,
)

START: Final = "agent: start to first claim"
MEMORY: Final = "agent: memory"
PYTHON: Final = str(BIN / "python")
IMPORTS: Final = "import pydantic, watchdog.observers, watchdog.events, httpx2, tenacity, rich.console"
ALL_IMPORTS: Final = f"{IMPORTS}, pydantic_settings, typer, filelock"  # whatever of others it is made of
REST_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    starts: int


FULL: Final = Plan(9)
QUICK: Final = Plan(1)


def figures(*, quick: bool) -> list[Figure]:
    plan = QUICK if quick else FULL
    floor, full, ours, memory = [], [], [], []
    with scratch() as root, _surroundings(root) as agent:
        kept = with_bytecode(root / "bytecode")
        for imports in (IMPORTS, ALL_IMPORTS):
            run_through([PYTHON, "-c", imports], kept)  # compiles, once
        agent.start()  # learns the names of this Jira once, as every agent does on its first day
        for number in range(plan.starts):
            told(f"agent: start {number + 1} of {plan.starts}")
            floor.append(run_through([PYTHON, "-c", IMPORTS], kept))
            full.append(run_through([PYTHON, "-c", ALL_IMPORTS], kept))
            milliseconds, mib = agent.start()
            ours.append(milliseconds)
            memory.append(mib)
        bare = median(run_through([PYTHON, "-c", "pass"], kept) for _ in range(plan.starts))
    ratio = middle_ratio(zip(ours, floor, strict=True))
    start = Target("agent: start to first claim against the bare import of its dependencies", "≤", 1.3)
    rss = Target("agent: RSS", "≤", 50, of_ratio=False, unit="MiB")
    return [
        Figure(START, "bare Python", "floor", bare, "ms"),
        Figure(START, "pydantic, watchdog, httpx2, tenacity, rich", "floor", median(floor), "ms", ratio=1.0),
        Figure(START, "the same and pydantic-settings, typer, filelock", "floor", median(full), "ms"),
        Figure(START, "ours", "ours", median(ours), "ms", median(floor), ratio, target=start),
        Figure(MEMORY, "ours, waiting for work", "ours", median(memory), "MiB", target=rss),
    ]


class _Agent:
    """Agents started one after the other beside a relay server that only notes when a claim comes."""

    def __init__(self, root: Path, jira: str, token: str) -> None:
        self._home = root / "agent"
        self._output = root / "agent.txt"
        self._claimed = threading.Event()
        self._leave = threading.Event()
        self._told = {
            "JIRA_AGENT_HOME": str(root / "agent"),
            "JIRA_AGENT_JOURNAL": str(root / "agent" / "journal.jsonl"),
            "JIRA_AGENT_STATE_DIR": str(root / "agent" / "relay"),
            "JIRA_AGENT_SHARE": str(root / "share"),
            "JIRA_AGENT_JIRA_URL": jira,
            "JIRA_AGENT_TOKEN": token,
            "JIRA_AGENT_PROJECT": "AURORA",
            "JIRA_AGENT_READ_GAP": "0",
            "JIRA_AGENT_GAP_FLOOR": "0",
            **with_bytecode(root / "bytecode"),
        }

    def answer(self, request: Request) -> Reply:
        """The hub's side: a claim is heard, and left without work until the agent has gone."""
        self._claimed.set()
        self._leave.wait(START_SECONDS)
        return Reply(204)

    def start(self) -> tuple[float, float]:
        """Milliseconds to the first claim, and MiB soon after."""
        # A claim left open is sent again under its id, and answered from memory: each start has a past without one.
        (self._home / "journal.jsonl").unlink(missing_ok=True)
        shutil.rmtree(self._home / "relay", ignore_errors=True)
        self._claimed.clear()
        self._leave.clear()
        begin = time.perf_counter()
        with program([str(BIN / "jira-agent"), "run"], self._told, self._output) as process:
            if not self._claimed.wait(START_SECONDS):
                raise StartFailed(f"no claim: {self._output.read_text(errors='replace')[-2000:]}")
            milliseconds = (time.perf_counter() - begin) * 1000
            time.sleep(REST_SECONDS)
            mib = rss_mib(process.pid)
            self._leave.set()
        return milliseconds, mib


@contextlib.contextmanager
def _surroundings(root: Path) -> Iterator[_Agent]:
    (root / "agent").mkdir()
    (root / "share").mkdir()
    create_link(root / "share" / LINK, LINK)
    port = free_port()
    jira = [PYTHON, "-m", "examples.jira", "--port", str(port)]
    agent = _Agent(root, f"http://127.0.0.1:{port}", DEFAULT_TOKEN)
    with program(jira, {}, root / "jira.txt") as process:
        first_answer(process, port, "/", root / "jira.txt")
        with Server(root / "share" / LINK, agent.answer, state_dir=root / "hub"):
            yield agent
