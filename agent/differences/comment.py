"""One comment of ours that starts with a marker. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.site import Site
from agent.writes import AddComment, EditComment, Write
from protocol.commands import EnsureComment, comment_text, starts_with_marker
from protocol.text import normalised_text


@dataclass(frozen=True, slots=True)
class Comment:
    id: str
    own: bool
    body: str
    visibility: Mapping[str, Any] | None = None


def comment_from(site: Site, found: Mapping[str, Any]) -> Comment:
    return Comment(
        id=str(found.get("id", "")),
        own=site.is_own(found.get("author")),
        body=str(found.get("body") or ""),
        visibility=found.get("visibility"),
    )


def marked(want: EnsureComment, have: Sequence[Comment]) -> tuple[Comment, ...]:
    """Our own comments with the marker, newest first; a foreign one with the marker is none of ours."""
    own = [one for one in have if one.own and starts_with_marker(one.body.lstrip(), want.marker)]
    return tuple(sorted(own, key=lambda one: (len(one.id), one.id), reverse=True))


def comment_difference(want: EnsureComment, key: str, have: Sequence[Comment]) -> tuple[Write, ...]:
    """The write after which the newest own comment with the marker says `body`; none if it does."""
    text = normalised_text(comment_text(want.marker, want.body))
    own = marked(want, have)
    if not own:
        return (AddComment(key, text),)
    if normalised_text(own[0].body.lstrip()) == text:
        return ()
    return (EditComment(key, own[0].id, text, own[0].visibility),)
