"""What `jira-agent run` shows of the runner's events: one line per command, faults once. Formatting only."""

import math
import sys
from datetime import UTC, datetime
from typing import Final

from agent.events import Event
from protocol.messages import Delivery
from relay.ports import Clock

TICK: Final = 1.0  # seconds between two looks of the countdown
ERASE: Final = "\x1b[K"  # the rest of the line


class Printer:
    """Writes lines to standard output; on a terminal also a countdown of the gap that is being waited out."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._terminal = sys.stdout.isatty()
        self._waiting: Event | None = None

    def sleep(self, seconds: float) -> None:
        """Let this time pass, counting down the gap where there is one and somebody looks."""
        until = self._clock.monotonic() + seconds
        while self._waiting is not None and until - self._clock.monotonic() > TICK:
            left = math.ceil(until - self._clock.monotonic())
            sys.stdout.write(f"\r{_named(self._waiting.delivery)} in {left // 60}:{left % 60:02d} {ERASE}")
            sys.stdout.flush()
            self._clock.sleep(TICK)
        if self._waiting is not None:
            sys.stdout.write(f"\r{ERASE}")
        self._clock.sleep(until - self._clock.monotonic())

    def show(self, event: Event) -> None:
        self._waiting = event if self._terminal and event.name == "waiting" else None
        match event.name:
            case "ended":
                after = f", next call not before {self._at(event.until)}" if event.until is not None else ""
                self._line(f"{_ended(event)}{after}")
            case "waiting":
                if self._terminal and event.until is not None:
                    self._line(f"{_named(event.delivery)} starts at {self._at(event.until)}")
            case "claimed":
                if self._terminal:
                    self._line(f"{_named(event.delivery)} claimed")
            case "blocked":
                self._line(f"Jira is not ready, the command is kept: {event.text}")
            case _:
                self._line(" ".join(part for part in (event.name, _named(event.delivery), event.text) if part))

    def _line(self, text: str) -> None:
        sys.stdout.write(f"{_clock_time(self._clock.wall())} {text}\n")
        sys.stdout.flush()

    def _at(self, moment: float) -> str:
        return _clock_time(self._clock.wall() + moment - self._clock.monotonic())


def _clock_time(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).astimezone().strftime("%H:%M:%S")


def _named(delivery: Delivery | None) -> str:
    if delivery is None:
        return ""
    params = delivery.params
    key = params.get("key") or params.get("source") or params.get("temp_key") or params.get("jql") or ""
    return f"#{delivery.id} {delivery.type} {key}".rstrip()


def _ended(event: Event) -> str:
    report = event.report
    assert report is not None
    key = (report.result or {}).get("key")
    said = report.error if report.status == "failed" else f"→ {key}" if key else ""
    return f"{_named(event.delivery)} {report.status} {said or ''}".rstrip() + f" ({report.jira_calls} calls)"
