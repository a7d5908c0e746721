"""Every way the relay refuses or fails: refusals to callers, faults of the share, content that is no frame."""

from typing import Literal, Self

ShareState = Literal["ok", "stuck", "lost", "foreign", "readonly", "full", "denied"]


class RelayError(Exception):
    """Whatever the relay tells its caller."""


class RelayTimeout(RelayError):
    """The deadline passed without a reply; the outcome is unknown, `resume(request_id)` asks again."""

    def __init__(self, request_id: str, detail: str) -> None:
        super().__init__(detail)
        self.request_id = request_id


class PeerOffline(RelayTimeout):
    """The deadline passed and the other side never acknowledged the request."""


class ShareUnavailable(RelayError):
    """The share cannot be used; `state` says why. `request_id` is set where a request was under way."""

    def __init__(self, state: ShareState, detail: str, request_id: str | None = None) -> None:
        super().__init__(f"the share is {state}: {detail}")
        self.state = state
        self.detail = detail
        self.request_id = request_id


class QueueFull(RelayError):
    """Too much waits to be sent already; nothing was taken on."""


class MessageTooLarge(RelayError):
    """The body is larger than the link carries; nothing was written."""


class ProtocolMismatch(RelayError):
    """The link or the other side speaks a version this one does not know."""


class DeliveryLimitExceeded(RelayError):
    """The other side gave the request up (508): its handler took the process down at each delivery."""

    def __init__(self, request_id: str) -> None:
        super().__init__(f"request {request_id}: its handler ended the server's process at each delivery")
        self.request_id = request_id


class UnknownRequest(RelayError):
    """Nothing is known here of the request to resume: `call` it again under its id instead."""


class AlreadyRunning(RelayError):
    """Another process serves this side of the link on this machine."""


class LinkExists(RelayError):
    """There is a link in this folder already; a beacon is never overwritten."""


class RelayClosed(RelayError):
    """The client or server was closed."""


class HandlerUnavailable(RelayError):
    """The app behind a server did not start."""


class UnsafeState(RelayError):
    """The local state would stand on a remote file system, where databases break."""


class StateUnusable(RelayError):
    """The local disk refuses what this side has to remember: it is full, or not writable. Nothing goes on without."""

    @classmethod
    def because(cls, fault: Exception) -> Self:
        why = getattr(fault, "strerror", None) or fault
        where = getattr(fault, "filename", None)
        return cls(
            f"the local memory cannot be used: {why}{f': {where}' if where else ''}; make room or mend its rights"
        )


class AlreadyPaired(RelayError):
    """This side has a pairing key already; it is never replaced by accident."""


class KeyUnreadable(RelayError):
    """The pairing key cannot be used: mistyped, gone, or open to others; the text says which."""


class UnsafeDurability(RelayError):
    """`durability="none"` on a share that needs fsync for files to be seen at all."""


class PeerSilent(RelayError):
    """The doctor of the other side does not answer."""


class ShareFault(Exception):
    """An operation on the share failed; raised by folder adapters only, retried by drivers only."""

    def __init__(self, state: ShareState, detail: str, *, name_used: bool = False) -> None:
        super().__init__(detail)
        self.state = state
        self.name_used = name_used  # the final name may exist now, so it must not be tried again


class FrameGone(Exception):
    """A listed file is not there (any more): look at the next listing."""


class FrameUnfit(Exception):
    """What bears a frame's name is no plain file of a frame's size; it is never read."""


class NotAFrame(ValueError):
    """The bytes prove nothing: truncated, changed, foreign or malformed. Maybe only not whole yet."""
