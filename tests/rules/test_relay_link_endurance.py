"""A link that never gives up: attempts without end, spoilt copies asked for anew, senseless messages passed over."""

import json
import math

from relay.frames import Message, frame_from
from relay.link import Link, Me, Parcel, Peer
from relay.names import AnyName, FrameName
from relay.profile import Profile
from relay.sealing import sealed
from tests.rules.test_relay_link import LINK, parcel

HUB, AGENT = "a" * 12, "b" * 12


def link(peer: Peer | None = None) -> Link:
    return Link(Me(LINK, "agent", AGENT, 5), peer or Peer(), Profile(), 0.0)


def other(*parcels: Parcel) -> Link:
    hub = Link(Me(LINK, "hub", HUB, 3), Peer(), Profile(), 0.0)
    hub.send(parcels)
    return hub


def test_a_frame_is_repeated_as_often_as_it_takes_and_never_under_a_name_that_has_served() -> None:
    ours = link()
    ours.heard_at = 0.0
    ours.send([parcel("r-1")])
    now, names = 0.0, list[AnyName]()
    for _ in range(600):
        now = max(now, ours.wake_at(requests_open=True))
        assert now < math.inf
        ours.heard_at = now  # its word gets through, ours does not
        for publication in ours.outgoing(now, 0.0, requests_open=True):
            assert publication.name not in names, "whoever still sees the file it had sees an old one"
            assert frame_from(publication.data, publication.name).seq <= 1
            ours.published(publication, now)
            names.append(publication.name)
    sent = [name for name in names if isinstance(name, FrameName)]
    assert len(sent) > 250
    assert [name.attempt for name in sent] == list(range(len(sent)))
    assert ours.in_flight == 1


def test_after_the_hundredth_attempt_an_acknowledgement_still_counts() -> None:
    ours, hub = link(), other()
    ours.send([parcel("r-1")])
    now = 0.0
    for _ in range(150):
        ours.heard_at = now
        for publication in ours.outgoing(now, 0.0, requests_open=True):
            ours.published(publication, now)
            last = publication
        now += 61.0
    assert isinstance(last.name, FrameName)
    hub.receive(frame_from(last.data, last.name), now)
    (ack,) = hub.outgoing(now + 1.0, 0.0, requests_open=True)
    assert ours.receive(frame_from(ack.data, ack.name), now + 2.0).acknowledged != ()
    assert ours.in_flight == 0


def test_a_copy_given_up_as_spoilt_is_asked_for_at_once() -> None:
    hub = other(parcel("r-1"))
    (first,) = hub.outgoing(0.0, 0.0, requests_open=True)
    ours = link(Peer(HUB, 3, 0))
    ours.heard_at = 0.0
    for publication in ours.outgoing(0.0, 0.0, requests_open=False):
        ours.published(publication, 0.0)
    ours.spoilt(first.name, 40.0)
    assert ours.wake_at(requests_open=False) <= 40.0
    (word,) = ours.outgoing(40.0, 0.0, requests_open=False)
    ack = frame_from(word.data, word.name).ack
    assert ack is not None
    assert ack.want == [1]
    ours.published(word, 40.0)
    ours.receive(frame_from(first.data, first.name), 41.0)
    (word,) = ours.outgoing(50.0, 0.0, requests_open=False)
    ack = frame_from(word.data, word.name).ack
    assert ack is not None
    assert (ack.seq, ack.want) == (1, []), "taken, so no longer wanted"


def test_a_spoilt_file_of_another_life_or_of_what_is_taken_is_not_asked_for() -> None:
    ours = link(Peer(HUB, 3, 4))
    for name in (FrameName(HUB, 4, 0), FrameName("c" * 12, 5, 0), FrameName(HUB, 5_000, 0)):
        ours.spoilt(name, 1.0)
    assert ours._missing() == []


def test_a_senseless_message_does_not_hold_up_what_comes_behind_it() -> None:
    hub = other(Parcel("request", "bad", b'{"kind":"request","id":"bad","part":[1,1]}'), parcel("r-2"))
    (publication,) = hub.outgoing(0.0, 0.0, requests_open=True)
    ours = link()
    received = ours.receive(frame_from(publication.data, publication.name), 0.0)
    assert [message.id for message in received.messages] == ["r-2"]
    assert (ours.tally.malformed, ours.peer.taken) == (1, 1)


def test_a_frame_of_a_newer_release_is_acknowledged_and_the_next_one_taken() -> None:
    hub = other(parcel("r-1"))
    (publication,) = hub.outgoing(0.0, 0.0, requests_open=True)
    content = json.loads(publication.data)
    del content["seal"]
    strange = sealed(json.dumps(content | {"colour": "blue"})[:-1].encode())
    ours = link()
    assert ours.receive(frame_from(strange, publication.name), 0.0).messages == ()
    assert (ours.tally.malformed, ours.peer.taken) == (1, 1)
    hub.published(publication, 0.0)
    hub.send([Parcel("hello", "x", json.dumps({"kind": "hello", "id": "x", "part": [1, 1]}).encode())])
    (following,) = hub.outgoing(0.1, 0.0, requests_open=True)
    assert ours.receive(frame_from(following.data, following.name), 0.2).messages == (Message("hello", "x"),)
