"""Names, seals and frames: what is accepted, and that nothing damaged or foreign ever is."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.errors import NotAFrame
from relay.frames import (
    Ack,
    Frame,
    Message,
    ReplyHead,
    RequestHead,
    frame_bytes,
    frame_from,
    head_problem,
    packed,
    packed_parts,
)
from relay.names import MAX_ATTEMPT, MAX_SEQ, AckName, FrameName, frame_name
from relay.parts import Assembly
from relay.profile import FRAME_OVERHEAD, MAX_FRAME_BYTES
from relay.sealing import sealed, unsealed

LINK, EPOCH, PEER = "00112233445566778899aabbccddeeff", "0123456789ab", "ba9876543210"
REQUEST = Message(
    "request",
    "r-1",
    RequestHead("POST", "/a?b=c", [["content-type", "application/json"]]),
    '{"ключ":"значение"}'.encode(),
)
WITHDRAWAL = Message("withdraw", "r-0")
REPLY = Message("reply", "r-1", ReplyHead(200, []), b"\xff\x00binary")


def frame(name: FrameName | AckName, *messages: Message, ack: Ack | None = None, key: bytes | None = None) -> bytes:
    return frame_bytes(
        link=LINK,
        sender="agent",
        epoch=EPOCH,
        life=12,
        name=name,
        low=1,
        ack=ack,
        sent_at=1_790_000_000.123,
        messages=[packed(message) for message in messages],
        key=key,
    )


GOLDEN = {
    "hello": (FrameName(EPOCH, 1, 0), frame(FrameName(EPOCH, 1, 0), Message("hello", EPOCH)), None),
    "request": (FrameName(EPOCH, 2, 0), frame(FrameName(EPOCH, 2, 0), REQUEST, ack=Ack(PEER, 9, 5, [])), None),
    "reply": (FrameName(EPOCH, 3, 1), frame(FrameName(EPOCH, 3, 1), REPLY, ack=Ack(PEER, 9, 6, [])), None),
    "several": (
        FrameName(EPOCH, 4, 0),
        frame(FrameName(EPOCH, 4, 0), REQUEST, REPLY, Message("withdraw", "r-0")),
        None,
    ),
    "ack": (AckName(EPOCH, 7), frame(AckName(EPOCH, 7), ack=Ack(PEER, 9, 6, [4, 5])), None),
    "keyed": (FrameName(EPOCH, 5, 0), frame(FrameName(EPOCH, 5, 0), REQUEST, key=b"k" * 32), b"k" * 32),
}


@pytest.mark.parametrize("which", GOLDEN)
def test_a_frame_reads_back_as_it_was_written(which: str) -> None:
    name, data, key = GOLDEN[which]
    found = frame_from(data, name, key)
    assert found.name == name
    assert (found.link, found.sender, found.life, found.low) == (LINK, "agent", 12, 1)
    if which == "several":
        assert found.messages == (REQUEST, REPLY, WITHDRAWAL)
    assert json.loads(data)["seal"], "any JSON tool can read it"


@pytest.mark.parametrize("which", GOLDEN)
def test_every_truncation_is_refused(which: str) -> None:
    name, data, key = GOLDEN[which]
    for length in range(len(data)):
        with pytest.raises(NotAFrame):
            frame_from(data[:length], name, key)


@pytest.mark.parametrize("which", GOLDEN)
def test_every_single_bit_flip_is_refused(which: str) -> None:
    name, data, key = GOLDEN[which]
    for position in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[position] ^= 1 << bit
            with pytest.raises(NotAFrame):
                frame_from(bytes(changed), name, key)


@pytest.mark.parametrize("which", GOLDEN)
def test_a_tail_of_nul_bytes_and_an_appended_byte_are_refused(which: str) -> None:
    name, data, key = GOLDEN[which]
    for wrong in (data[: len(data) // 2] + b"\0" * (len(data) - len(data) // 2), data + b"\n", b"\0" * len(data), b""):
        with pytest.raises(NotAFrame):
            frame_from(wrong, name, key)


def test_a_copy_under_another_name_is_refused() -> None:
    name, data, _ = GOLDEN["request"]
    for other in (FrameName(EPOCH, 2, 1), FrameName(EPOCH, 3, 0), FrameName(PEER, 2, 0), AckName(EPOCH, 2)):
        with pytest.raises(NotAFrame):
            frame_from(data, other)
    assert frame_from(data, name)


def test_with_a_key_a_plain_seal_counts_for_nothing_and_the_other_way_round() -> None:
    name, data, key = GOLDEN["keyed"]
    with pytest.raises(NotAFrame):
        frame_from(data, name, None)
    with pytest.raises(NotAFrame):
        frame_from(data, name, b"x" * 32)
    plain_name, plain, _ = GOLDEN["request"]
    with pytest.raises(NotAFrame):
        frame_from(plain, plain_name, key)


def content() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(GOLDEN["request"][1])
    del found["seal"]
    return found


NO_BASE64 = {"base64": "*"}
HOSTILE: dict[str, dict[str, Any]] = {
    "another protocol": {"v": 2},
    "a number as text": {"v": "1"},
    "a truth as a number": {"life": True},
    "a fraction as a number": {"seq": 2.5},
    "a number beyond what JSON tools keep": {"life": 2**53},
    "an unknown sender": {"from": "mallory"},
    "no messages": {"messages": None},
}
SENSELESS: dict[str, dict[str, Any]] = {
    "an unknown member": {"extra": 1},
    "a low number that is none": {"low": "1"},
    "an acknowledgement that is none": {"ack": []},
    "an id with a path in it": {"messages": [{"kind": "request", "id": "../../x", "part": [1, 1]}]},
    "a request without its head": {"messages": [{"kind": "request", "id": "x", "part": [1, 1]}]},
    "a part beyond the last": {"messages": [{"kind": "withdraw", "id": "x", "part": [2, 1]}]},
    "a body that is no base64": {
        "messages": [
            {
                "kind": "reply",
                "id": "x",
                "part": [1, 1],
                "head": {"status": 200, "headers": []},
                "body": {"base64": "*"},
            }
        ]
    },
}


@pytest.mark.parametrize("which", HOSTILE)
def test_well_sealed_nonsense_is_refused(which: str) -> None:
    wrong = content() | HOSTILE[which]
    with pytest.raises(NotAFrame):
        frame_from(sealed(json.dumps(wrong)[:-1].encode()), FrameName(EPOCH, 2, 0))


@pytest.mark.parametrize("which", SENSELESS)
def test_a_frame_that_says_who_it_is_is_taken_without_the_messages_that_make_no_sense(which: str) -> None:
    wrong = content() | SENSELESS[which]
    found = frame_from(sealed(json.dumps(wrong)[:-1].encode()), FrameName(EPOCH, 2, 0))
    assert (found.messages, found.malformed, found.life) == ((), 1, 12)
    with pytest.raises(NotAFrame, match="disagree"):
        frame_from(sealed(json.dumps(wrong)[:-1].encode()), FrameName(EPOCH, 3, 0))


def test_of_several_messages_only_the_senseless_one_is_left_out() -> None:
    wrong = content()
    wrong["messages"] = [{"kind": "request", "id": "x", "part": [1, 1]}, *wrong["messages"]]
    found = frame_from(sealed(json.dumps(wrong)[:-1].encode()), FrameName(EPOCH, 2, 0))
    assert (found.messages, found.malformed) == ((REQUEST,), 1)


def test_well_sealed_twins_constants_and_half_surrogates_bring_nothing_and_what_is_no_json_is_refused() -> None:
    text = json.dumps(content())
    for wrong in (
        text.replace('"low": 1', '"low": 1, "low": 2'),
        text.replace('"low": 1', '"low": NaN'),
        text.replace("/a?b=c", "/\\ud800"),
        text.replace('"id": "r-1"', '"id": "\\ud800"'),
    ):
        assert wrong != text
        found = frame_from(sealed(wrong[:-1].encode()), FrameName(EPOCH, 2, 0))
        assert (found.messages, found.malformed) == ((), 1)
    for wrong in (
        text.replace('"low": 1', '"low": ' + "[" * 100_000 + "]" * 100_000),
        text.replace('"low": 1', '"low": ' + "9" * 5_000),
        text.replace('"low": 1', '"low": '),
    ):
        assert wrong != text
        with pytest.raises(NotAFrame):
            frame_from(sealed(wrong[:-1].encode()), FrameName(EPOCH, 2, 0))


@given(st.binary(max_size=300))
def test_whatever_the_bytes_only_declared_errors_come_out(data: bytes) -> None:
    for wrong in (data, sealed(data)):
        try:
            frame_from(wrong, FrameName(EPOCH, 2, 0))
        except NotAFrame:
            continue
        raise AssertionError("accepted")


@given(st.binary(max_size=2_000), st.text(max_size=200))
def test_every_body_comes_through_unchanged(raw: bytes, text: str) -> None:
    for body in (raw, text.encode("utf-8", "replace")):
        message = Message("reply", "x", ReplyHead(200, []), body)
        name = FrameName(EPOCH, 9, 0)
        assert frame_from(frame(name, message), name).messages == (message,)


def test_a_large_body_travels_in_parts_that_each_fit_a_frame() -> None:
    # Control characters grow sixfold as JSON text: the size on the wire decides, not the size of the body.
    for body in (b"\xff" * 3_000_000, b"\x01" * 600_000, b"x" * 1_048_576):
        message = Message("reply", "x", ReplyHead(200, []), body)
        pieces = packed_parts(message)
        assert all(len(piece) <= MAX_FRAME_BYTES - FRAME_OVERHEAD for piece in pieces)
        assembly = Assembly(32 << 20)
        whole = None
        for seq, piece in enumerate(pieces, start=1):
            name = FrameName(EPOCH, seq, 0)
            data = frame_bytes(
                link=LINK, sender="hub", epoch=EPOCH, life=1, name=name, low=1, ack=None, sent_at=0.0, messages=[piece]
            )
            assert len(data) <= MAX_FRAME_BYTES
            (part,) = frame_from(data, name).messages
            assert whole is None
            whole = assembly.whole(part)
        assert whole == message


def test_parts_out_of_turn_or_beyond_the_limit_are_dropped_and_counted() -> None:
    def part(index: int, count: int, body: bytes = b"x") -> Message:
        return Message("reply", "x", ReplyHead(200, []) if index == 1 else None, body, (index, count))

    assembly = Assembly(10)
    assert assembly.whole(part(2, 2)) is None, "its beginning was never seen"
    assert assembly.whole(part(1, 3)) is None
    assert assembly.whole(part(3, 3)) is None
    assert assembly.whole(part(2, 3)) is None
    assert assembly.whole(part(1, 2, b"x" * 8)) is None
    assert assembly.whole(part(2, 2, b"x" * 8)) is None
    assert assembly.broken == 2
    assert assembly.whole(part(1, 2)) is None
    assert assembly.whole(part(1, 2)) is None, "a sender that starts anew is followed"
    whole = assembly.whole(part(2, 2))
    assert whole is not None and whole.body == b"xx"


def test_only_whole_names_of_ours_are_frames() -> None:
    assert frame_name("0123456789ab-00000007-01.json") == FrameName("0123456789ab", 7, 1)
    assert frame_name("0123456789ab-ack-00000007.json") == AckName("0123456789ab", 7)
    tries = (99, 100, MAX_ATTEMPT)
    long = [FrameName("0123456789ab", seq, attempt) for seq in (1, 10**8, MAX_SEQ) for attempt in tries]
    for parsed in (*long, AckName("0123456789ab", 10**8 - 1), AckName("0123456789ab", 10**8)):
        assert frame_name(str(parsed)) == parsed
        assert len(str(parsed)) <= 64
    foreign = [
        ".DS_Store",
        "._0123456789ab-00000007-01.json",
        "0123456789ab-00000007-01.sync-conflict-20261130-120000-ABCDEFG.json",
        "0123456789ab-00000007-01 (copy).json",
        "0123456789ab-00000007-01.json.tmp",
        "0123456789AB-00000007-01.json",
        "0123456789ab-00000007-01.json\n",
        "0123456789ab-٠٠٠٠٠٠٠٧-01.json",
        "0123456789ab-7-1.json",
        "0123456789ab-000000007-01.json",
        "0123456789ab-00000007-001.json",
        "0123456789ab-ack-000000007.json",
        ".nfs0000000000000001",
        ".syncthing.0123456789ab-00000007-01.json.tmp",
        "",
    ]
    assert [name for name in foreign if frame_name(name) is not None] == []


def test_the_seal_is_over_all_raw_bytes_before_it() -> None:
    data = sealed(b'{"a":1')
    assert data == b'{"a":1,"seal":"sha256:' + hashlib.sha256(b'{"a":1').hexdigest().encode() + b'"}\n'
    assert unsealed(data) == b'{"a":1}'


def test_a_frame_is_a_value() -> None:
    name, data, key = GOLDEN["several"]
    assert frame_from(data, name, key) == frame_from(data, name, key)
    assert isinstance(frame_from(data, name, key), Frame)


def test_a_head_the_peer_would_refuse_is_found_before_it_is_sent() -> None:
    fits = [RequestHead("GET", "/ü?x", [["a", "ü"]]), ReplyHead(204, [])]
    assert [head_problem(head) for head in fits] == [None, None]
    wrong = [
        RequestHead("get", "/", []),
        RequestHead("GET", "x", []),
        RequestHead("GET", "/" + "x" * 70_000, []),
        RequestHead("GET", "/\ud800", []),
        ReplyHead(600, []),
        ReplyHead(200, [["a", "b"]] * 300),
        ReplyHead(200, [["a", "\udfff"]]),
    ]
    assert [head for head in wrong if head_problem(head) is None] == []
