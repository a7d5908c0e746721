"""`backup`, `restore`, `migrate`: copies of the database, and its schema. The last two want the hub stopped."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from hub.cli.exits import CONFLICT, NOT_FOUND, Stop
from hub.cli.output import show_answer, show_fields, show_line, show_note, show_table
from hub.cli.session import AsJson, session


def backup(
    context: typer.Context,
    *,
    listing: Annotated[bool, typer.Option("--list", help="Show the copies there are instead of making one.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy the database while it is in use; 30 copies are kept."""
    with session(context).connect() as hub:
        answer = hub.get("/backups", limit=1000) if listing else hub.send("POST", "/backups", {})
    show_answer(answer, _show_copies if listing else lambda made: show_line(made["path"]), as_json=as_json)


def _show_copies(answer: Any) -> None:
    rows = [(item["made_at"], item["label"], item["bytes"], item["path"]) for item in answer["items"]]
    show_table(("made", "label", "bytes", "path"), rows)


def restore(
    context: typer.Context,
    copy: Annotated[Path, typer.Argument(help="A copy of the database, as `backup --list` names them.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Put a copy in the place of the database: what was open in it waits for a person, the mirror is read anew."""
    from hub.upkeep import restore_home
    from relay.clock import SystemClock, SystemIds

    settings = _settings(context)
    answer = _done(lambda: restore_home(settings, copy, SystemClock(), SystemIds()))
    show_answer(answer, show_fields, as_json=as_json)
    if answer["held_commands"]:
        show_note(
            "Next: jira-hub serve; when the mirror is fresh: jira-hub batch list --held, jira-hub batch approve ID"
        )


def migrate(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Bring the database of an older release to this one's schema; a copy is made first."""
    from hub.upkeep import migrate_home
    from relay.clock import SystemClock

    settings = _settings(context)
    answer = _done(lambda: migrate_home(settings, SystemClock()))
    document = answer if answer["migrated"] else {**answer, "note": "nothing to do"}
    show_answer(document, _show_migration, as_json=as_json)


def _show_migration(answer: Any) -> None:
    if not answer["migrated"]:
        show_line(f"nothing to do: {answer['database']} has schema {answer['schema_after']}")
        return
    show_line(f"{answer['database']}: schema {answer['schema_before']} → {answer['schema_after']}")
    show_line(f"copy: {answer['copy']}")
    rows = [(name, count["before"], count["after"]) for name, count in answer["tables"].items()]
    show_table(("table", "rows before", "rows after"), rows)
    for command in answer["claimed"]:
        show_line(f"command {command['id']} is claimed: deliveries {command['deliveries']}")


def _settings(context: typer.Context) -> Any:
    from hub.cli.home import settings_of

    return settings_of(session(context).home)


def _done(work: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    from hub.errors import InUse, Missing, Unready

    try:
        return work()
    except Missing as error:
        raise Stop(str(error), code=NOT_FOUND) from error
    except InUse as error:
        raise Stop(str(error), hint="stop the hub first", code=CONFLICT) from error
    except Unready as error:
        raise Stop(str(error)) from error
