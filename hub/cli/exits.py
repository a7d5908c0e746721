"""How the program ends: the closed list of exit codes and the one error that carries one."""

from collections.abc import Mapping
from typing import Any, Final

FAILURE: Final = 1
USAGE: Final = 2
CHANGES: Final = 3  # a plan has changes
NOT_FOUND: Final = 4
OFFLINE: Final = 5  # the agent
CONFLICT: Final = 6
INVALID: Final = 7

# What `--json` calls each of them where the hub itself said nothing.
_NAMES: Final[Mapping[int, str]] = {
    FAILURE: "failure",
    USAGE: "usage",
    NOT_FOUND: "not_found",
    OFFLINE: "offline",
    CONFLICT: "conflict",
    INVALID: "invalid",
}

# Refusals of the hub by HTTP status; what is not here is a plain failure.
BY_STATUS: Final[Mapping[int, int]] = {404: NOT_FOUND, 409: CONFLICT, 422: INVALID}


class Stop(Exception):
    """The command cannot go on. `lines` are for a person on stderr, `document` is what `--json` answers on stdout."""

    def __init__(
        self, *lines: str, hint: str | None = None, code: int = FAILURE, document: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__("; ".join(lines))
        self.lines = (*lines, *([f"  {hint}"] if hint else []))
        self.code = code
        self.document = document or {"code": _NAMES[code], "detail": "; ".join(lines), "hint": hint}
