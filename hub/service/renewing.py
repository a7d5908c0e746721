"""Automatic refreshes in the open transaction. When one is due is decided in `hub.refreshing`."""

from typing import Final

from hub.moments import earlier, seconds_between
from hub.refreshing import MAX_REFRESHES, Standing, refresh_due
from hub.service.batches import create_batch
from hub.service.settings import link_settings
from hub.service.views import is_online
from hub.store.connection import Transaction
from protocol.commands import MAX_KEYS

AUTHOR: Final = "auto"


def renew(transaction: Transaction, link: str) -> int | None:
    """Make the refresh batch that is due; its id, or None where none is."""
    settings = link_settings(transaction, link)
    every = settings.auto_refresh_minutes
    if not every:
        return None
    age = transaction.one("mirror_standing", link=link, author=AUTHOR)
    agent = transaction.one("agent", link=link)
    assert age is not None  # aggregates always have their row
    now = transaction.now
    standing = Standing(
        every_minutes=every,
        mirror_age=None if age["oldest_at"] is None else seconds_between(age["oldest_at"], now),
        last_auto_age=None if age["last_auto_at"] is None else seconds_between(age["last_auto_at"], now),
        agent_online=is_online(agent, now),
        paused=settings.paused(now),
        waiting=age["waiting"],
    )
    if not refresh_due(standing):
        return None
    before = earlier(now, every * 60.0)
    rows = transaction.all("stale_keys", link=link, before=before, limit=MAX_KEYS * MAX_REFRESHES)
    keys = [row["key"] for row in rows]
    raw = [{"type": "refresh", "keys": keys[start : start + MAX_KEYS]} for start in range(0, len(keys), MAX_KEYS)]
    return int(create_batch(transaction, link, AUTHOR, "Automatic refresh", raw)["id"]) if raw else None
