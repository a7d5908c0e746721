"""Open issues called almost like one that is to be created, so that a person sees them before there are two. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

# Two words of three in common (Dice): «Сверка остатков за октябрь» is like «Сверка остатков», «Сверка счетов» is not.
ALIKE: Final = 0.66
MAX_CANDIDATES: Final = 200  # of one word: a word that more issues share tells nothing by itself
# A status has no category in the mirror, so work is taken for finished by the usual names of its last status.
_FINISHED: Final = frozenset(
    {"готово", "закрыто", "закрыт", "закрыта", "решено", "выполнено", "отменено", "отклонено", "done", "closed"}
    | {"resolved", "cancelled", "canceled", "rejected"}
)


@dataclass(frozen=True, slots=True)
class Similar:
    """An issue of the mirror that may be the wished one."""

    key: str
    summary: str
    status: str | None


@lru_cache(maxsize=256)  # a site has a dozen statuses
def is_open(status: str | None) -> bool:
    """Whether work is not finished, as far as the name of the status tells."""
    return (status or "").strip().casefold() not in _FINISHED


def similar_issues(wanted: Mapping[str, str], mirror: Iterable[tuple[str, str, str | None]]) -> dict[str, Similar]:
    """For each name in `wanted` (name -> summary) the open issue most like it, where there is one.

    `mirror` holds key, summary and status of every issue; most of a large one has no word in common with any wish.
    """
    words = {name: _words(summary) for name, summary in wanted.items()}
    spoken = frozenset(word for some in words.values() for word in some)
    summaries = {" ".join(some) for some in words.values()}
    exact: dict[str, Similar] = {}
    bearing: dict[str, list[tuple[Similar, frozenset[str]]]] = {}
    seen: Counter[str] = Counter()
    for key, summary, status in mirror:
        of_issue = _words(summary)
        if spoken.isdisjoint(of_issue) or not is_open(status):
            continue
        issue = Similar(key, summary, status)
        whole = " ".join(of_issue)
        if whole in summaries:
            exact.setdefault(whole, issue)
        for word in spoken.intersection(of_issue):
            seen[word] += 1
            if seen[word] <= MAX_CANDIDATES:
                bearing.setdefault(word, []).append((issue, frozenset(of_issue)))
    found = {name: exact.get(" ".join(some)) or _likest(frozenset(some), seen, bearing) for name, some in words.items()}
    return {name: issue for name, issue in found.items() if issue is not None}


def _likest(
    words: frozenset[str], seen: Mapping[str, int], bearing: Mapping[str, list[tuple[Similar, frozenset[str]]]]
) -> Similar | None:
    """Among the issues that share the two rarest known words: the one with most in common, the first of equals."""
    rarest = sorted((word for word in words if word in bearing), key=lambda word: (seen[word], word))[:2]
    best: tuple[float, Similar | None] = (ALIKE, None)
    for word in rarest:
        for issue, of_issue in bearing[word]:
            share = 2 * len(words & of_issue) / (len(words) + len(of_issue))
            if share > best[0] or (share == best[0] and best[1] is None):
                best = (share, issue)
    return best[1]


def _words(summary: str) -> list[str]:
    return summary.casefold().split()
