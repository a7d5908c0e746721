"""A side whose clock is behind its own past is heard all the same; one that another process has replaced is told."""

from relay.frames import Ack, Message, frame_from
from relay.link import Link, Me, Peer, hello
from relay.lives import Standing
from relay.names import frame_name
from relay.profile import Profile
from tests.rules.test_relay_link import LINK, parcel

OURS, OTHERS = "a" * 12, "b" * 12


def standing(*acks: tuple[str, int], life: int = 5) -> Standing:
    found = Standing()
    for epoch, known in acks:
        found.note(Ack(epoch, known, 0, []), epoch=OURS, life=life, current=True)
    return found


def test_a_greater_life_known_before_ours_is_our_past() -> None:
    assert standing((OTHERS, 9)).behind == 9
    assert standing((OTHERS, 9), (OTHERS, 7)).behind == 9
    assert standing((OTHERS, 5)).behind == 5, "an equal one hides ours as well"
    assert standing((OTHERS, 4)) == Standing(), "the peer has not seen ours yet"
    assert standing((OTHERS, 2**53 - 1)).behind is None, "nothing is above it"


def test_a_greater_life_known_after_ours_is_another_process() -> None:
    found = standing((OURS, 5), (OTHERS, 6))
    assert (found.superseded_by, found.behind) == (OTHERS, None)
    assert standing((OURS, 5), (OTHERS, 4)).superseded_by is None, "a file of the time before"


def test_what_a_retired_life_of_the_peer_says_tells_of_our_past_alone() -> None:
    found = standing((OURS, 5))
    assert found.note(Ack(OTHERS, 9, 0, []), epoch=OURS, life=5, current=False) is False
    assert (found.superseded_by, found.behind) == (None, None)
    found = Standing()
    assert found.note(Ack(OURS, 5, 3, []), epoch=OURS, life=5, current=False) is False, "nor is anything acknowledged"
    found.note(Ack(OTHERS, 9, 0, []), epoch=OURS, life=5, current=False)
    assert found.behind == 9


def carried(sender: Link, receiver: Link, now: float) -> list[str]:
    """What `receiver` takes of all that `sender` publishes now."""
    taken: list[str] = []
    for publication in sender.outgoing(now, 0.0, requests_open=True):
        sender.published(publication, now)
        parsed = frame_name(str(publication.name))
        assert parsed is not None
        if receiver.wants(parsed, now):
            taken += [one.id for one in receiver.receive(frame_from(publication.data, parsed), now).messages]
    return taken


def test_everything_said_in_a_life_nobody_heard_is_said_again_in_the_next_in_its_order() -> None:
    hub = Link(Me(LINK, "hub", "c" * 12, 3), Peer(OTHERS, 9, 4), Profile(), 0.0)
    late = Me(LINK, "agent", OURS, 5)
    ours = Link(late, Peer(), Profile(), 0.0)
    ours.send([hello(late), parcel("r-1", 600_000), parcel("r-2", 600_000), parcel("r-3")])
    assert carried(ours, hub, 0.0) == []
    assert hub.tally.resurrected == 2
    ours.send([parcel("r-4")])
    hub.send([parcel("x")])
    carried(hub, ours, 1.0)
    assert ours.standing.behind == 9
    ours.begin_again(Me(LINK, "agent", "d" * 12, 10))
    assert carried(ours, hub, 1.1) == ["d" * 12, "r-1", "r-2", "r-3", "r-4"]
    assert hub.peer == Peer("d" * 12, 10, 2)
    assert {name.epoch for name in ours.take_refuse()} == {OURS}, "its files of the life before are deleted"
    carried(hub, ours, 3.0)
    assert (ours.in_flight, ours.waiting, ours.standing.behind) == (0, 0, None)


def test_two_sides_that_both_take_each_other_for_older_ones_come_together() -> None:
    agent = Link(Me(LINK, "agent", OURS, 5), Peer("e" * 12, 9, 1), Profile(), 0.0)
    hub = Link(Me(LINK, "hub", "c" * 12, 5), Peer(OTHERS, 9, 1), Profile(), 0.0)
    for side in (agent, hub):
        side.send([hello(side.me), parcel(side.me.side)])
    carried(agent, hub, 0.0)
    carried(hub, agent, 0.0)
    assert (agent.standing.behind, hub.standing.behind) == (9, 9)
    agent.begin_again(Me(LINK, "agent", "1" * 12, 10))
    hub.begin_again(Me(LINK, "hub", "2" * 12, 10))
    assert carried(agent, hub, 0.1) == ["1" * 12, "agent"]
    assert carried(hub, agent, 0.1) == ["2" * 12, "hub"]


def test_the_word_hello_bears_the_epoch_of_its_life() -> None:
    me = Me(LINK, "agent", OURS, 5)
    link = Link(me, Peer(), Profile(), 0.0)
    link.send([hello(me)])
    (first,) = link.outgoing(0.0, 0.0, requests_open=False)
    assert frame_from(first.data, first.name).messages == (Message("hello", OURS),)
