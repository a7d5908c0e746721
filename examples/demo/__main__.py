"""`make demo`: one batch from a file to Jira and back, over a folder that loses files, past an agent killed half-way.

The programs run as real processes and do not know that they are watched. KEEP=1 leaves them running.
"""

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import httpx2
import typer
from rich.console import Console

from examples.demo import evidence
from examples.demo.processes import DemoFailure, Program, wait_until
from examples.demo.progress import Progress, final_table
from examples.demo.scene import GAPS, Scene
from examples.demo.verdict import Verdict, verdict

BATCH: Final = Path(__file__).resolve().parents[1] / "batches" / "demo.yaml"
LIMIT_SECONDS: Final = 85.0  # the whole demo ends within 90
KILL_AFTER_DONE: Final = 5  # commands at rest before the agent is killed in the middle of a later one
LOOK_SECONDS: Final = 0.05
SUBJECT_WIDTH: Final = 44
AT_REST: Final = frozenset({"done", "failed", "cancelled", "skipped", "confirmed_by_state"})


@dataclass
class Demo:
    """One run: the programs, and what was done to them."""

    scene: Scene
    console: Console
    started: float
    seed: int
    programs: dict[str, Program] = field(default_factory=dict)
    kills: list[float] = field(default_factory=list)

    def start(self) -> None:
        """Bring everything up; the hub's gaps are set as a person would set them."""
        scene = self.scene
        self.programs["jira"] = scene.start_jira()
        self.programs["hub"] = scene.start_hub()
        self.programs["courier"] = scene.start_courier(self.seed)
        for name, url in (
            ("jira", f"{scene.jira_url}/rest/api/2/serverInfo"),
            ("hub", f"{scene.hub_url}/api/v1/health"),
        ):
            wait_until(partial(_answers, url), seconds=20, what=f"an answer of {name}", programs=self._all())
        scene.hub("settings", "set", *(f"pacing.{name}={seconds}" for name, seconds in GAPS.items()))
        self.programs["agent"] = scene.start_agent()
        self.console.print(f"hub {scene.hub_url} · fake Jira {scene.jira_url} · logs {scene.logs}", highlight=False)

    def run(self) -> Verdict:
        """Apply the batch, watch it come to rest, kill the agent on the way, and judge."""
        batch = json.loads(self.scene.hub("apply", str(BATCH), "--json"))
        progress = Progress(self.console, {command["id"]: _subject(command) for command in batch["commands"]})
        progress.say(f"Batch #{batch['id']} «{batch['title']}»: {len(batch['commands'])} commands")
        progress.start()
        try:
            self._watch(progress)
        finally:
            progress.stop()
        return verdict(
            evidence.jira_calls(self.scene.jira_url),
            evidence.works(self.scene.database),
            gaps=GAPS,
            kills=self.kills,
            frames_lost=self.scene.carried().get("lost", 0),
            seconds=time.monotonic() - self.started,
        )

    def _watch(self, progress: Progress) -> None:
        writes_before = None
        while True:
            works = evidence.works(self.scene.database)
            progress.show(works, self.scene.carried(), len(self.kills))
            at_rest = sum(work.status in AT_REST for work in works)
            if at_rest == len(works):
                return
            if not self.kills and at_rest >= KILL_AFTER_DONE:
                writes = sum(call.wrote for call in evidence.jira_calls(self.scene.jira_url))
                if writes_before is not None and writes > writes_before:
                    self._kill_agent(progress)
                writes_before = writes
            for program in self._all():
                if not program.running():
                    raise DemoFailure(f"{program.name} ended by itself; its last words:\n{program.last_words()}")
            if time.monotonic() - self.started > LIMIT_SECONDS:
                return  # the verdict counts what is unfinished
            time.sleep(LOOK_SECONDS)

    def _kill_agent(self, progress: Progress) -> None:
        """Right after a write reached Jira, before its report; then another is started, as a service manager would."""
        self.programs["agent"].kill()
        self.kills.append(time.time())
        progress.say("  ⚡ kill -9 of the agent, just after it wrote to Jira; starting it again")
        self.programs["agent"] = self.scene.start_agent()

    def stop(self) -> None:
        for program in reversed(self._all()):
            program.stop()

    def _all(self) -> Sequence[Program]:
        return list(self.programs.values())


def _answers(url: str) -> bool:
    try:
        return httpx2.get(url, timeout=2).status_code < 500
    except httpx2.TransportError:
        return False


def _subject(command: Any) -> str:
    params = command["params"]
    match params:
        case {"summary": text}:
            pass
        case {"source": source, "target": target}:
            text = f"{source} → {target}"
        case {"keys": keys}:
            text = ", ".join(keys)
        case _:
            text = params.get("key", "")
    return text if len(text) <= SUBJECT_WIDTH else f"{text[: SUBJECT_WIDTH - 1]}…"


def main(
    seed: Annotated[int, typer.Option(help="Of the courier's losses.", envvar="SEED")] = 1,
    keep: Annotated[bool, typer.Option(help="Leave everything running.", envvar="KEEP")] = False,  # noqa: FBT002 typer
) -> None:
    """Run the demo; its last line is one JSON object."""
    console = Console(stderr=False)
    root = Path(tempfile.mkdtemp(prefix="bridge-demo-"))
    demo = Demo(Scene.set_up(root), console, time.monotonic(), seed)
    holds = False
    try:
        demo.start()
        outcome = demo.run()
        holds = outcome.holds
        console.print(final_table(outcome))
    except DemoFailure as failure:
        console.print(f"[red]The demo failed:[/red] {failure}", highlight=False)
        sys.exit(1)
    finally:
        if keep:
            pids = " ".join(str(program.pid) for program in demo.programs.values())
            console.print(f"Left running; hub {demo.scene.hub_url}, Jira {demo.scene.jira_url}, files {root}")
            console.print(f"End it with: kill {pids}", highlight=False)
        else:
            demo.stop()
            if holds:
                shutil.rmtree(root, ignore_errors=True)
            else:
                console.print(f"Logs and folders are kept in {root}", highlight=False)
    console.file.flush()
    os.write(1, (json.dumps(asdict(outcome)) + "\n").encode())
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    typer.run(main)
