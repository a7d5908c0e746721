"""What a person sees while the demo runs: a live table on a terminal, one line per change elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from examples.demo.verdict import Verdict, Work

MARKS: Mapping[str, tuple[str, str]] = {
    "queued": ("·", "dim"),
    "claimed": ("▶", "yellow"),
    "done": ("✔", "green"),
    "confirmed_by_state": ("✔", "green"),
    "failed": ("✘", "red"),
    "skipped": ("✘", "red"),
    "cancelled": ("✘", "red"),
}


@dataclass
class Progress:
    """Shows the queue and the courier's counts; on a pipe it prints only what changed."""

    console: Console
    subjects: Mapping[int, str]
    live: Live | None = None
    told: dict[int, str] = field(default_factory=dict)

    def start(self) -> None:
        if self.console.is_terminal:
            self.live = Live(console=self.console, refresh_per_second=8)
            self.live.start()

    def stop(self) -> None:
        if self.live:
            self.live.stop()

    def say(self, text: str) -> None:
        """A line that stays."""
        self.console.print(text, highlight=False)

    def show(self, works: Sequence[Work], carried: Mapping[str, int], kills: int) -> None:
        if self.live:
            self.live.update(Group(self._table(works), _footer(carried, kills)))
            return
        for work in works:
            state = f"{work.status} ({work.deliveries})" if work.deliveries > 1 else work.status
            if state not in (self.told.get(work.id), "queued"):
                mark, _style = MARKS[work.status]
                self.say(f"  {mark} {work.id:>3} {work.type:<15} {self.subjects.get(work.id, ''):<44} {state}")
            self.told[work.id] = state

    def _table(self, works: Sequence[Work]) -> Table:
        table = Table("", "command", "about", "status", "deliveries", box=None, padding=(0, 1))
        for work in works:
            mark, style = MARKS[work.status]
            redelivered = Text(str(work.deliveries or ""), style="bold magenta" if work.deliveries > 1 else "")
            table.add_row(Text(mark, style=style), work.type, self.subjects.get(work.id, ""), work.status, redelivered)
        return table


def _footer(carried: Mapping[str, int], kills: int) -> Text:
    counts = " · ".join(f"{name} {carried.get(name, 0)}" for name in ("carried", "lost", "delayed", "doubled"))
    return Text(f"\nfiles: {counts}     agent killed: {kills}", style="cyan")


def final_table(verdict: Verdict) -> Table:
    """The figures with what each must be."""
    table = Table("figure", "seen", "must be", title="What the fake Jira's journal and the hub's database say")
    for name, seen, must in (
        ("commands done", verdict.done, "all"),
        ("commands failed or unfinished", verdict.failed + verdict.unfinished, "0"),
        ("issues created", verdict.issues_created, ""),
        ("writes that Jira executed twice", verdict.duplicate_writes, "0"),
        ("pauses shorter than the gap", verdict.gaps_broken, "0"),
        ("smallest margin over a gap, s", verdict.smallest_margin_seconds, "≥ 0"),
        ("calls to Jira", verdict.jira_calls, ""),
        ("files lost between the two folders", verdict.frames_lost, "> 0"),
        ("redeliveries of commands", verdict.redeliveries, ""),
        ("times the agent was killed (kill -9)", verdict.agent_kills, "≥ 1"),
        ("seconds", verdict.seconds, ""),
    ):
        table.add_row(name, str(seen), must)
    return table
