"""The composition root: database, service, API and relay of one hub, from start to a graceful stop. No rule in here."""

import gc
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import uvicorn

from hub.api import create_agent_app, create_app
from hub.api.context import Context
from hub.api.serving import RelayStatus, Served
from hub.backup import FolderBackups
from hub.chores import Chores
from hub.config import HubSettings, ServedLink, load_settings, token_of
from hub.disk import check_local, hold
from hub.errors import Unready
from hub.logs import start_logs
from hub.mark import MarkFile
from hub.relays import LinkRelay
from hub.service import Service
from hub.store.opening import open_database, opening_faults
from relay import RelayError, Server
from relay.clock import SystemClock, SystemIds
from relay.mounts import sync_tool_of
from relay.ports import Clock

GRACE_SECONDS: Final = 5  # an answer under way may end; then the connection is cut
_log = logging.getLogger("hub")


def serve_hub(home: Path | None = None, *, port: int | None = None, **given: Any) -> None:
    """Serve until SIGTERM or SIGINT. What prevents the start is said in one line, and the process ends with 1."""
    try:
        settings = load_settings(home, port=port, **given)
        lines = start_logs(settings.log_format)
        if password := urlsplit(settings.database_url or "").password:
            lines.hide(password)
        with running_hub(settings) as server:
            lines.hide(token_of(settings, SystemIds()))
            gc.freeze()  # what a start has made stays: no later collection looks through it
            gc.enable()
            server.run()
    except Unready as error:
        sys.stderr.write(f"jira-hub: {error}\n")
        raise SystemExit(1) from error


@contextmanager
def running_hub(settings: HubSettings) -> Iterator["ApiServer"]:
    """A hub whose relay runs and whose API runs once the server is run; stopped in order at the end."""
    with ExitStack() as stack:
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_local(settings.home)
        lock = hold(settings.home)
        stack.callback(lock.release)
        listening = _listen(settings)
        stack.callback(listening.close)
        service = _service(settings, stack)
        context = Context(service)
        stack.callback(context.close)
        served = Served(
            _start_relays(settings, context, stack),
            settings.default_link,
            with_others=settings.database_url is not None,
        )
        app = create_app(context, token=token_of(settings, SystemIds()), hosts=_hosts(listening), served=served)
        stack.enter_context(_driven("hub-chores", Chores(service).step, SystemClock()))
        yield ApiServer(app, listening, service.bell.close)


class ApiServer(uvicorn.Server):
    """uvicorn on a socket that is open already; lets parked claims and watchers go before it stops."""

    def __init__(self, app: Any, listening: socket.socket, before_stop: Callable[[], None]) -> None:
        config = uvicorn.Config(
            app,
            log_config=None,  # its lines look like ours
            log_level="warning",
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        super().__init__(config)
        self.address = _address(listening)
        self._listening = listening
        self._before_stop = before_stop

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        _log.info("the hub listens on http://%s", self.address)
        for number in (signal.SIGINT, signal.SIGTERM):
            # uvicorn raises the signal once more when it has stopped: the default would end us before we cleared up.
            signal.signal(number, self.handle_exit)
        super().run(sockets or [self._listening])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._before_stop()
        await super().shutdown(sockets)


def _listen(settings: HubSettings) -> socket.socket:
    """Bound here rather than by uvicorn: a taken port is known before anything else starts."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        why = os.strerror(error.errno) if error.errno else str(error)
        raise Unready(f"cannot listen on {settings.host}:{settings.port}: {why}; name another --port") from error
    listening.set_inheritable(True)
    return listening


def _service(settings: HubSettings, stack: ExitStack) -> Service:
    clock, ids = SystemClock(), SystemIds()
    try:
        if settings.database_url is None:
            # Made with the right mode before SQLite opens it: its logs take the mode of the database.
            os.close(os.open(settings.database, os.O_RDWR | os.O_CREAT, 0o600))
        database = open_database(settings.database_url or settings.database)
        stack.callback(database.close)
        # A server's database is copied by whoever keeps the server.
        backups = None if settings.database_url else FolderBackups(settings.database, settings.backups, clock)
        marks = MarkFile(settings.mark)
        stack.callback(marks.close)
        service = Service(database, clock=clock, ids=ids, backups=backups, marks=marks)
        service.tell_if_taken_over()
        service.housekeeping()
        for link in settings.served:
            service.serve_link(link.name, _fixed(link))
    except opening_faults() as error:
        name = "of JIRA_HUB_DATABASE_URL" if settings.database_url else settings.database
        raise Unready(f"cannot open the database {name}: {' '.join(str(error).split())}") from error
    return service


def _fixed(link: ServedLink) -> Mapping[str, Any]:
    """What the settings file says about the link, if it does; else the database's own word stays."""
    wanted: dict[str, Any] = {}
    if link.project:
        wanted["project"] = link.project
    if link.link_types:
        wanted["link_types"] = link.link_types
    return wanted


def _start_relays(settings: HubSettings, context: Context, stack: ExitStack) -> dict[str, RelayStatus]:
    """A relay for each link. One whose share is away is waited for while others can work; a hub of no use says why."""
    faults = {link.name: fault for link in settings.served if (fault := _share_fault(link)) is not None}
    if len(faults) == len(settings.served):
        raise Unready(next(iter(faults.values())))
    for fault in faults.values():
        _log.error("%s; the other links work", fault)
    return {link.name: _start_relay(settings, link, context, stack) for link in settings.served if link.share}


def _share_fault(link: ServedLink) -> str | None:
    if link.share is None:
        return "no share is set: jira-hub init --share DIR, or JIRA_HUB_SHARE"
    if not link.share.is_dir():
        return f"the share {link.share} is not there: mount it, or name another with JIRA_HUB_SHARE"
    if not (link.share / link.name / "link.json").is_file():
        return f"{link.folder} is no link yet: jira-hub init --share {link.share} --link {link.name}"
    return None


def _start_relay(settings: HubSettings, link: ServedLink, context: Context, stack: ExitStack) -> RelayStatus:
    folder = link.folder
    assert link.share is not None and folder is not None  # what has none is no relay's
    tool = sync_tool_of(link.share)
    if tool:
        _log.warning("the share %s is a folder of %s: files will come late", link.share, tool)

    def server() -> Server:
        return Server.for_asgi(
            folder,
            create_agent_app(context, link=link.name),
            side="hub",
            state_dir=settings.home / "relay",
            durability="none" if settings.durability == "none" else "full",
        )

    try:
        relay = LinkRelay(link.name, server)
        relay.start()
    except (RelayError, OSError) as error:
        raise Unready(f"the relay of the link {link.name} cannot start: {error}") from error
    stack.callback(relay.stop)
    stack.enter_context(_driven(f"hub-relay-{link.name}", relay.step, SystemClock()))
    return relay.status


def _hosts(listening: socket.socket) -> tuple[str, ...]:
    """Every name and port this hub is rightly called by."""
    port = listening.getsockname()[1]
    return (_address(listening), f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}")


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@contextmanager
def _driven(name: str, step: Callable[[float], float], clock: Clock) -> Iterator[None]:
    """What the hub does by itself, in a thread of its own: `step` is called when it said it wants to be."""
    ended = threading.Event()

    def work() -> None:
        wake = step(clock.monotonic())
        while not ended.wait(max(0.0, wake - clock.monotonic())):
            wake = step(clock.monotonic())

    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(GRACE_SECONDS)
