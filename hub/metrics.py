"""Prometheus' text format: families of samples to text. What is measured is the caller's matter. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
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


def relay_families(relays: Mapping[str, Mapping[str, Any]]) -> tuple[Family, ...]:
    """What the relay of each link says of itself: a gauge for each number, the state of the share as 0 or 1."""
    gauges: dict[str, list[Sample]] = {}
    share, counted, trips = [], [], []
    for link, status in relays.items():
        labels = {"link": link}
        if "share" in status:
            share.append(Sample(float(status["share"] == "ok"), labels))
        counted += [
            Sample(value, {**labels, "what": name}) for name, value in sorted(status.get("counters", {}).items())
        ]
        trips += _histogram(labels, status.get("round_trips"))
        for name, value in sorted(status.items()):
            if isinstance(value, int | float) and not isinstance(value, bool):
                gauges.setdefault(name, []).append(Sample(value, labels))
    return (
        Family("jira_hub_relay_share_ok", "gauge", "Whether the share can be used.", share),
        Family("jira_hub_relay_total", "counter", "What the relay counted, by its own names.", counted),
        Family("jira_hub_relay_round_trip_seconds", "histogram", "From a file in the share to its being taken.", trips),
        *(
            Family(f"jira_hub_relay_{name}", "gauge", f"The relay's {name.replace('_', ' ')}.", samples)
            for name, samples in sorted(gauges.items())
        ),
    )


def _histogram(labels: Mapping[str, str], found: Mapping[str, Any] | None) -> list[Sample]:
    """Cumulative buckets as Prometheus has them; the last one holds all there is."""
    if found is None:
        return []
    limits = (*(str(limit) for limit in found["limits"]), "+Inf")
    sums = accumulate(found["counts"])
    buckets = [Sample(total, {**labels, "le": le}, "_bucket") for le, total in zip(limits, sums, strict=True)]
    return [*buckets, Sample(found["seconds"], labels, "_sum"), Sample(sum(found["counts"]), labels, "_count")]


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
