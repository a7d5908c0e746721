"""One link of a managed type between two issues, and no other managed one if it may be replaced. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.differences import Conflict
from agent.site import LinkType, Site
from agent.writes import CreateLink, DeleteLink, Write


@dataclass(frozen=True, slots=True)
class Link:
    """A link in Jira's own terms: `inward` is the issue that blocks, whose page shows the outward text."""

    id: str
    type: LinkType
    inward: str
    outward: str

    @property
    def text(self) -> str:
        """As people say it, by the logical direction."""
        source, target = (
            (self.inward, self.outward) if self.type.direction == "outward" else (self.outward, self.inward)
        )
        return f"«{self.type.logical}» {source} → {target}"


def managed_links(site: Site, key: str, issuelinks: Iterable[Mapping[str, Any]]) -> tuple[Link, ...]:
    """The links of the managed types, as `GET` of issue `key` shows them; the others are none of our business."""
    found = []
    for link in issuelinks:
        managed = site.managed(str((link.get("type") or {}).get("id")))
        if managed is None:
            continue
        if "outwardIssue" in link:
            found.append(Link(str(link["id"]), managed, key, str(link["outwardIssue"]["key"])))
        elif "inwardIssue" in link:
            found.append(Link(str(link["id"]), managed, str(link["inwardIssue"]["key"]), key))
    return tuple(found)


def link_difference(
    wanted: LinkType, source: str, target: str, have: Sequence[Link], *, replace: bool
) -> tuple[Write, ...]:
    """The writes that leave exactly the wanted managed link between the two; none if it is so.

    Deletions come first. Identical duplicates count as present. Raises `Conflict` where another link stands in the
    way and `replace` is not set.
    """
    inward, outward = (source, target) if wanted.direction == "outward" else (target, source)
    between = [link for link in have if {link.inward, link.outward} == {source, target}]
    extra = [link for link in between if not _is_wanted(link, wanted, inward)]
    if extra and not replace:
        raise Conflict(f"между {source} и {target} уже есть связь {', '.join(link.text for link in extra)}")
    missing = len(extra) == len(between)
    create: tuple[Write, ...] = (CreateLink(wanted.jira_id, inward, outward),) if missing else ()
    return (*(DeleteLink(link.id, link.text) for link in extra), *create)


def _is_wanted(link: Link, wanted: LinkType, inward: str) -> bool:
    return link.type.jira_id == wanted.jira_id and (wanted.symmetric or link.inward == inward)
