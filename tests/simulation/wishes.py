"""Whether a wish is true in the fake Jira right now, told from its store and not by any code of the product."""

from typing import Any

from examples.jira.catalogue import LINK_TYPES, STATUSES
from examples.jira.server import FakeJira

_LOGICAL = {"блокирует начало": "Блокировка", "связанные": "Связь"}


def is_true(jira: FakeJira, command_type: str, wish: dict[str, Any]) -> bool:
    """For creations and readings: always; whether they were done is told by the creations and the mirror."""
    store = jira.store
    if command_type in ("ensure_issue", "refresh"):
        return True
    issue = store.issue_by_key(wish.get("key") or wish["source"])
    if issue is None:
        return False
    match command_type:
        case "ensure_fields":
            plain = all(getattr(issue, name) == wish[name] for name in ("summary", "duedate") if name in wish)
            added = set(wish.get("labels_add", ())) <= set(issue.labels)
            return plain and added and not set(wish.get("labels_remove", ())) & set(issue.labels)
        case "ensure_comment":
            bodies = [comment.body.strip() for comment in store.comments(issue.id)]
            return any(body.startswith(wish["marker"]) and body.endswith(wish["body"].strip()) for body in bodies)
        case "ensure_status":
            target = wish["target"] if isinstance(wish["target"], str) else wish["target"][-1]
            return next(one.name for one in STATUSES if one.id == issue.status_id) == target
        case "ensure_link":
            target = store.issue_by_key(wish["target"])
            wanted = next(one.id for one in LINK_TYPES if one.name == _LOGICAL[wish["link_type"]])
            ends = {issue.id, target.id if target else -1}
            return any(link.type_id == wanted and {link.first, link.second} == ends for link in store.links())
        case "ensure_sprint":
            open_sprints = {one.id: one.name for one in store.sprints() if one.state != "closed"}
            names = [open_sprints[one] for one in issue.sprint_ids if one in open_sprints]
            return names == ([] if wish["sprint"] == "backlog" else [wish["sprint"]])
    raise AssertionError(command_type)
