"""The settings of a link: read inside the caller's transaction, written by people."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

from hub.errors import Said, Wrong, invalid
from hub.moments import as_moment, is_moment
from hub.pacing import Policy, policy_faults
from hub.store.connection import Transaction
from protocol.commands import DEFAULT_GAPS
from protocol.messages import MIN_AGENT_VERSION

FOREVER: Final = "forever"
MAIN: Final = "main"
_DEFAULTS: Final[dict[str, float]] = {name: gap for name, gap in DEFAULT_GAPS.items()}  # noqa: C416  # dict() would keep the keys' narrow type


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """Everything a rule may ask about a link. `project` and `link_types` empty: nothing is checked against them."""

    pacing: Policy
    min_agent_version: int = MIN_AGENT_VERSION
    auto_refresh_minutes: int = 0
    paused_until: str | None = None
    project: str | None = None
    link_types: tuple[str, ...] = ()
    assistant_batches: str = "held"

    def paused(self, now: str) -> bool:
        return self.paused_until is not None and (self.paused_until == FOREVER or self.paused_until > now)


def link_settings(transaction: Transaction, link: str) -> LinkSettings:
    """The settings of `link` as they are in this transaction."""
    kept = transaction.kept.get(("settings", link))
    if kept is None:
        values = {row["key"]: row["value"] for row in transaction.all("settings", link=link)}
        kept = transaction.kept["settings", link] = json.dumps(values)
    return _parsed(kept)


@lru_cache(maxsize=64)
def _parsed(text: str) -> LinkSettings:
    values: dict[str, str] = json.loads(text)
    return LinkSettings(
        pacing={**_DEFAULTS, **json.loads(values.get("pacing", "{}"))},
        min_agent_version=int(values.get("min_agent_version", MIN_AGENT_VERSION)),
        auto_refresh_minutes=int(values.get("auto_refresh_minutes", 0)),
        paused_until=values.get("paused_until"),
        project=values.get("project") or None,
        link_types=tuple(json.loads(values.get("link_types", "[]"))),
        assistant_batches=values.get("assistant_batches", "held"),
    )


def settings_view(transaction: Transaction, link: str) -> dict[str, Any]:
    """The settings with the defaults of the pacing beside, as the editor shows them."""
    settings = link_settings(transaction, link)
    return {
        "link": link,
        "pacing": dict(settings.pacing),
        "pacing_defaults": dict(DEFAULT_GAPS),
        "min_agent_version": settings.min_agent_version,
        "auto_refresh_minutes": settings.auto_refresh_minutes,
        "paused": settings.paused(transaction.now),
        "paused_until": settings.paused_until,
        "project": settings.project,
        "link_types": list(settings.link_types),
        "assistant_batches": settings.assistant_batches,
    }


def change_settings(transaction: Transaction, link: str, wanted: Mapping[str, Any]) -> None:
    """Set what is named, leave the rest. `pacing` names single types; `paused` is true, false or a moment."""
    faults = (*policy_faults(wanted.get("pacing") or {}), *_pause_faults(wanted.get("paused")))
    if faults:
        raise invalid(faults)
    if wanted.get("pacing") is not None:
        pacing = {**link_settings(transaction, link).pacing, **wanted["pacing"]}
        put_setting(transaction, link, "pacing", json.dumps(pacing))
    for name in ("min_agent_version", "auto_refresh_minutes", "project", "assistant_batches"):
        if wanted.get(name) is not None:
            put_setting(transaction, link, name, str(wanted[name]))
    if wanted.get("link_types") is not None:
        put_setting(transaction, link, "link_types", json.dumps(list(wanted["link_types"]), ensure_ascii=False))
    if wanted.get("paused") is not None:
        pause(transaction, link, wanted["paused"])


def pause(transaction: Transaction, link: str, until: Literal[False, True] | str) -> None:
    """Pause the link for good (true) or until a moment; false lets it go on."""
    if until is False:
        transaction.kept.clear()
        transaction.run("delete_setting", link=link, key="paused_until")
    else:
        put_setting(transaction, link, "paused_until", FOREVER if until is True else as_moment(until))


def value_of(transaction: Transaction, link: str, key: str) -> str | None:
    """One stored value, of which the settings above know nothing."""
    return next((str(row["value"]) for row in transaction.all("settings", link=link) if row["key"] == key), None)


def _pause_faults(until: object) -> tuple[Wrong, ...]:
    if isinstance(until, str) and not is_moment(until):
        text = Said("is no ISO time with a time zone", "нужно время ISO с часовым поясом")
        return (Wrong("paused", text, Said("such as 2026-10-13T09:00:00Z", "например 2026-10-13T09:00:00Z")),)
    return ()


def put_setting(transaction: Transaction, link: str, key: str, value: str) -> None:
    """Store one value."""
    transaction.kept.clear()
    transaction.run("set_setting", link=link, key=key, value=value)
