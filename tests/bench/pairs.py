"""Two ends over one fresh folder, ready to be measured; where asked, each behind a FUSE mount of its own."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bench.catalogue import ONE_WAYS, ROUND_TRIPS
from tests.bench.ends import End
from tests.bench.measuring import scratch, settle, through_fuse

CALLS_SECONDS: Final = 120.0


@dataclass(slots=True)
class Pair:
    """A serving end and a calling end, both alive."""

    server: End
    caller: End
    share: Path
    lost: int = 0

    def calls(self, count: int, **limits: float) -> list[float]:
        """The milliseconds that each of `count` calls took; the lost ones are counted. Limits: think, seconds."""
        self.begin_calls(count, **limits)
        return self.end_calls()

    def begin_calls(self, count: int, **limits: float) -> None:
        self.caller.order(count=count, **limits)

    def end_calls(self) -> list[float]:
        answer = self.caller.answer(CALLS_SECONDS)
        self.lost += answer["lost"]
        took: list[float] = answer["ms"]
        return took


@contextlib.contextmanager
def pair_of(name: str, *, role: str = "call", fuse: bool = False) -> Iterator[Pair]:
    """Both ends of a round trip, warm: the first calls are behind them."""
    with scratch() as root, contextlib.ExitStack() as stack:
        share = root / "share"
        share.mkdir()
        ROUND_TRIPS[name].prepare(share)
        near = stack.enter_context(through_fuse(share, "near")) if fuse else share
        far = stack.enter_context(through_fuse(share, "far")) if fuse else share
        server = stack.enter_context(End("serve", name, far, root / "serving"))
        server.wait_ready()
        caller = stack.enter_context(End(role, name, near, root / "calling"))
        caller.wait_ready()
        yield Pair(server, caller, share)


def one_way(name: str, count: int) -> tuple[float, int]:
    """Messages a second from the first send to the last receipt, and how many were lost."""
    settle()
    with scratch() as root:
        ONE_WAYS[name].prepare(root)
        with End("receive", name, root, root / "r") as receiver, End("send", name, root, root / "s") as sender:
            receiver.wait_ready()
            sender.wait_ready()
            receiver.order(count=count)
            sent = sender.ask(CALLS_SECONDS, count=count)
            got = receiver.answer(CALLS_SECONDS)
    return count / (got["end"] - sent["begin"]), got["lost"]
