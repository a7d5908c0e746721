"""Prometheus' text format: families of samples to text. What is measured is the caller's matter. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Sample:
    """One value; `suffix` is such as `_sum` of a summary."""

    value: float
    labels: Mapping[str, str] = field(default_factory=dict)
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """Everything measured under one name."""

    name: str
    kind: Literal["gauge", "counter", "summary", "histogram"]
    says: str
    samples: Sequence[Sample]


def exposition(families: Iterable[Family]) -> str:
    """The text a scrape gets; families without samples are left out."""
    lines: list[str] = []
    for family in families:
        if family.samples:
            lines += [f"# HELP {family.name} {_help(family.says)}", f"# TYPE {family.name} {family.kind}"]
            lines += [f"{family.name}{one.suffix}{_labels(one.labels)} {_number(one.value)}" for one in family.samples]
    return "\n".join((*lines, ""))


def relay_families(link: str, status: Mapping[str, Any]) -> tuple[Family, ...]:
    """What the relay says of itself: a gauge for each number, the states of share and peer as 0 or 1."""
    numbers = {
        name: value
        for name, value in status.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and value is not None
    }
    labels = {"link": link}
    share = [Sample(float(status.get("share") == "ok"), labels)] if "share" in status else []
    counted = [Sample(value, {**labels, "what": name}) for name, value in sorted(status.get("counters", {}).items())]
    return (
        Family("jira_hub_relay_share_ok", "gauge", "Whether the share can be used.", share),
        Family("jira_hub_relay_total", "counter", "What the relay counted, by its own names.", counted),
        *(
            Family(f"jira_hub_relay_{name}", "gauge", f"The relay's {name.replace('_', ' ')}.", [Sample(value, labels)])
            for name, value in sorted(numbers.items())
        ),
    )


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
