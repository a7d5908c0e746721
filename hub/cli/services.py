"""`service install` and `doctor`: the hub as a part of this machine."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hub.cli.exits import CONFLICT, FAILURE, USAGE, Stop
from hub.cli.output import show_answer, show_coloured, show_line, show_note
from hub.cli.session import AsJson, session

if TYPE_CHECKING:
    from hub.installing import Wanted

service_app = typer.Typer(
    help="The hub as a service of this machine: install.", no_args_is_help=True, rich_markup_mode=None
)
_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


def doctor(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Look at home, database, token, port, share, backups and agent; ends with 1 when something fails."""
    from hub.cli.home import settings_of
    from hub.doctor import Surroundings, examine
    from relay.clock import SystemClock, SystemIds

    around = Surroundings(settings_of(session(context).home), SystemClock(), SystemIds())
    probes = [
        {"name": probe.name, "verdict": probe.verdict, "seen": probe.seen, "advice": probe.advice}
        for probe in examine(around)
    ]
    verdicts = {str(probe["verdict"]) for probe in probes}
    worst = next(verdict for verdict in ("fail", "warn", "ok") if verdict in verdicts)
    show_answer({"verdict": worst, "probes": probes}, _show_probes, as_json=as_json)
    if worst == "fail":
        raise typer.Exit(FAILURE)


def _show_probes(document: Any) -> None:
    for probe in document["probes"]:
        show_coloured(f"{probe['verdict']:<5} {probe['name']:<9} {probe['seen']}", _COLOURS[probe["verdict"]])
        if probe["advice"]:
            show_line(f"{'':<15} → {probe['advice']}")


@service_app.command("install")
def service_install(
    context: typer.Context,
    *,
    system: Annotated[
        str | None, typer.Option("--system", help="systemd or launchd; this machine's when left out.")
    ] = None,
    folder: Annotated[Path | None, typer.Option("--folder", help="Where the file goes; else the user's own.")] = None,
    show: Annotated[bool, typer.Option("--print", help="Show the file and write nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over one that says something else.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the file that has launchd or systemd run the hub, and say how to start it."""
    from hub.installing import LABEL, NAME, launchd_plist, systemd_unit

    wanted = _wanted(context)
    kind = system or ("launchd" if sys.platform == "darwin" else "systemd")
    match kind:
        case "systemd":
            data = systemd_unit(wanted).encode("utf-8")
            path = (folder or Path.home() / ".config" / "systemd" / "user") / f"{NAME}.service"
            start = f"systemctl --user daemon-reload && systemctl --user enable --now {NAME}"
        case "launchd":
            data = launchd_plist(wanted)
            path = (folder or Path.home() / "Library" / "LaunchAgents") / f"{LABEL}.plist"
            start = f"launchctl bootstrap gui/$(id -u) {path}"
        case _:
            raise Stop(f"{kind!r} is no system this program knows", hint="--system systemd or launchd", code=USAGE)
    if show:
        show_line(data.decode("utf-8").rstrip())
        return
    _write(path, data, force=force)
    document = {"system": kind, "file": str(path), "start": start}
    show_answer(document, lambda _: show_line(str(path)), as_json=as_json)
    show_note(f"Start it with: {start}")


def _wanted(context: typer.Context) -> "Wanted":
    from hub.cli.home import read_token, settings_of
    from hub.installing import Wanted

    settings = settings_of(session(context).home)
    read_token(settings)  # a service of a home that is not set up would only fail again and again
    return Wanted([sys.executable, "-m", "hub", "serve"], str(settings.home), str(settings.home / "serve.log"))


def _write(path: Path, data: bytes, *, force: bool) -> None:
    try:
        if path.exists() and path.read_bytes() != data and not force:
            raise Stop(f"{path} is there and says something else", hint="write over it with --force", code=CONFLICT)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise Stop(f"{path}: {error.strerror}") from error
