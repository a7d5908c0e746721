"""Our relay as a contender: its public API with its defaults, nothing from inside."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NoReturn

from tests.bench.folder_peers import rest

LINK = "main"


class OurRelay:
    """An echo handler behind a `Server`, called through a `Client`."""

    def __init__(self, durability: Literal["full", "none"]) -> None:
        self._durability: Literal["full", "none"] = durability

    def prepare(self, share: Path) -> None:
        from relay import create_link

        create_link(share / LINK, LINK)

    def serve(self, share: Path, local: Path, ready: Callable[[], None]) -> NoReturn:
        from relay import Reply, Request, Server

        def echo(request: Request) -> Reply:
            return Reply(200, {}, request.body)

        with Server(share / LINK, echo, state_dir=local, durability=self._durability):
            ready()
            rest()

    def _client(self, share: Path, local: Path) -> Any:
        from relay import Client

        return Client(share / LINK, state_dir=local, durability=self._durability).__enter__()

    def caller(self, share: Path, local: Path) -> Callable[[bytes], bytes]:
        client = self._client(share, local)

        def call(payload: bytes) -> bytes:
            body: bytes = client.call("POST", "/echo", payload).body
            return body

        return call

    def flood(self, share: Path, local: Path, payload: bytes) -> Callable[..., Any]:
        """Many requests waiting at once."""
        from tests.bench.flood import Flooder

        return Flooder(share / LINK, local, payload)

    def crowd(self, share: Path, local: Path, payload: bytes) -> Callable[..., Any]:
        """Many callers at once, each with one call open at a time."""
        client = self._client(share, local)

        def calls(caller: int, count: int, wrong: list[int]) -> None:
            for number in range(count):
                mine = b"%d.%d." % (caller, number) + payload
                if client.call("POST", "/echo", mine, timeout=120).body != mine:
                    wrong.append(number)

        def obey(callers: int, count: int) -> dict[str, Any]:
            wrong: list[int] = []
            each = max(1, count // callers)
            threads = [threading.Thread(target=calls, args=(caller, each, wrong)) for caller in range(callers)]
            begin = time.monotonic()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return {"begin": begin, "end": time.monotonic(), "calls": each * callers, "wrong": len(wrong)}

        return obey
