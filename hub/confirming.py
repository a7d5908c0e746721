"""Whether the mirror shows what a claimed command wishes. Creations, comments and readings are never confirmed so."""

from collections.abc import Mapping

from hub.differences import conflicting_links, field_changes, link_is_there, sprint_matches
from protocol.commands import AnyCommand, EnsureFields, EnsureLink, EnsureSprint, EnsureStatus
from protocol.issues import IssueState


def confirmed_by_state(command: AnyCommand, mirror: Mapping[str, IssueState]) -> bool:
    """Whether `mirror` shows the wish. `mirror` holds only issues read after the command was claimed (P13)."""
    match command:
        case EnsureFields():
            return command.key in mirror and not field_changes(command, mirror[command.key])
        case EnsureStatus():
            return command.key in mirror and mirror[command.key].status == command.path[-1]
        case EnsureSprint():
            return command.key in mirror and sprint_matches(command, mirror[command.key])
        case EnsureLink():
            links = mirror[command.source].links if command.source in mirror else ()
            return link_is_there(command, links) and not conflicting_links(command, links)
        case _:
            return False
