"""The few JQL queries the agent writes itself. Every literal is quoted; a summary never gets in here. Pure.

`summary ~` is a stemming full-text search and `summary =` is refused: equality is decided in our code.
"""

import math
from collections.abc import Sequence
from typing import Final

DUPLICATE_DAYS: Final = 7  # the seeds' window; it grows with the delivery's age
_DAY: Final = 86_400.0


def quoted(literal: str) -> str:
    """`literal` as a JQL string: reserved words (a project named AS) and signs lose their meaning in quotes."""
    escaped = literal.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def own_recent_issues(project: str, age_seconds: float) -> str:
    """Our issues young enough to stem from a command first delivered `age_seconds` ago (H4).

    The window is relative: absolute times are read in a zone that depends on the user. An automation may rewrite
    the reporter but not the creator, so either will do.
    """
    days = max(DUPLICATE_DAYS, math.ceil(age_seconds / _DAY) + 1)
    own = "(reporter = currentUser() OR creator = currentUser())"
    return f"project = {quoted(project)} AND {own} AND created >= -{days}d ORDER BY key"


def these_keys(keys: Sequence[str]) -> str:
    return f"key in ({', '.join(quoted(key) for key in keys)}) ORDER BY key"


def own_with_label(project: str, label: str) -> str:
    return f"project = {quoted(project)} AND labels = {quoted(label)} ORDER BY key"


def ordered(jql: str) -> str:
    """A person's JQL with a stable order, without which pages shift while they are read."""
    return jql if "order by" in jql.lower() else f"{jql} ORDER BY key"
