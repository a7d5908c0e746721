"""The one shape of every refusal, and the closed list of codes with their HTTP statuses."""

from collections.abc import Mapping
from typing import Final

from pydantic import BaseModel, ConfigDict

NO_REPORT: Final = "агент не отчитался после 3 выдач"  # fixed by the seeds, byte for byte

CODES: Final[Mapping[str, int]] = {
    "unauthorised": 401,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "not_claimed": 409,
    "session_conflict": 409,
    "conflict": 409,
    "too_large": 413,
    "invalid": 422,
    "upgrade_required": 426,
    "paused": 503,
    "unavailable": 503,
}


class Fault(BaseModel):
    """One thing wrong with a request: where (`field`, `commands[3].summary`), what, and the way out."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    field: str | None = None
    detail: str
    hint: str | None = None


class Problem(BaseModel):
    """A refusal. `code` is English and stable; the texts are for people."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    code: str
    title: str
    detail: str
    hint: str | None = None
    field: str | None = None
    errors: tuple[Fault, ...] = ()
