"""Requests and replies over an unreliable folder: `Client` on one side, `Server` on the other, nothing else between."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from relay.asynchronous import AsyncClient, AsyncServer
    from relay.calls import Reply, Request
    from relay.client import Client
    from relay.errors import (
        AlreadyPaired,
        AlreadyRunning,
        DeliveryLimitExceeded,
        HandlerUnavailable,
        KeyUnreadable,
        LinkExists,
        MessageTooLarge,
        PeerOffline,
        ProtocolMismatch,
        QueueFull,
        RelayClosed,
        RelayError,
        RelayTimeout,
        ShareUnavailable,
        StateUnusable,
        UnknownRequest,
        UnsafeDurability,
        UnsafeState,
    )
    from relay.exchange import RelayStatus
    from relay.folder import create_link
    from relay.profile import Profile
    from relay.server import Server

# Loaded when first named: whoever needs a small module of this package need not pay for its drivers.
_HOME_OF: Final = {
    "AlreadyPaired": "relay.errors",
    "AlreadyRunning": "relay.errors",
    "AsyncClient": "relay.asynchronous",
    "AsyncServer": "relay.asynchronous",
    "Client": "relay.client",
    "DeliveryLimitExceeded": "relay.errors",
    "HandlerUnavailable": "relay.errors",
    "KeyUnreadable": "relay.errors",
    "LinkExists": "relay.errors",
    "MessageTooLarge": "relay.errors",
    "PeerOffline": "relay.errors",
    "Profile": "relay.profile",
    "ProtocolMismatch": "relay.errors",
    "QueueFull": "relay.errors",
    "RelayClosed": "relay.errors",
    "RelayError": "relay.errors",
    "RelayStatus": "relay.exchange",
    "RelayTimeout": "relay.errors",
    "Reply": "relay.calls",
    "Request": "relay.calls",
    "Server": "relay.server",
    "ShareUnavailable": "relay.errors",
    "StateUnusable": "relay.errors",
    "UnknownRequest": "relay.errors",
    "UnsafeDurability": "relay.errors",
    "UnsafeState": "relay.errors",
    "create_link": "relay.folder",
}

__all__ = [
    "AlreadyPaired",
    "AlreadyRunning",
    "AsyncClient",
    "AsyncServer",
    "Client",
    "DeliveryLimitExceeded",
    "HandlerUnavailable",
    "KeyUnreadable",
    "LinkExists",
    "MessageTooLarge",
    "PeerOffline",
    "Profile",
    "ProtocolMismatch",
    "QueueFull",
    "RelayClosed",
    "RelayError",
    "RelayStatus",
    "RelayTimeout",
    "Reply",
    "Request",
    "Server",
    "ShareUnavailable",
    "StateUnusable",
    "UnknownRequest",
    "UnsafeDurability",
    "UnsafeState",
    "create_link",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    return found
