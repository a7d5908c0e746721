"""The link's state machine: two of them over a folder that loses, doubles, delays and reorders; and step by step."""

import math
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from relay.frames import PEER_OF, Message, RequestHead, Side, frame_from, packed
from relay.link import Link, Me, Parcel, Peer, Publication, Received
from relay.names import AckName, FrameName, frame_name
from relay.profile import Profile

LINK = "00112233445566778899aabbccddeeff"
PROFILE = Profile()


def parcel(text: str, size: int = 0) -> Parcel:
    return Parcel("request", text, packed(Message("request", text, RequestHead("GET", "/", []), b"x" * size)))


@dataclass
class Party:
    """One side with its link, and what its peer's folder shows it."""

    side: Side
    life: int = 1
    peer: Peer = field(default_factory=Peer)
    now: float = 0.0
    got: list[str] = field(default_factory=list)
    acknowledged: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)  # published and not deleted

    def __post_init__(self) -> None:
        self.begin(self.now)

    def begin(self, now: float) -> None:
        epoch = f"{'a' if self.side == 'hub' else 'b'}{self.life:011x}"
        self.link = Link(Me(LINK, self.side, epoch, self.life), self.peer, PROFILE, now)

    def restart(self, now: float, *, forgets: bool) -> None:
        """A new life; what was on its way is sent anew by its owner, the old files are deleted."""
        self.peer = Peer() if forgets else self.link.peer
        self.life += 1
        self.files.clear()
        self.begin(now)

    def publish(self, now: float) -> list[Publication]:
        out = self.link.outgoing(now, 0.0, requests_open=True)
        for publication in out:
            assert str(publication.name) not in self.files, "a name is used once"
            self.files[str(publication.name)] = publication.data
            self.link.published(publication, now)
        for name in self.link.take_refuse():
            self.files.pop(str(name), None)
        return out

    def see(self, name: str, data: bytes, now: float) -> Received:
        parsed = frame_name(name)
        assert parsed is not None
        if not self.link.wants(parsed, now):
            return Received()
        received = self.link.receive(frame_from(data, parsed), now)
        self.got += [message.id for message in received.messages if message.kind == "request"]
        self.acknowledged += [one.id for one in received.acknowledged]
        return received


def pair() -> tuple[Party, Party]:
    return Party("agent"), Party("hub")


def exchange(sender: Party, receiver: Party, now: float) -> None:
    for publication in sender.publish(now):
        receiver.see(str(publication.name), publication.data, now)


def test_messages_that_wait_leave_together_in_one_frame() -> None:
    agent, hub = pair()
    agent.link.send([parcel("a"), parcel("b"), parcel("c")])
    out = agent.publish(0.0)
    assert [str(publication.name) for publication in out] == ["b00000000001-00000001-00.json"]
    hub.see(str(out[0].name), out[0].data, 0.0)
    assert hub.got == ["a", "b", "c"]


def test_a_frame_holds_one_mebibyte_and_the_window_sixteen_frames() -> None:
    agent, _ = pair()
    agent.link.send([parcel(f"m{number}", 600_000) for number in range(20)])
    assert len(agent.publish(0.0)) == 16
    assert (agent.link.in_flight, agent.link.waiting) == (16, 4)
    assert all(len(data) <= 1 << 20 for data in agent.files.values())


def test_the_sender_deletes_its_file_after_the_acknowledgement_and_not_before() -> None:
    agent, hub = pair()
    agent.link.send([parcel("a")])
    exchange(agent, hub, 0.0)
    assert len(agent.files) == 1
    assert hub.publish(0.04) == [], "the acknowledgement waits for a message to ride on"
    exchange(hub, agent, 0.05)
    agent.publish(0.05)
    assert agent.acknowledged == ["a"]
    assert agent.files == {}


def test_an_acknowledgement_rides_on_whatever_leaves() -> None:
    agent, hub = pair()
    agent.link.send([parcel("a")])
    exchange(agent, hub, 0.0)
    hub.link.send([parcel("b")])
    exchange(hub, agent, 0.01)
    assert agent.acknowledged == ["a"]
    assert hub.publish(0.5) == [], "and is not said again"


def test_an_unacknowledged_frame_goes_out_again_under_the_next_try_and_the_older_is_deleted() -> None:
    agent, _ = pair()
    agent.link.send([parcel("a")])
    times = []
    for now in range(200):
        if any(isinstance(publication.name, FrameName) for publication in agent.publish(now)):
            times.append(now)
        assert len([name for name in agent.files if "-ack-" not in name]) == 1
    assert times == [0, 2, 4, 8, 16, 32, 64, 124, 184]


def test_towards_a_silent_peer_repetition_ends_and_its_first_sign_of_life_starts_it_again() -> None:
    agent, hub = pair()
    agent.link.send([parcel("a")])
    now = 0.0
    while now < 3_600:
        agent.publish(now)
        now += 1.0
    (name,) = [name for name in agent.files if "-ack-" not in name]
    assert name.endswith("-12.json")
    agent.publish(now)
    for publication in hub.publish(now + 30):
        agent.see(str(publication.name), publication.data, now + 30)
    agent.publish(now + 30)
    assert [each for each in agent.files if each.endswith("-13.json")]


def test_a_missing_frame_is_asked_for_as_soon_as_the_next_one_shows() -> None:
    agent, hub = pair()
    frames = []
    for number in range(3):
        agent.link.send([parcel(f"m{number}")])
        frames += agent.publish(number / 10)
    for publication in (frames[0], frames[2]):
        hub.see(str(publication.name), publication.data, 0.5)
    assert hub.got == ["m0"], "the order of sending is the order of taking"
    (ask,) = hub.publish(0.5)
    agent.see(str(ask.name), ask.data, 0.5)
    (again,) = agent.publish(0.5)
    assert str(again.name) == "b00000000001-00000002-01.json"
    hub.see(str(again.name), again.data, 0.6)
    assert hub.got == ["m0", "m1", "m2"]


def test_a_copy_of_what_was_taken_is_not_read_but_acknowledged_again() -> None:
    agent, hub = pair()
    agent.link.send([parcel("a")])
    exchange(agent, hub, 0.0)
    hub.publish(0.05)  # lost
    exchange(agent, hub, 2.0)
    assert (hub.got, hub.link.tally.doubled) == (["a"], 1)
    exchange(hub, agent, 2.05)
    assert agent.acknowledged == ["a"]


def test_frames_of_a_retired_life_are_counted_and_ignored_for_ever() -> None:
    agent, hub = pair()
    agent.link.send([parcel("old")])
    (old,) = agent.publish(0.0)
    agent.restart(1.0, forgets=False)
    agent.link.send([parcel("new")])
    exchange(agent, hub, 1.0)
    hub.see(str(old.name), old.data, 2.0)
    assert (hub.got, hub.link.tally.resurrected) == (["new"], 1)
    hub.restart(3.0, forgets=False)
    hub.see(str(old.name), old.data, 4.0)
    assert hub.got == ["new"]


def test_a_receiver_that_forgot_what_it_acknowledged_goes_on_where_its_peer_stands() -> None:
    agent, hub = pair()
    for number in range(5):
        agent.link.send([parcel(f"m{number}")])
        exchange(agent, hub, number / 10)
        exchange(hub, agent, number / 10 + 0.06)
    hub.restart(1.0, forgets=True)
    agent.link.send([parcel("m5")])
    exchange(agent, hub, 1.0)
    assert hub.got == [f"m{number}" for number in range(6)]


def test_a_bare_acknowledgement_is_published_as_heartbeat_and_two_are_kept() -> None:
    agent, hub = pair()
    now = 0.0
    while now < 200:
        exchange(agent, hub, now)
        now += 1.0
    assert sorted(agent.files) == ["b00000000001-ack-00000005.json", "b00000000001-ack-00000006.json"]
    assert agent.link.wake_at(requests_open=False) == 210.0


def test_time_without_a_share_counts_towards_no_deadline() -> None:
    agent, _ = pair()
    agent.link.send([parcel("a")])
    agent.publish(0.0)
    agent.link.postpone(100.0)
    assert agent.publish(101.9) == []
    assert len(agent.publish(102.0)) == 1


def test_a_name_that_may_exist_after_a_failure_is_not_used_again() -> None:
    agent, _ = pair()
    agent.link.send([parcel("a")])
    (first,) = agent.link.outgoing(0.0, 0.0, requests_open=True)
    agent.link.failed(first, name_used=False)
    (second,) = agent.link.outgoing(0.0, 0.0, requests_open=True)
    assert second.name == first.name
    agent.link.failed(second, name_used=True)
    (third,) = agent.link.outgoing(0.0, 0.0, requests_open=True)
    assert isinstance(third.name, FrameName) and third.name.attempt == 1


def test_nothing_to_do_means_a_late_wake_up() -> None:
    agent, _ = pair()
    assert agent.link.wake_at(requests_open=False) == PROFILE.heartbeat_seconds
    agent.link.send([parcel("a")])
    assert agent.link.wake_at(requests_open=False) == -math.inf


class Weather:
    """A folder between two parties that loses, doubles, delays and reorders, as told by drawn numbers."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data
        self._under_way: list[tuple[float, Side, str, bytes]] = []
        self.calm = False

    def carry(self, publication: Publication, reader: Side, now: float) -> None:
        fate = "arrives" if self.calm else self._data.draw(st.sampled_from(["arrives", "lost", "late", "doubled"]))
        delays = {"arrives": [0.0], "lost": [], "late": [3.7], "doubled": [0.0, 5.3]}[fate]
        self._under_way += [(now + delay, reader, str(publication.name), publication.data) for delay in delays]

    def arrivals(self, reader: Side, now: float) -> list[tuple[str, bytes]]:
        due = [one for one in self._under_way if one[1] == reader and one[0] <= now]
        self._under_way = [one for one in self._under_way if one not in due]
        return [(name, data) for _, _, name, data in reversed(due)]


@settings(max_examples=60)
@given(st.data())
def test_whatever_the_folder_does_everything_arrives_once_and_in_order(data: st.DataObject) -> None:
    parties: dict[Side, Party] = {"agent": Party("agent"), "hub": Party("hub")}
    sent: dict[Side, list[str]] = {"agent": [], "hub": []}
    weather = Weather(data)
    now = 0.0
    for turn in range(400):
        now += 0.5
        weather.calm = turn > 40
        for side, party in parties.items():
            if turn < 30 and data.draw(st.booleans(), label=f"{side} sends"):
                sent[side].append(f"{side}-{len(sent[side])}")
                party.link.send([parcel(sent[side][-1])])
            for publication in party.publish(now):
                weather.carry(publication, PEER_OF[side], now)
            for name, content in weather.arrivals(side, now):
                party.see(name, content, now)
        if turn > 40 and all(not party.link.in_flight and not party.link.waiting for party in parties.values()):
            break
    for side, party in parties.items():
        assert party.got == sent[PEER_OF[side]]
        assert party.acknowledged == sent[side]
        party.publish(now)
        assert [name for name in party.files if isinstance(frame_name(name), FrameName)] == []
        assert len([name for name in party.files if isinstance(frame_name(name), AckName)]) <= 2


@settings(max_examples=40)
@given(st.data())
def test_restarts_of_either_side_never_stop_the_link_and_never_repeat_within_a_life(data: st.DataObject) -> None:
    parties: dict[Side, Party] = {"agent": Party("agent"), "hub": Party("hub")}
    weather = Weather(data)
    now, number = 0.0, 0
    for _ in range(25):
        now += 0.7
        for side, party in parties.items():
            if data.draw(st.integers(0, 9), label=f"{side} dies") == 0:
                party.restart(now, forgets=data.draw(st.booleans(), label="and forgets"))
                # A life that forgot may be given old news again: only what it takes in is compared.
                party.got.clear()
            number += 1
            party.link.send([parcel(f"{side}-{party.life}-{number}")])
            for publication in party.publish(now):
                weather.carry(publication, PEER_OF[side], now)
            for name, content in weather.arrivals(side, now):
                party.see(name, content, now)
            assert len(party.got) == len(set(party.got))
    weather.calm = True
    for _ in range(300):
        now += 0.7
        for side, party in parties.items():
            for publication in party.publish(now):
                weather.carry(publication, PEER_OF[side], now)
            for name, content in weather.arrivals(side, now):
                party.see(name, content, now)
    assert [party.side for party in parties.values() if party.link.in_flight or party.link.waiting] == []
