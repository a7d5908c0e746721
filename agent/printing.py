"""What `jira-agent run` shows of the runner's events: one line per command, faults once. Formatting only."""

import sys
from datetime import UTC, datetime

from agent.events import Event
from protocol.messages import Delivery
from relay.ports import Clock


class Printer:
    """Writes lines to standard output; on a terminal also what is being waited for."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._terminal = sys.stdout.isatty()

    def show(self, event: Event) -> None:
        match event.name:
            case "ended":
                after = f", следующий вызов не раньше {self._at(event.until)}" if event.until is not None else ""
                self._line(f"{_ended(event)}{after}")
            case "waiting":
                if self._terminal and event.until is not None:
                    self._line(f"{_named(event.delivery)} начнётся в {self._at(event.until)}")
            case "claimed":
                if self._terminal:
                    self._line(f"{_named(event.delivery)} получена")
            case "blocked":
                self._line(f"Jira не готова, команда сохранена: {event.text}")
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
