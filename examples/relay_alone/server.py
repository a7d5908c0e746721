"""The serving machine: a plain Starlette site. `python -m examples.relay_alone.server LINK STATE`."""

import signal
import sys
from pathlib import Path
from types import FrameType

from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from relay import Server

SITE = Path(__file__).parent / "site"
app = Starlette(routes=[Mount("/", StaticFiles(directory=SITE, html=True))])


def main() -> None:
    link, state = sys.argv[1:3]
    server = Server.for_asgi(link, app, state_dir=state)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.stop()


if __name__ == "__main__":
    main()
