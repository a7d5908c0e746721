"""The fake on a real socket: uvicorn, with a protocol that breaks the TCP connection when the app says so."""

import asyncio
import socket
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from examples.jira.faults import ConnectionDropped


class DroppingProtocol(H11Protocol):
    """`ConnectionDropped` from the app closes the connection without a byte: the client never learns what was done."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as H11Protocol itself
        super().connection_made(transport)
        app = self.app

        async def guarded(scope: Any, receive: Any, send: Any) -> None:
            try:
                await app(scope, receive, send)
            except ConnectionDropped:
                transport.abort()
                await receive()  # returns once the loop has told the protocol that the connection is gone

        self.app = guarded


def listen(host: str, port: int) -> socket.socket:
    """A bound socket, so that its port is known before anything is served; port 0 takes a free one."""
    listener = socket.create_server((host, port))
    listener.set_inheritable(True)
    return listener


def serve(app: Any, listener: socket.socket) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    config = uvicorn.Config(app, http=DroppingProtocol, log_level="warning", access_log=False, server_header=False)
    uvicorn.Server(config).run(sockets=[listener])
