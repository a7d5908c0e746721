"""Requests and replies over an unreliable folder: `Client` on one side, `Server` on the other, nothing else between."""

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
