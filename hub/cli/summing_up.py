"""A command in a few words: what it is about, and what came of it. Nothing is shown here."""

from typing import Any


def subject(command: Any) -> str:
    """What a command is about, in a few words: the issue's key, both ends of a link, the summary of a new issue."""
    params = command["params"]
    match command["type"]:
        case "ensure_issue":
            return f"{params.get('temp_key', '')} {params.get('summary', '')}"
        case "ensure_link":
            return f"{params.get('source')} {params.get('link_type')} {params.get('target')}"
        case "refresh":
            return params.get("jql") or ", ".join(params.get("keys") or ())
        case "ensure_status":
            target = params.get("target")
            return f"{params.get('key')} {target if isinstance(target, str) else ' → '.join(target or ())}"
        case "ensure_sprint":
            sprint = params.get("sprint")
            return f"{params.get('key')} {sprint if isinstance(sprint, str) else (sprint or {}).get('id', '')}"
        case _:
            names = [name for name in params if name not in ("key", "marker", "body")]
            return f"{params.get('key', '')} {', '.join(names) or params.get('marker', '')}"


def outcome(command: Any) -> str:
    """What came of a command: Jira's or the hub's word on a failure, else the key it made."""
    return command.get("error") or (command.get("result") or {}).get("key") or ""
