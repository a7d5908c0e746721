"""What a run found: figures, targets met or not, one table for people and one line of JSON for machines."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

Kind = Literal["floor", "peer", "ours"]
_COLOURS: dict[Kind, str] = {"floor": "cyan", "peer": "", "ours": "bold"}


@dataclass(frozen=True, slots=True)
class Target:
    """A target of the specification for one figure of ours: a ratio against the reference, or the figure itself."""

    name: str
    bound: Literal["≤", "≥", "="]
    limit: float
    of_ratio: bool = True
    unit: str = "×"

    def met(self, figure: float, ratio: float | None) -> bool:
        value = ratio if self.of_ratio else figure
        if value is None:
            return False
        return {"≤": value <= self.limit, "≥": value >= self.limit, "=": value == self.limit}[self.bound]

    def told(self) -> str:
        return f"{self.bound} {self.limit:g} {self.unit}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured thing. `reference` is the floor's figure in the same unit, `ratio` the blocks' middle one."""

    measurement: str
    who: str
    kind: Kind
    value: float
    unit: str
    reference: float | None = None
    ratio: float | None = None
    note: str = ""
    target: Target | None = None

    def as_target(self) -> dict[str, Any]:
        assert self.target is not None
        return {
            "name": self.target.name,
            "ours": _number(self.value),
            "reference": _number(self.reference),
            "ratio": _number(self.ratio),
            "target": self.target.told(),
            "met": self.target.met(self.value, self.ratio),
        }


def _number(value: float | None) -> float | None:
    # nan is no JSON: nothing was measured.
    return None if value is None or value != value else float(f"{value:.4g}")


def told(value: float | None) -> str:
    """A figure in as many digits as it is worth."""
    if value is None or value != value:
        return ""
    for least, form in ((1000, ",.0f"), (100, ".0f"), (10, ".1f"), (1, ".2f"), (0.0001, ".3g")):
        if abs(value) >= least:
            return format(value, form)
    return "0" if value == 0 else format(value, ".2g")


def table_of(figures: Iterable[Figure], title: str) -> Table:
    table = Table(title=title, title_justify="left")
    for heading, justify in (("measurement", "left"), ("who", "left"), ("figure", "right"), ("unit", "left")):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]  # rich's own literal of the same words
    table.add_column("× reference", justify="right")
    table.add_column("target")
    table.add_column("note")
    last = None
    for figure in figures:
        if last not in (None, figure.measurement):
            table.add_section()
        target = ""
        if figure.target is not None:
            met = figure.target.met(figure.value, figure.ratio)
            target = f"{figure.target.told()}  " + ("[green]met[/]" if met else "[red]not met[/]")
        table.add_row(
            figure.measurement if figure.measurement != last else "",
            figure.who,
            told(figure.value),
            figure.unit,
            told(figure.ratio),
            target,
            figure.note,
            style=_COLOURS[figure.kind],
        )
        last = figure.measurement
    return table


def print_report(figures: list[Figure], title: str, console: Console) -> None:
    """The table, and as the last line one JSON object with the targets."""
    console.print(table_of(figures, title))
    targets = [figure.as_target() for figure in figures if figure.target is not None]
    print(json.dumps({"targets": targets}, ensure_ascii=False), flush=True)
