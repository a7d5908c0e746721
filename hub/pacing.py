"""The pacing policy: the gap of each type, and how long a sequence takes. The agent keeps the gaps, not the hub."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from hub.errors import Said, Wrong
from protocol.commands import COMMAND_TYPES, DEFAULT_GAPS, CommandType

MAX_GAP: Final = 86_400.0  # a day: more is a pause of the link, which has its own switch

Policy = Mapping[str, float]


def gap_of(policy: Policy, command_type: CommandType) -> float:
    """Minimum seconds between Jira calls before and within a command of this type."""
    return policy.get(command_type, DEFAULT_GAPS[command_type])


def estimate_seconds(policy: Policy, types: Iterable[CommandType]) -> float:
    """How long the sequence of types takes when each waits out its gap (commands.md, scenario 7)."""
    return sum(gap_of(policy, command_type) for command_type in types)


def _like(name: str) -> Said:
    close = get_close_matches(name.lower(), COMMAND_TYPES, n=1, cutoff=0.5)
    if close:
        return Said(f"did you mean {close[0]}?", f"возможно, имелось в виду {close[0]}?")
    return Said(f"one of {', '.join(COMMAND_TYPES)}", f"один из {', '.join(COMMAND_TYPES)}")


def policy_faults(wanted: Mapping[str, object]) -> tuple[Wrong, ...]:
    """What is wrong with a policy a person set; none if it can be used."""
    faults = []
    for name, gap in wanted.items():
        if name not in COMMAND_TYPES:
            faults.append(
                Wrong(
                    f"pacing.{name}",
                    Said("is no command type", "нет такого типа команды"),
                    _like(name),
                )
            )
        elif isinstance(gap, bool) or not isinstance(gap, int | float) or not 0 <= gap <= MAX_GAP:
            faults.append(
                Wrong(
                    f"pacing.{name}",
                    Said(f"must be seconds from 0 to {MAX_GAP:.0f}", f"нужны секунды от 0 до {MAX_GAP:.0f}"),
                )
            )
    return tuple(faults)
