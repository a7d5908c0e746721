"""The table at the end of a run: what each part T1 to T13 was to cover in CI, and what it really covered.

A test says which part it belongs to with `@pytest.mark.part("T7")` and what it covered with the fixture `covered`.
Nothing here knows a test by its name, and no number here is one that was reached.
"""

from collections import defaultdict
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pytest

Covered: TypeAlias = Callable[..., None]
_PROPERTY: Final = "covered"


@dataclass(frozen=True, slots=True)
class Part:
    """`asked` is the number CI has to reach; None: all there are, as the tests count them (`covered(…, of=…)`)."""

    what: str
    unit: str
    asked: int | None


PARTS: Final = {
    "T1": Part("model of the protocol, searched with each fix and without it", "searches", 25),
    "T2": Part("simulated worlds: calm, some faults, all faults", "simulated hours", 2_000),
    "T3": Part("the faults stop at some point, everything comes to rest", "seeds", 500),
    "T4": Part("the agent killed at every point, and at pairs of them", "deaths", None),
    "T5": Part("the hub killed at every statement and file operation", "deaths", None),
    "T6": Part("faults of files by message and direction, single and in pairs", "schedules", None),
    "T7": Part("golden frames cut short anywhere, each bit flipped", "damages", None),
    "T8": Part("hostile input to every parser", "inputs", 200_000),
    "T9": Part("pacing of the real agent over restarts and clock jumps", "restarts", 10_000),
    "T10": Part("the API against a plain queue, up to 50 steps each", "runs", 300),
    "T11": Part("generated bases of schema 1, the migration cut short", "bases", 300),
    "T12": Part("planted bugs, each found within 60 s", "bugs", 30),
    "T13": Part("what happens sometimes: every status, move and fault met", "counters", None),
}


@pytest.fixture
def covered(record_property: Callable[[str, object], None]) -> Covered:
    """`covered("T9", 40)`: this test covers so many more; `of=`: of so many that there are."""

    def cover(part: str, number: float, *, of: float | None = None) -> None:
        assert part in PARTS, f"there is no part {part}"
        record_property(_PROPERTY, (part, number, of))

    return cover


class Promised:
    """Gathers what the tests covered, and prints the table (a plugin of pytest)."""

    def __init__(self, *, everything: bool) -> None:
        self._everything = everything  # a run of all tests in CI's profile: less than was asked is a failure
        self._reached: dict[str, float] = defaultdict(float)
        self._there: dict[str, float] = defaultdict(float)
        self._ran: set[str] = set()
        self._failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        self.note({name for mark in item.iter_markers("part") for name in mark.args}, report)
        return report

    def note(self, parts: set[str], report: pytest.TestReport) -> None:
        """Every phase of a test is reported; what was covered counts once, and only if the test passed."""
        recorded = [value for name, value in report.user_properties if name == _PROPERTY]
        if report.failed:
            self._failed |= parts | {part for part, _, _ in _typed(recorded)}
        if report.when == "call" and not report.skipped:
            self._ran |= parts
            for part, number, of in _typed(recorded) if report.passed else ():
                self._ran.add(part)
                self._reached[part] += number
                self._there[part] += number if of is None else of

    def state(self, name: str) -> str:
        asked = PARTS[name].asked
        if name in self._failed:
            return "FAILED"
        if name not in self._ran:
            return "not run"
        return "in part" if self._reached[name] < (self._there[name] if asked is None else asked) else "passed"

    def lines(self) -> list[str]:
        """The table; CI's number of a part that asks for all there are is the number the tests have counted."""
        rows = [f"{'':4}{'what':66}{'asked in CI':>12}{'reached':>10} {'':16} {'':7}"]
        for name, part in PARTS.items():
            asked = f"all {self._there[name]:,.0f}" if part.asked is None else f"{part.asked:,}"
            rows.append(
                f"{name:4}{part.what:66}{asked:>12}{self._reached[name]:>10,.0f} {part.unit:16} {self.state(name):7}"
            )
        return rows

    def short(self) -> list[str]:
        """The parts that make a run of everything red, although no test of theirs need have failed."""
        return [name for name in PARTS if self.state(name) != "passed"] if self._everything else []

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.short() and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self._ran | self._failed:
            return
        terminalreporter.section("what was promised")
        for line in self.lines():
            terminalreporter.write_line(line.rstrip())
        for name in self.short():
            terminalreporter.write_line(f"{name}: {self.state(name)}, which fails a run of everything", red=True)


def _typed(recorded: list[object]) -> list[tuple[str, float, float | None]]:
    return recorded  # type: ignore[return-value]  # only `covered` records under this name


def is_everything(config: pytest.Config, profile: str) -> bool:
    """Whether this run is the whole suite where everything is required: nothing chosen, nothing left out."""
    chosen = config.option.keyword or config.option.markexpr or config.option.deselect or config.option.ignore
    whole = config.args_source is not pytest.Config.ArgsSource.ARGS
    return profile == "ci" and whole and not chosen and not config.option.collectonly
