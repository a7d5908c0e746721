"""`init`, `serve`, `status`, `settings …`, `pause`, `resume`: the hub itself, set up, started, looked at and held."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from hub.cli.exits import OFFLINE, USAGE, Stop
from hub.cli.output import duration, show_answer, show_fields, show_note, show_table
from hub.cli.session import AsJson, session

settings_app = typer.Typer(help="Settings of the queue: show, set.", no_args_is_help=True, rich_markup_mode=None)


def init(
    context: typer.Context,
    *,
    share: Annotated[Path | None, typer.Option("--share", help="The folder that hub and agent both see.")] = None,
    link: Annotated[
        str | None, typer.Option("--link", help="Name of the pair of hub and agent, or of one more; else main.")
    ] = None,
    port: Annotated[int | None, typer.Option("--port", help="Port on 127.0.0.1; 8765 by default.", min=1)] = None,
    project: Annotated[str | None, typer.Option("--project", help="Key of the Jira project.")] = None,
    link_type: Annotated[
        list[str] | None, typer.Option("--link-type", help="Logical name of a link type; may be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make the home: settings, a token, and with --share the link's folder in the share."""
    from hub.cli.home import make_home
    from relay.mounts import sync_tool_of

    given = {
        "share": share and str(share.expanduser().absolute()),
        "link": link or session(context).link,
        "port": port,
        "project": project,
        "link_types": link_type or None,
    }
    wanted = {name: value for name, value in given.items() if value is not None}
    made = make_home(session(context).home, wanted)
    shown = {"home": made.folder, "settings": made.settings, "token": made.token, "link folder": made.link_folder}
    document = {name.replace(" ", "_"): value and str(value) for name, value in shown.items()}
    show_answer(document, lambda _: show_fields(shown), as_json=as_json)
    tool = made.link_folder and sync_tool_of(made.link_folder)
    if tool:
        show_note(f"{made.link_folder} stands in a folder of {tool}: it works, but files will come late")
    if made.link_folder is None:
        show_note("Next: name the folder that hub and agent both see: jira-hub init --share DIR --link NAME")
    else:
        show_note(
            "Next: start the hub with jira-hub serve; on the agent's machine jira-agent init, same share and link"
        )


def serve(
    context: typer.Context,
    *,
    port: Annotated[
        int | None, typer.Option("--port", help="Another port than the settings'.", min=0, max=65535)
    ] = None,
    log_format: Annotated[str | None, typer.Option("--log-format", help="Of the log on stderr: text or json.")] = None,
) -> None:
    """Run the hub: the queue, its API on 127.0.0.1, and the relay to the agent."""
    import gc

    gc.disable()  # until the hub serves: an import leaves no garbage, and looking for it takes an eighth of the start
    from hub.serve import serve_hub

    if session(context).link is not None:
        raise Stop("one hub serves all its links", hint="leave --link out, or give each its own home", code=USAGE)
    serve_hub(session(context).home, port=port, log_format=log_format)


def status(
    context: typer.Context,
    *,
    check: Annotated[bool, typer.Option("--check", help="End with 5 when the agent is offline.")] = False,
    as_json: AsJson = False,
) -> None:
    """The queue, the agent, the mirror, at a glance."""
    with session(context).connect() as hub:
        answer = hub.get("/status")
    show_answer(answer, _show_status, as_json=as_json)
    if check and not answer["agent"].get("online"):
        raise typer.Exit(OFFLINE)


def _show_status(answer: Any) -> None:
    from hub.cli.summing_up import subject
    from hub.cli.watching import agent_state

    agent, mirror = answer["agent"], answer["mirror"]
    counts = ", ".join(f"{count} {name}" for name, count in answer["counts"].items() if count)
    current = [f"#{each['id']} {each['type']} {subject(each)}" for each in answer["current"]]
    redelivered = [f"#{each['id']} {each['type']}, {each['deliveries']} deliveries" for each in agent["redelivered"]]
    show_fields(
        {
            "link": answer["link"],
            "other links": ", ".join(name for name in answer["links"] if name != answer["link"]),
            "agent": agent_state(agent),
            "version": agent.get("version"),
            "queue": counts or "empty",
            "paused": (answer["paused_until"] or "yes") if answer["paused"] else None,
            "current": "\n".join(current),
            "redelivered": "\n".join(redelivered),
            "waiting": duration(answer["waiting_seconds"]) if answer["waiting_seconds"] else None,
            "share": _share_line(answer["relay"]) if answer["relay"] else None,
            "mirror": f"{mirror['issues']} issues, newest reading {mirror['newest_at']}"
            if mirror["issues"]
            else "empty",
        }
    )


def _share_line(relay: Any) -> str:
    """How the share is, and when the other side was last heard over it."""
    heard = relay["peer_heard_seconds"]
    told = relay["share"] if relay["share"] == "ok" else f"{relay['share']}: {relay['detail']}"
    return f"{told}, agent's side " + ("not heard yet" if heard is None else f"heard {duration(heard)} ago")


@settings_app.command("show")
def settings_show(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Every setting of the queue."""
    with session(context).connect() as hub:
        answer = hub.get("/settings")
    show_answer(answer, lambda settings: show_table(("setting", "value"), sorted(_flat(settings))), as_json=as_json)


def _flat(settings: Any, prefix: str = "") -> list[tuple[str, str]]:
    """`pacing.ensure_fields` and its value: nested settings by dotted names."""
    import json

    found: list[tuple[str, str]] = []
    for name, value in settings.items():
        if isinstance(value, dict):
            found += _flat(value, f"{prefix}{name}.")
        else:
            found.append(
                (f"{prefix}{name}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
            )
    return found


@settings_app.command("set")
def settings_set(
    context: typer.Context,
    pairs: Annotated[list[str], typer.Argument(metavar="NAME=VALUE...", help="Such as pacing.ensure_fields=60.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Change settings of the queue, all of them or none."""
    wanted: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise Stop(f"{pair!r} is no NAME=VALUE", hint="jira-hub settings set pacing.ensure_fields=60", code=USAGE)
        *outer, last = name.split(".")
        inner = wanted
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[last] = _value(text)
    with session(context).connect() as hub:
        answer = hub.send("PUT", "/settings", wanted)
    show_answer(answer, lambda _: show_note(f"Set {', '.join(pairs)}"), as_json=as_json)


def _value(text: str) -> Any:
    """A number, true, false, null or JSON where `text` is one, else the text itself."""
    import json

    try:
        return json.loads(text)
    except ValueError:
        return text


def pause(
    context: typer.Context,
    *,
    minutes: Annotated[float | None, typer.Option("--minutes", help="For so long; else until resume.", min=0)] = None,
    until: Annotated[
        str | None, typer.Option("--until", help="Until then, in this machine's time: 18:00 or 2026-10-13T18:00.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Hand out no more commands; the one in hand is finished."""
    if minutes and until:
        raise Stop("name either --minutes or --until", code=USAGE)
    end = _minutes_from_now(minutes) if minutes else _moment_named(until) if until else None
    with session(context).connect() as hub:
        answer = hub.send("PUT", "/settings", {"paused": end.isoformat(timespec="seconds") if end else True})
    told = f"Paused until {end:%Y-%m-%d %H:%M}" if end else "Paused until jira-hub resume"
    show_answer(answer, lambda _: show_note(told), as_json=as_json)


def _minutes_from_now(minutes: float) -> datetime:
    from relay.clock import SystemClock

    return datetime.fromtimestamp(SystemClock().wall() + minutes * 60, UTC).astimezone()


def _moment_named(text: str) -> datetime:
    """A time of day is the next one to come; without a time zone it is this machine's."""
    from relay.clock import SystemClock

    now = datetime.fromtimestamp(SystemClock().wall(), UTC).astimezone()
    try:
        if re.fullmatch(r"[0-9]{1,2}:[0-9]{2}", text):
            hour, minute = map(int, text.split(":"))
            today = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
            return today if today > now else today + timedelta(days=1)
        named = datetime.fromisoformat(text).astimezone()
    except ValueError as error:
        raise Stop(f"{text!r} is no time", hint="write 18:00 or 2026-10-13T18:00", code=USAGE) from error
    if named <= now:
        raise Stop(f"{text} is over already", code=USAGE)
    return named


def resume(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Hand commands out again."""
    with session(context).connect() as hub:
        answer = hub.send("PUT", "/settings", {"paused": False})
    show_answer(answer, lambda _: show_note("Resumed"), as_json=as_json)
