"""What the hub writes down of its work: a line a thing, as text or as JSON, never a secret. No decision in here."""

import json
import logging
import sys
import traceback
from typing import Any, Final, Literal, TextIO

from hub.moments import moment

Form = Literal["text", "json"]
# What a line may be found again by, in this order.
FIELDS: Final = ("link", "batch", "command", "request", "status", "seconds")


class Lines(logging.Formatter):
    """One line a record, the fields of `FIELDS` beside its text; what was hidden is masked wherever it stands."""

    def __init__(self, form: Form) -> None:
        super().__init__()
        self._form = form
        self._secrets: tuple[str, ...] = ()

    def hide(self, secret: str) -> None:
        """From now on this text is in no line."""
        self._secrets = (*self._secrets, secret)

    def format(self, record: logging.LogRecord) -> str:
        fields = {name: value for name in FIELDS if (value := getattr(record, name, None)) is not None}
        trouble = "".join(traceback.format_exception(*record.exc_info)) if record.exc_info else ""
        line = self._json(record, fields, trouble) if self._form == "json" else self._text(record, fields, trouble)
        for secret in self._secrets:
            line = line.replace(secret, "***")
        return line

    def _json(self, record: logging.LogRecord, fields: dict[str, Any], trouble: str) -> str:
        told = {"at": moment(record.created), "level": record.levelname, "logger": record.name}
        more = {"trouble": trouble} if trouble else {}
        return json.dumps({**told, "text": record.getMessage(), **fields, **more}, ensure_ascii=False, default=str)

    def _text(self, record: logging.LogRecord, fields: dict[str, Any], trouble: str) -> str:
        words = [moment(record.created), record.levelname, f"{record.name}:", record.getMessage()]
        words += [f"{name}={value}" for name, value in fields.items()]
        return " ".join(words) + (f"\n{trouble.rstrip()}" if trouble else "")


def start_logs(form: Form, stream: TextIO | None = None) -> Lines:
    """Every logger of this process writes such lines, to stderr; the answer hides secrets."""
    lines = Lines(form)
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(lines)
    root = logging.getLogger()
    for before in root.handlers[:]:
        root.removeHandler(before)
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    return lines
