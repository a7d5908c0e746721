"""What one probe of `jira-agent check` found. A form, no behaviour."""

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

State = Literal["ok", "warn", "fail"]
MAX_SKEW: Final = 60.0  # seconds; the agent decides nothing by wall time, but people read it


@dataclass(frozen=True, slots=True)
class Probe:
    """`seen` is what was found, `todo` what a person can do about it."""

    name: str
    state: State
    seen: str
    todo: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
