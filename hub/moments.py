"""Moments as the database keeps them: UTC, ISO 8601 of one width, so that the order of texts is that of times."""

from datetime import UTC, datetime, timedelta


def moment(seconds: float) -> str:
    """`seconds` since 1970 as text, such as `2026-10-13T08:00:00.000000Z`."""
    return _text(datetime.fromtimestamp(seconds, UTC))


def seconds_between(earlier: str | None, later: str) -> float:
    """How long from one moment to another, never below zero; without the earlier one no time has passed."""
    if earlier is None:
        return 0.0
    return max(0.0, (_parsed(later) - _parsed(earlier)).total_seconds())


def earlier(than: str, seconds: float) -> str:
    """The moment so long before another one."""
    return _text(_parsed(than) - timedelta(seconds=seconds))


def is_moment(text: str) -> bool:
    """Whether `text` is a time somebody may give: ISO 8601 with a time zone."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def as_moment(text: str) -> str:
    """Any ISO 8601 time in the form of this module."""
    return _text(_parsed(text).astimezone(UTC))


def _text(time: datetime) -> str:
    return f"{time.isoformat(timespec='microseconds').removesuffix('+00:00')}Z"


def _parsed(text: str) -> datetime:
    # Schema 1 wrote times without saying which it was; they were UTC.
    parsed = datetime.fromisoformat(text)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
