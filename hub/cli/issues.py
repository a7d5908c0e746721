"""`issue …`, `note …`, `refresh`: the mirror of Jira and people's notes, through the API."""

import sys
from typing import Annotated, Any

import typer

from hub.cli.batches import Cursor, Limit, announce, show_further
from hub.cli.exits import USAGE, Stop
from hub.cli.output import one_line, show_answer, show_fields, show_line, show_note, show_table
from hub.cli.session import AsJson, login_name, session

issue_app = typer.Typer(help="Issues as Jira last showed them.", no_args_is_help=True, rich_markup_mode=None)
note_app = typer.Typer(
    help="Your own notes on issues; never sent to Jira.", no_args_is_help=True, rich_markup_mode=None
)

Key = Annotated[str, typer.Argument(metavar="KEY", help="Issue key, such as AURORA-1533.")]
NoteKey = Annotated[str, typer.Argument(metavar="KEY", help="Issue key or temporary key.")]


@issue_app.command("list")
def issue_list(
    context: typer.Context,
    *,
    text: Annotated[
        str | None, typer.Option("--text", help="Words, or parts of words and keys; all must be found.")
    ] = None,
    status: Annotated[str | None, typer.Option("--status", help="Name of the status.")] = None,
    issue_type: Annotated[str | None, typer.Option("--type", help="Name of the issue type.")] = None,
    priority: Annotated[str | None, typer.Option("--priority", help="Name of the priority.")] = None,
    assignee: Annotated[str | None, typer.Option("--assignee", help="Login name in Jira.")] = None,
    epic: Annotated[str | None, typer.Option("--epic", help="Key of the epic.")] = None,
    sprint: Annotated[str | None, typer.Option("--sprint", help="Name of the sprint.")] = None,
    label: Annotated[str | None, typer.Option("--label", help="One of its labels.")] = None,
    state: Annotated[str | None, typer.Option("--state", help="present, archived, missing, moved or imported.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    as_json: AsJson = False,
) -> None:
    """Search the mirror, offline."""
    filters = {"status": status, "type": issue_type, "priority": priority, "assignee": assignee, "epic": epic}
    with session(context).connect() as hub:
        answer = hub.get(
            "/issues", text=text, **filters, sprint=sprint, label=label, state=state, limit=limit, cursor=cursor
        )
    if hint := answer.get("hint"):
        show_note(hint)
    show_answer(answer, _show_issues, as_json=as_json)


def _show_issues(answer: Any) -> None:
    show_table(
        ("key", "status", "summary", "due", "sprint"),
        [
            (each["key"], _status(each), one_line(each["summary"] or "", 80), each["duedate"], each["sprint"])
            for each in answer["items"]
        ],
    )
    show_further(answer)


def _status(issue: Any) -> str | None:
    """The status in Jira; of an issue that is gone, has moved or is archived, that."""
    if issue["state"] == "moved":
        return f"moved to {issue['moved_to']}"
    if issue["state"] == "archived":
        return f"{issue['status']}, archived"
    status: str | None = "missing" if issue["state"] == "missing" else issue["status"]
    return status


@issue_app.command("show")
def issue_show(context: typer.Context, key: Key, *, as_json: AsJson = False) -> None:
    """One issue of the mirror."""
    with session(context).connect() as hub:
        answer = hub.get(f"/issues/{_in_path(key)}")
    show_answer(answer, _show_issue, as_json=as_json)


def _show_issue(issue: Any) -> None:
    links = [f"{link['source']} {link['link_type']} {link['target']}" for link in issue["links"]]
    show_fields({**issue, "labels": ", ".join(issue["labels"]), "links": "\n".join(links)})


def _in_path(key: str) -> str:
    from urllib.parse import quote

    return quote(key, safe="")


@note_app.command("list")
def note_list(context: typer.Context, *, limit: Limit = 50, cursor: Cursor = None, as_json: AsJson = False) -> None:
    """All notes, by key."""
    with session(context).connect() as hub:
        answer = hub.get("/notes", limit=limit, cursor=cursor)
    show_answer(answer, _show_notes, as_json=as_json)


def _show_notes(answer: Any) -> None:
    show_table(
        ("key", "note", "written"), [(each["key"], each["text"], each["updated_at"]) for each in answer["items"]]
    )
    show_further(answer)


@note_app.command("get")
def note_get(context: typer.Context, key: NoteKey, *, as_json: AsJson = False) -> None:
    """The note on a key."""
    with session(context).connect() as hub:
        answer = hub.get(f"/notes/{_in_path(key)}")
    show_answer(answer, lambda note: show_line(note["text"]), as_json=as_json)


@note_app.command("set")
def note_set(
    context: typer.Context,
    key: NoteKey,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The note; - reads it from stdin.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Write the note on a key; what stood there is replaced."""
    note = sys.stdin.read() if text == "-" else text
    if not note.strip():
        raise Stop("the note is empty", hint=f"take it away with: jira-hub note delete {key}", code=USAGE)
    with session(context).connect() as hub:
        answer = hub.send("PUT", f"/notes/{_in_path(key)}", {"text": note})
    show_answer(answer, lambda _: show_note(f"Noted on {key}"), as_json=as_json)


@note_app.command("delete")
def note_delete(context: typer.Context, key: NoteKey, *, as_json: AsJson = False) -> None:
    """Take the note on a key away."""
    with session(context).connect() as hub:
        hub.send("DELETE", f"/notes/{_in_path(key)}")
    gone = {"key": key, "deleted": True}
    show_answer(gone, lambda _: show_note(f"No note on {key} any more"), as_json=as_json)


def refresh(
    context: typer.Context,
    keys: Annotated[list[str] | None, typer.Argument(metavar="[KEY]...", help="Issues to read.")] = None,
    *,
    jql: Annotated[str | None, typer.Option("--jql", help="Read what this JQL finds.")] = None,
    author: Annotated[str | None, typer.Option("--author", help="Who asks; your login name by default.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Stay until it is read; 1 when that failed.")] = False,
    timeout: Annotated[float | None, typer.Option("--timeout", help="With --wait: seconds to stay at most.")] = None,
    as_json: AsJson = False,
) -> None:
    """Read issues from Jira into the mirror, as soon as the queue comes to it."""
    if bool(keys) == (jql is not None):
        raise Stop("name either keys or --jql", hint="jira-hub refresh AURORA-1533 AURORA-1534", code=USAGE)
    body: dict[str, Any] = {"author": author or login_name(), **({"keys": keys} if keys else {"jql": jql})}
    with session(context).connect() as hub:
        batch = hub.create("/refresh", body)
        if wait:
            from hub.cli.watching import watch_batch

            watch_batch(hub, batch["id"], as_json=as_json, timeout=timeout)
            return
    show_answer(batch, announce, as_json=as_json)
