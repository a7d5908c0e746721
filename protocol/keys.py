"""Issue keys and temporary keys: what is one, and nothing about what stands behind it."""

import re
from typing import Annotated, Final

from pydantic import StringConstraints

ISSUE_KEY_PATTERN: Final = r"^[A-Z][A-Z0-9_]{1,60}-[0-9]{1,15}$"
TEMPORARY_KEY_PATTERN: Final = r"^new:[0-9]{1,15}$"
ANY_KEY_PATTERN: Final = rf"{ISSUE_KEY_PATTERN}|{TEMPORARY_KEY_PATTERN}"

IssueKey = Annotated[str, StringConstraints(pattern=ISSUE_KEY_PATTERN)]
TemporaryKey = Annotated[str, StringConstraints(pattern=TEMPORARY_KEY_PATTERN)]
AnyKey = Annotated[str, StringConstraints(pattern=ANY_KEY_PATTERN)]


def is_issue_key(text: str) -> bool:
    """Whether `text` has the form of a Jira issue key, such as `AURORA-1533`."""
    return re.fullmatch(ISSUE_KEY_PATTERN, text) is not None


def is_temporary(key: str) -> bool:
    """Whether `key` is a temporary key `new:<n>`, to be replaced by a real one once its issue exists."""
    return key.startswith("new:") and re.fullmatch(TEMPORARY_KEY_PATTERN, key) is not None


def project_of(key: str) -> str:
    """The project of an issue key: `AURORA` of `AURORA-1533`."""
    return key.rpartition("-")[0]


def number_of(key: str) -> int:
    """The number of an issue key: 1533 of `AURORA-1533`."""
    return int(key.rpartition("-")[2])
