"""`folder-relay`: make a link, serve over it, call over it, look into it."""

import importlib
import json
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NoReturn, cast

import typer

from relay.client import Client
from relay.clock import SystemClock, SystemIds
from relay.command_line import Program, version_option
from relay.errors import (
    FrameGone,
    FrameUnfit,
    NotAFrame,
    PeerOffline,
    RelayError,
    RelayTimeout,
    ShareFault,
    ShareUnavailable,
)
from relay.folder import LocalFolder, create_link, link_of
from relay.frames import PEER_OF, Frame, Side, frame_from
from relay.names import frame_name
from relay.pairing import new_key_text, store_key
from relay.probe import Probe
from relay.profile import MAX_FRAME_BYTES, Durability
from relay.running import AsgiApp
from relay.sealing import sealed_otherwise
from relay.server import Server


def _advised(fault: Exception) -> str:
    """What is wrong, and what to do about it where the fault itself does not say."""
    match fault:
        case PeerOffline():
            return f"{fault}; does it run, and does it see the same folder? folder-relay ls, folder-relay doctor"
        case RelayTimeout():
            return f"{fault}; ask again under that id: --request-id {fault.request_id}"
        case ShareUnavailable(state="lost") | ShareFault(state="lost"):
            return f"{fault}; mount the share, or make the link once: folder-relay init"
        case _:
            return str(fault)


class _FolderRelay(Program):
    told = (RelayError, ShareFault, ValueError)

    def line_of(self, fault: Exception) -> str:
        return f"folder-relay: {_advised(fault)}"


app = typer.Typer(
    name="folder-relay",
    cls=_FolderRelay,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
LinkFolder = Annotated[Path, typer.Argument(help="The link's folder: <share>/<link>.")]
StateFolder = Annotated[
    Path | None,
    typer.Option("--state", help="Local state; default ~/.local/state/folder-relay."),
]
Durable = Annotated[str, typer.Option("--durability", help="full: fsync before anything is told; none: never.")]
SideName = Annotated[str, typer.Option("--side", help="hub or agent: which side of the link this is.")]


@app.callback()
def start(
    *,
    version: Annotated[bool, version_option("folder-relay")] = False,
) -> None:
    """Requests and replies over a shared folder."""


def main() -> None:
    """The console script."""
    app(prog_name="folder-relay")


@app.command()
def init(
    folder: LinkFolder, name: Annotated[str | None, typer.Option(help="Default: the folder's name.")] = None
) -> None:
    """Make a link in FOLDER, once, from either side. The share above it has to be there."""
    if not folder.absolute().parent.is_dir():
        _refuse(f"{folder.absolute().parent} is not there: mount the share first")
    beacon = create_link(folder, name or folder.resolve().name)
    typer.echo(f"link {beacon.name} ({beacon.link}) is ready in {folder}")


@app.command()
def pair(
    folder: LinkFolder,
    side: SideName,
    state: StateFolder = None,
    *,
    typed: Annotated[bool, typer.Option("--typed", help="Read the key that the other side has shown.")] = False,
    encrypt: Annotated[bool, typer.Option("--encrypt", help="A new key: hide what messages say as well.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Replace the key there is; do it on both sides.")] = False,
) -> None:
    """Make the key of this link and show it once, or take the one made on the other side. Never through the share."""
    text = typer.prompt("Key", prompt_suffix=": ") if typed else new_key_text(hides=encrypt)
    path = store_key(folder, text, side=_side(side), state_dir=state, again=again)
    if not typed:
        typer.echo(text)
        typer.echo("Type it on the other machine: folder-relay pair --typed. It is not shown again.", err=True)
    typer.echo(f"paired: {path}; it counts from the next start of this side, and for ever", err=True)


@app.command()
def serve(
    folder: LinkFolder,
    target: Annotated[str | None, typer.Argument(help="module:app, an ASGI app.")] = None,
    upstream: Annotated[str | None, typer.Option(help="An HTTP server, such as http://127.0.0.1:8787.")] = None,
    side: SideName = "hub",
    state: StateFolder = None,
    durability: Durable = "full",
) -> None:
    """Answer the other side's requests with an ASGI app or an HTTP server, until interrupted."""
    settings: dict[str, Any] = {"side": _side(side), "state_dir": state, "durability": _durability(durability)}
    if target is not None and target.startswith(("http://", "https://")):
        target, upstream = None, target
    if (target is None) == (upstream is None):
        _refuse("serve one of both: module:app, or --upstream URL")
    if upstream is not None:
        server = Server.for_url(folder, upstream, **settings)
    else:
        server = Server.for_asgi(folder, _app_named(target or ""), **settings)
    _tell_start(folder, side)
    _serve_until_stopped(server)


@app.command()
def call(
    folder: LinkFolder,
    method: Annotated[str, typer.Argument(help="GET, POST, …")],
    path: Annotated[str, typer.Argument(help="Path and query, such as /items?n=1.")],
    data: Annotated[str | None, typer.Option("--data", "-d", help="The body; @FILE reads it from a file.")] = None,
    header: Annotated[list[str] | None, typer.Option("--header", "-H", help="name: value; repeatable.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds.")] = 30.0,
    request_id: Annotated[str | None, typer.Option(help="The same id again is the same request.")] = None,
    side: SideName = "agent",
    state: StateFolder = None,
    durability: Durable = "full",
) -> None:
    """Send one request and print the reply's body; exit 1 for a status of 400 or above."""
    headers = dict(_header(line) for line in header or ())
    body = Path(data[1:]).read_bytes() if data and data.startswith("@") else data.encode() if data else None
    with Client(folder, side=_side(side), state_dir=state, durability=_durability(durability)) as client:
        reply = client.call(method, path, body, headers=headers, timeout=timeout, request_id=request_id)
    sys.stdout.buffer.write(reply.body)
    sys.stdout.buffer.flush()
    if reply.status >= 400:
        if not reply.body.endswith(b"\n"):
            typer.echo(err=True)
        typer.echo(f"status {reply.status}", err=True)
        raise typer.Exit(1)


@app.command("ls")
def list_frames(folder: LinkFolder) -> None:
    """Show what lies in the folder now, both directions; foreign files are marked with ?."""
    beacon = link_of(folder)
    typer.echo(f"link {beacon.name} ({beacon.link}), protocols {beacon.protocol[0]}-{beacon.protocol[1]}")
    for side in PEER_OF:
        place = LocalFolder(folder, side)
        typer.echo(f"to-{side}/")
        for name in sorted(place.arrivals()):
            typer.echo(f"  {_told(place, name)}")


@app.command()
def tail(
    folder: LinkFolder,
    seconds: Annotated[float | None, typer.Option(help="End after so many seconds; default: when interrupted.")] = None,
) -> None:
    """Print each frame as it appears, both directions."""
    link_of(folder)
    clock = SystemClock()
    places = [LocalFolder(folder, side) for side in PEER_OF]
    seen: set[str] = set()
    ends = None if seconds is None else clock.monotonic() + seconds
    try:
        while ends is None or clock.monotonic() < ends:
            for place in places:
                for name in sorted(set(place.arrivals()) - seen):
                    seen.add(name)
                    typer.echo(f"{place.inbox.name}  {_told(place, name)}")
            clock.sleep(0.05)
    except KeyboardInterrupt:
        return


@app.command()
def doctor(
    folder: LinkFolder,
    side: SideName,
    state: StateFolder = None,
    *,
    peer: Annotated[bool, typer.Option("--peer", help="Together with the doctor on the other machine.")] = False,
    patience: Annotated[float, typer.Option(help="Seconds to wait for each word of the other doctor.")] = 120.0,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Examine the share from this side; what is measured sets scans and waits from the next start on."""
    from relay.doctor import examine  # `call` and `serve` need none of the probes

    _show(
        examine(
            folder,
            _side(side),
            state_dir=state,
            clock=SystemClock(),
            ids=SystemIds(),
            with_peer=peer,
            patience_seconds=patience,
        ),
        as_json=as_json,
    )


@app.command()
def fsck(
    folder: LinkFolder,
    side: SideName,
    state: StateFolder = None,
    *,
    repair: Annotated[bool, typer.Option("--repair", help="Delete what is provably ours and of no use.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Hold the folder against this side's local state, while the side is stopped. Changes nothing without --repair."""
    from relay.fsck import inspect

    _show(inspect(folder, _side(side), state_dir=state, clock=SystemClock(), repair=repair), as_json=as_json)


@app.command()
def bench(
    folder: LinkFolder,
    *,
    answer: Annotated[bool, typer.Option("--answer", help="Be the answering side, until interrupted.")] = False,
    alone: Annotated[bool, typer.Option("--alone", help="Be both sides, through this machine's view alone.")] = False,
    calls: Annotated[int, typer.Option(min=1, help="Calls one after the other.")] = 200,
    callers: Annotated[int, typer.Option(min=1, max=256, help="Callers at once.")] = 64,
    durability: Durable = "full",
) -> None:
    """Measure round trip and throughput over a link made for it (folder-relay init): --answer there, plain here."""
    from relay.benching import echo, figures_of

    settings: dict[str, Any] = {"durability": _durability(durability)}
    with TemporaryDirectory(prefix="folder-relay-") as state, ExitStack() as stack:
        settings["state_dir"] = state
        if answer:
            _serve_until_stopped(Server(folder, echo, **settings))
            return
        if alone:
            stack.enter_context(Server(folder, echo, **settings))
        client = stack.enter_context(Client(folder, **settings))
        typer.echo(str(figures_of(client, SystemClock(), calls=calls, callers=callers)))


def _show(found: list[Probe], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps([probe.as_json() for probe in found], ensure_ascii=False, indent=2))
    else:
        for probe in found:
            typer.echo(str(probe))
    if any(probe.state == "fail" for probe in found):
        raise typer.Exit(1)


def _tell_start(folder: Path, side: str) -> None:
    typer.echo(f"folder-relay: serving {folder} as its {side} side; Ctrl-C ends it", err=True)
    try:
        link_of(folder)
    except (ShareFault, NotAFrame) as fault:
        typer.echo(f"folder-relay: {_advised(fault)}; until then this waits", err=True)


def _serve_until_stopped(server: Server) -> None:
    def stop(_signal: int, _frame: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.stop()


def _told(place: LocalFolder, name: str) -> str:
    parsed = frame_name(name)
    if parsed is None:
        return f"? {name}"
    try:
        data = place.read(name, MAX_FRAME_BYTES)
        if sealed_otherwise(data, None):
            return f"{name}  {len(data)} bytes  sealed with the pairing key"
        return f"{name}  {len(data)} bytes  {_summary(frame_from(data, parsed))}"
    except NotAFrame as error:
        return f"{name}  unreadable: {error}"
    except (FrameGone, FrameUnfit):
        return f"{name}  gone, or no plain file"


def _summary(frame: Frame) -> str:
    ack = f"ack {frame.ack.epoch}:{frame.ack.seq}" if frame.ack else "ack none"
    kinds = ", ".join(f"{message.kind} {message.id[:12]}" for message in frame.messages[:4])
    more = f" and {len(frame.messages) - 4} more" if len(frame.messages) > 4 else ""
    return f"life {frame.life}  {ack}  {kinds}{more}"


def _side(text: str) -> Side:
    if text not in PEER_OF:
        _refuse(f"--side is hub or agent, not {text!r}")
    return text


def _durability(text: str) -> Durability:
    if text not in ("full", "none"):
        _refuse(f"--durability is full or none, not {text!r}")
    return cast(Durability, text)


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon:
        _refuse(f"a header is name: value, not {line!r}")
    return name.strip(), value.strip()


def _app_named(target: str) -> AsgiApp:
    module, _, name = target.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), name or "app", None)
    except ImportError as error:
        _refuse(f"{module} cannot be imported: {error}")
    if found is None:
        _refuse(f"{module} has no {name or 'app'}")
    return cast(AsgiApp, found)


def _refuse(text: str) -> NoReturn:
    raise typer.BadParameter(text)
