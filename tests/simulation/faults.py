"""What may go wrong in the simulated world, and the dice that decide when.

THE CONTRACT. Injected:
- Folder: a file lost, late, doubled (conflict copy), resurrected after its deletion, overtaken by later ones, truncated
  at any byte, with a tail of NULs, with a bit flipped, not readable for a while; a listing that stands still, a name
  that is listed and cannot be opened; the share gone and back, full, read-only, another device in its place; names that
  are none of ours.
- Processes: a power cut before, inside and after every journal write, fsync, publication, deletion, SQL statement and
  HTTP call of either side; what was not synced is lost where the machine dies. The journal lost, the agent's whole disk
  lost, the hub's relay state lost, the hub's database restored from an earlier moment. A second agent, a second relay.
- Jira: a search index that lags by less than the settle window; a request that is refused before it is sent, dropped
  before or after it was executed, answered by a page or by broken JSON, or that takes effect after its client gave up
  but within the settle window, which is what this window promises to outlast; 429s; maintenance, log-in pages, expired
  tokens, anonymous downgrade; people who rename, edit, move, and delete what nobody is working on.
- Clocks: jumps either way, another boot.
- People at the hub: batches, cancelling (with force), retrying, pausing, changing the policy, adopting.

Not injected: a silent change of content under a right seal; a Jira that executes a write later than the settle window;
an index that lags longer than it; a person who deletes the issue of a command that is still under way; a share call
that never comes back (one thread cannot show it; `tests/contracts` does).
"""

import random
from collections import Counter
from collections.abc import Iterable
from typing import Final

# How likely each is at its occasion: one published file, one Jira call; or per hour, for what comes by itself.
FOLDER: Final = {
    "lost": 0.04,
    "late": 0.06,
    "doubled": 0.03,
    "resurrected": 0.05,
    "overtaken": 0.05,
    "truncated": 0.03,
    "nul tail": 0.02,
    "bit flip": 0.02,
    "unreadable": 0.02,
    "stale negative": 0.04,
    "unsure publication": 0.01,
}
CALLS: Final = {
    "refused": 0.02,
    "dropped before": 0.02,
    "dropped after": 0.03,
    "slow": 0.03,
    "page before": 0.01,
    "page after": 0.02,
    "broken json": 0.02,
    "error after": 0.01,
    "rate limit": 0.02,
}
HOURLY: Final = {
    "stale listing": 0.5,
    "share gone": 0.25,
    "share full": 0.12,
    "share read-only": 0.12,
    "other device": 0.1,
    "foreign names": 0.3,
    "agent power cut": 0.5,
    "agent machine cut": 0.25,
    "hub power cut": 0.5,
    "agent restart": 0.2,
    "hub restart": 0.2,
    "agent hangs": 0.1,
    "journal lost": 0.05,
    "agent disk lost": 0.04,
    "relay state lost": 0.03,
    "database restored": 0.03,
    "second agent": 0.05,
    "second relay": 0.03,
    "index lag": 0.4,
    "maintenance": 0.08,
    "log-in page": 0.06,
    "token expired": 0.04,
    "anonymous": 0.06,
    "person edits": 1.0,
    "person renames": 0.3,
    "person deletes": 0.1,
    "person moves": 0.05,
    "clock jump": 0.3,
    "force cancel": 0.4,
    "cancel": 0.4,
    "retry": 0.6,
    "pause": 0.1,
    "policy": 0.1,
}
ALL: Final = frozenset({*FOLDER, *CALLS, *HOURLY})
# What people at the hub do is drawn with the rest, but it is no fault of the world.
PEOPLE: Final = frozenset({"force cancel", "cancel", "retry", "pause", "policy"})


class Weather:
    """Which faults are about, and whether one strikes now. Everything by one source of chance, so a seed is a run."""

    def __init__(self, chance: random.Random, faults: Iterable[str] = ()) -> None:
        self.chance = chance
        self.faults = frozenset(faults)
        assert self.faults <= ALL, self.faults - ALL
        self.injected: Counter[str] = Counter()
        self.ordered: list[str] = []  # faults that strike at their next occasion, whatever the dice say

    def strikes(self, kinds: dict[str, float]) -> str | None:
        """One fault of `kinds`, or none. A single throw, so that calm worlds and stormy ones draw alike."""
        for kind in self.ordered:
            if kind in kinds:
                self.ordered.remove(kind)
                return self.note(kind)
        throw = self.chance.random()
        for kind, rate in kinds.items():
            throw -= rate
            if throw < 0:
                return self.note(kind) if kind in self.faults else None
        return None

    def note(self, kind: str) -> str:
        self.injected[kind] += 1
        return kind

    def calm(self) -> None:
        """From now on nothing goes wrong any more."""
        self.faults = frozenset()
        self.ordered.clear()


def random_faults(chance: random.Random) -> frozenset[str]:
    """A random subset: a world where everything goes wrong at once hides what two faults do together."""
    share = chance.choice((0.1, 0.2, 0.35, 0.6))
    return frozenset(kind for kind in sorted(ALL) if chance.random() < share)
