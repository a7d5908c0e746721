"""`plan`: what a batch file would change, shown as a diff, and remembered for the `apply` that follows."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from hub.cli.batches import Author
from hub.cli.exits import CHANGES, FAILURE, OFFLINE, Stop
from hub.cli.output import duration, one_line, show_answer, show_coloured, show_line, show_note
from hub.cli.sending import Title, read_batch, refusals_located
from hub.cli.session import AsJson, session
from hub.cli.summing_up import subject

if TYPE_CHECKING:
    from hub.cli.client import HubClient

REMEMBERED_DAYS: Final = 30  # as long as the hub keeps a plan
_COLOURS: Final = {"~": "yellow", "+": "green", "!": "red", "?": "magenta"}
_WIDTH: Final = 100  # of an old or a new text; the whole of it is in --json
_WORDS: Final = {"=": "as wished", "~": "to change", "+": "to create", "!": "will fail", "?": "unknown"}


def plan(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="YAML, JSON or CSV; - reads YAML from stdin.")],
    *,
    title: Title = None,
    author: Author = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Have the touched issues read from Jira first, and wait for it.")
    ] = False,
    timeout: Annotated[float, typer.Option("--timeout", help="With --verify: seconds to wait at most.")] = 600.0,
    as_json: AsJson = False,
) -> None:
    """Show what a batch would change; ends with 3 when it would, with 0 when all is as wished. Writes nothing."""
    batch_file, body = read_batch(file, title=title, author=author)
    with session(context).connect() as hub:
        with refusals_located(file, batch_file):
            made = hub.create("/plans", {**body, "verify": verify})
        if verify:
            made = _verified(hub, made, timeout)
        remember(session(context).folder(), hub.address, body, made)
    show_answer(made, show_plan, as_json=as_json)
    if made["has_changes"]:
        raise typer.Exit(CHANGES)


def _verified(hub: "HubClient", made: Any, timeout: float) -> Any:
    """The plan once its issues were read."""
    from relay.clock import SystemClock

    clock = SystemClock()
    deadline = clock.monotonic() + timeout
    if made["state"] == "reading":
        show_note(f"Reading the touched issues from Jira (batch {made['refresh_batch_id']}) …")
    while made["state"] == "reading":
        if clock.monotonic() >= deadline:
            online = hub.get("/status")["agent"].get("online")
            raise Stop(
                f"the issues were not read within {duration(timeout)}",
                hint="is the agent running? look with: jira-hub status",
                code=FAILURE if online else OFFLINE,
            )
        clock.sleep(0.5)
        made = hub.get(f"/plans/{made['id']}")
    if made["state"] == "unverified":
        show_note(f"Not all of it could be read: jira-hub batch show {made['refresh_batch_id']}")
    return made


def show_plan(made: Any) -> None:
    """A mark a command, its changes below, the sums at the end."""
    for command in made["commands"]:
        _show_command(command)
    counts = ", ".join(f"{count} {_WORDS[mark]}" for mark, count in made["counts"].items() if count)
    show_note(f"{counts}; {made['reads']} reads, at most {made['writes']} writes, {duration(made['estimate_seconds'])}")
    show_note(_age(made["mirror"]))
    if "id" in made:
        show_note(f"Plan {made['id']}, digest {made['digest'][:12]}. Make it so with: jira-hub apply FILE")


def _show_command(command: Any) -> None:
    mark = command["mark"]
    show_coloured(f"{mark} {command['type']} {one_line(subject(command), 90)}", _COLOURS.get(mark))
    for change in command["changes"]:
        old, new = _text(change["old"]), _text(change["new"])
        told = new if mark == "+" and change["old"] is None else f"{old} → {new}"
        show_line(f"    {change['field']}: {told}")
    if command["why"]:
        show_line(f"    {command['why']}")
    if command["similar"]:
        similar = command["similar"]
        state = f", {similar['status']}" if similar["status"] else ""
        show_line(f"    similar open issue {similar['key']} «{one_line(similar['summary'], 80)}»{state}")


def _text(value: Any) -> str:
    if value in (None, "", []):
        return "—"
    return one_line(", ".join(map(str, value)) if isinstance(value, list) else value, _WIDTH)


def _age(mirror: Mapping[str, Any]) -> str:
    if mirror["oldest_at"] is None:
        return "None of these issues was ever read: jira-hub plan FILE --verify reads them first"
    return f"The mirror shows them as read {duration(mirror['age_seconds'])} ago, {mirror['oldest_at']}"


def remember(home: Path, address: str, body: Mapping[str, Any], made: Mapping[str, Any]) -> None:
    """Keep which plan was shown for exactly this batch, so that `apply` holds the mirror to it."""
    folder = home / "plans"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _forget_old(folder)
        document = {"id": made["id"], "digest": made["digest"], "at": made["created_at"]}
        _place(folder, address, body).write_text(json.dumps(document), encoding="utf-8")
    except OSError as error:
        show_note(f"The plan cannot be remembered for apply ({error.strerror}): name it with --plan and --digest")


def remembered(home: Path, address: str, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The plan that was shown for exactly this batch, if one was."""
    try:
        found = json.loads(_place(home / "plans", address, body).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and {"id", "digest"} <= set(found) else None


def forget(home: Path, address: str, body: Mapping[str, Any]) -> None:
    """The batch was made: another one of the same content is a new wish."""
    _place(home / "plans", address, body).unlink(missing_ok=True)


def _place(folder: Path, address: str, body: Mapping[str, Any]) -> Path:
    """Named by the content, never by the file: a file that was edited has not been planned."""
    content = json.dumps([address, body["title"], body["commands"]], ensure_ascii=False, sort_keys=True)
    return folder / f"{hashlib.sha256(content.encode('utf-8')).hexdigest()}.json"


def _forget_old(folder: Path) -> None:
    from relay.clock import SystemClock

    oldest = SystemClock().wall() - REMEMBERED_DAYS * 86_400
    for path in folder.glob("*.json"):
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)
