"""The live picture of a batch on a terminal: progress, the command in hand, its pause counting down."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hub.cli.output import STATUS_COLOURS, duration, one_line
from hub.cli.progress import Progress
from hub.cli.summing_up import outcome, subject

_FRAME_LINES: Final = 4  # around the table: title, bar, agent, one blank line

_FIXED_COLUMNS: Final = 42  # number, type, state and the blanks between; the rest is for the two texts


class LiveView:
    """Drawn on stderr, so that stdout stays data."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, no_color=bool(os.environ.get("NO_COLOR")))
        self._live = Live(console=self._console, auto_refresh=False)
        self._live.start()

    def show(self, batch: Mapping[str, Any], agent: str, where: Progress) -> None:
        self._live.update(self._picture(batch, agent, where), refresh=True)

    def close(self) -> None:
        self._live.stop()

    def _picture(self, batch: Mapping[str, Any], agent: str, where: Progress) -> Group:
        title = Text(f"Batch {batch['id']} ", style="bold") + Text(one_line(batch.get("title", ""), 80))
        bar = Table.grid(padding=(0, 1))
        left = "at rest" if where.at_rest else f"at least {duration(where.seconds_left)}, until {_clock(where.ends_at)}"
        bar.add_row(
            ProgressBar(total=max(where.total, 1), completed=where.finished, width=30),
            Text(f"{where.finished}/{where.total}"),
            Text(f"{where.failed} failed" if where.failed else "", style="red"),
            Text(left, style="dim"),
        )
        return Group(title, bar, Text(agent, style="dim"), self._table(batch["commands"], where))

    def _table(self, commands: Any, where: Progress) -> Table:
        table = Table.grid(padding=(0, 2))
        room = max(30, self._console.width - _FIXED_COLUMNS)
        what, result = room * 3 // 5, room * 2 // 5
        for command in self._in_sight(commands, where):
            status = command["status"]
            if command is where.current and where.pause_seconds:
                told = Text(f"pause {duration(where.pause_seconds)}", style="yellow")
            elif command is where.current:
                told = Text("in Jira", style="yellow")
            else:
                told = Text(status, style=STATUS_COLOURS.get(status, ""))
            row = (str(command["id"]), command["type"], one_line(subject(command), what))
            table.add_row(*(Text(cell) for cell in row), told, Text(one_line(outcome(command), result)))
        return table

    def _in_sight(self, commands: Any, where: Progress) -> Any:
        """As many rows as the terminal has, the current one among them."""
        rows = max(5, self._console.height - _FRAME_LINES)
        start = max(0, min(where.finished - rows // 2, len(commands) - rows))
        return commands[start : start + rows]


def _clock(at: float) -> str:
    """`19:41`, of this machine's day."""
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%H:%M")
