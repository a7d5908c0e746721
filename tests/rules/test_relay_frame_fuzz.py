"""T8: whatever stands in a file, reading and taking it in ends in a declared way, and memory stays bounded."""

import random
import tracemalloc
from collections import Counter

import pytest

from relay.errors import NotAFrame
from relay.frames import Frame, Message, frame_from
from relay.link import WINDOWS_HELD, Link, Me, Peer
from relay.names import AckName, FrameName
from relay.parts import MAX_UNFINISHED, Assembly
from relay.profile import Profile
from relay.sealing import sealed
from tests.conftest import PROFILE
from tests.promised import Covered
from tests.rules.frame_fuzz import hostile_frame
from tests.rules.golden_frames import HUB, LINK, PEER, READING

ROUNDS = {"quick": 2_000, "ci": 200_000, "soak": 20_000_000}[PROFILE]
SEED = 20_261_130
MEMORY_BYTES, GROWTH_BYTES = 64 << 20, 4 << 20


class Reader:
    """What a side does with a file, without the side: read, take in, put parts together, keep house."""

    def __init__(self) -> None:
        self.profile = Profile()
        self.link = Link(Me(LINK, "hub", PEER, 5), Peer(), self.profile, 0.0)
        self.assembly = Assembly(1 << 20)
        self.outcomes: Counter[str] = Counter()
        self.now = 0.0

    def take(self, name: FrameName | AckName, data: bytes, key: bytes | None) -> None:
        self.now += 0.01
        try:
            frame = frame_from(data, name, key, READING)
        except NotAFrame:
            self.outcomes["refused"] += 1
            return
        self.assert_declared(frame, name)
        if frame.link != LINK or frame.sender != "agent":
            self.outcomes["of another link or side"] += 1
            return
        self.outcomes["senseless" if frame.malformed else "taken in"] += 1
        before = self.link.peer
        received = self.link.receive(frame, self.now)
        for message in received.messages:
            self.assembly.whole(message)
        assert self.link.peer.life >= before.life
        assert self.link.peer.epoch != before.epoch or self.link.peer.taken >= before.taken
        self.assert_bounded()

    def assert_declared(self, frame: Frame, name: FrameName | AckName) -> None:
        assert frame.name == name
        for message in frame.messages:
            assert isinstance(message, Message)
            assert 1 <= len(message.id) <= 128
            assert "/" not in message.id
            message.id.encode()
            assert 1 <= message.part[0] <= message.part[1] <= 10_000

    def assert_bounded(self) -> None:
        assert len(self.link._held) <= WINDOWS_HELD * self.profile.window
        assert len(self.link._missing()) <= self.profile.window
        assert len(self.assembly._parts) <= MAX_UNFINISHED
        for publication in self.link.outgoing(self.now, 0.0, requests_open=True):
            assert len(publication.data) < 4_096
            self.link.published(publication, self.now)
        self.link.take_refuse()


def fuzzed(reader: Reader, numbers: range) -> None:
    for number in numbers:
        name, data, keyed = hostile_frame(random.Random(SEED * 1_000_003 + number))
        try:
            reader.take(name, data, HUB.seal_peer if keyed else None)
        except Exception as error:
            error.add_note(f"frame {number} of seed {SEED}: {name} {data[:500]!r}")
            raise


@pytest.mark.part("T8")
def test_hostile_frames_have_declared_outcomes_alone_and_leave_nothing_growing(covered: Covered) -> None:
    reader, traced = Reader(), min(ROUNDS // 10, 4_000)
    tracemalloc.start()
    try:
        fuzzed(reader, range(traced // 2))
        half = tracemalloc.get_traced_memory()[0]
        fuzzed(reader, range(traced // 2, traced))
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MEMORY_BYTES
    assert after - half < GROWTH_BYTES
    fuzzed(reader, range(traced, ROUNDS))
    # The fuzz is worth its name only where all sorts of outcomes are met.
    assert all(
        reader.outcomes[outcome] > ROUNDS // 500
        for outcome in ("refused", "of another link or side", "senseless", "taken in")
    ), reader.outcomes
    covered("T8", ROUNDS)


@pytest.mark.parametrize("depth", [10, 1_000, 100_000])
def test_depth_is_refused_before_it_hurts(depth: int) -> None:
    data = sealed(b'{"v":' + b"[" * depth + b"]" * depth)
    with pytest.raises(NotAFrame):
        frame_from(data, FrameName("0123456789ab", 1, 0))


def test_a_full_frame_of_senseless_messages_is_counted_not_kept() -> None:
    reader = Reader()
    messages = b",".join([b'{"kind":"request","id":"x","part":[1,1]}'] * 10_000)
    head = f'{{"v":1,"link":"{LINK}","from":"agent","epoch":"0123456789ab","life":1,"seq":1,"try":0,"low":1,'.encode()
    reader.take(
        FrameName("0123456789ab", 1, 0), sealed(head + b'"ack":null,"sent_at":0.5,"messages":[' + messages + b"]"), None
    )
    assert (reader.link.tally.malformed, reader.link.peer.taken) == (10_000, 1)
