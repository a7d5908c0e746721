"""A real hub inside the test's process: the whole API on a loopback port of its own, the store in a file."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from hub.api import create_app
from hub.api.context import Context
from hub.backup import FolderBackups
from hub.cli.home import make_home, read_token, settings_of
from hub.service import Service
from hub.store.connection import Database
from relay.clock import SystemClock, SystemIds

STARTED_WITHIN_SECONDS = 20.0


@dataclass(frozen=True)
class RunningHub:
    """`service` is what the API itself calls: a test plays the agent on it."""

    home: Path
    address: str
    service: Service


class _Server(uvicorn.Server):
    """Says when it has begun to listen, so that nobody has to look again and again."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()


@contextmanager
def running_hub(home: Path, *, copies: bool = False) -> Iterator[RunningHub]:
    """The hub of a fresh home, until the end of the block; with `copies` it makes backups."""
    make_home(home, {})
    settings, clock = settings_of(home), SystemClock()
    backups = FolderBackups(settings.database, settings.backups, clock) if copies else None
    database = Database(settings.database, synchronous="normal")
    service = Service(database, clock=clock, ids=SystemIds(), backups=backups)
    context = Context(service)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host = f"127.0.0.1:{listener.getsockname()[1]}"
        app = create_app(context, token=read_token(settings), hosts=[host])
        server = _Server(uvicorn.Config(app, log_config=None, lifespan="off", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        assert server.listening.wait(STARTED_WITHIN_SECONDS)
        try:
            yield RunningHub(home, f"http://{host}", service)
        finally:
            server.should_exit = True
            thread.join(STARTED_WITHIN_SECONDS)
            context.close()
