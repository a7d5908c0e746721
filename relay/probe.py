"""One finding of the doctor: what was looked at, how it is, what was seen, what to do about it. A value."""

from dataclasses import asdict, dataclass
from typing import Literal

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Probe:
    """`todo` is empty where there is nothing to do."""

    name: str
    state: State
    seen: str
    todo: str = ""

    def as_json(self) -> dict[str, str]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.state:<5} {self.name}: {self.seen}" + (f"\n      → {self.todo}" if self.todo else "")
