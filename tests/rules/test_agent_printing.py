"""What `jira-agent run` shows: one line per command, and a countdown where a person looks at a terminal."""

import io

import pytest

from agent.printing import Printer
from agent.runner import Event
from protocol.messages import Delivery, Report
from tests.simulation.clock import SimulatedClock

DELIVERY = Delivery(id=42, type="ensure_fields", params={"key": "AURORA-1533"}, pause_seconds=120)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock() -> SimulatedClock:
    return SimulatedClock()


def test_a_command_is_one_line_with_its_calls_and_the_earliest_next_one(
    clock: SimulatedClock, capsys: pytest.CaptureFixture[str]
) -> None:
    printer = Printer(clock)
    report = Report(status="done", result={"key": "AURORA-1541"}, jira_calls=2)
    printer.show(Event("claimed", delivery=DELIVERY))
    printer.show(Event("waiting", delivery=DELIVERY, until=clock.monotonic() + 120))
    printer.sleep(120)
    printer.show(Event("ended", "", DELIVERY, report, clock.monotonic() + 120))
    [line] = capsys.readouterr().out.splitlines()
    assert "#42 ensure_fields AURORA-1533 done → AURORA-1541 (2 calls), next call not before " in line


def test_on_a_terminal_the_gap_is_counted_down_and_the_line_cleared(
    clock: SimulatedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = Terminal()
    monkeypatch.setattr("sys.stdout", shown)
    printer = Printer(clock)
    began = clock.monotonic()
    printer.show(Event("waiting", delivery=DELIVERY, until=began + 65.5))
    printer.sleep(65.5)
    assert clock.monotonic() - began == pytest.approx(65.5)
    ticks = [part for part in shown.getvalue().split("\r") if " in " in part]
    assert len(ticks) == 65
    assert "#42 ensure_fields AURORA-1533 in 1:06" in ticks[0] and "in 0:02" in ticks[-1]
    assert shown.getvalue().endswith("\r\x1b[K")


def test_other_waits_are_no_countdown(clock: SimulatedClock, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr("sys.stdout", shown)
    printer = Printer(clock)
    printer.show(Event("blocked", "503"))
    printer.sleep(60)
    assert " in " not in shown.getvalue()
    assert clock.monotonic() == 1_060.0
