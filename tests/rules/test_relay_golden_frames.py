"""T7: no damage to a golden frame is ever accepted; and its bytes stay what they were, for peers of another release."""

import hashlib

import pytest

from relay.beacon import beacon_bytes, beacon_from
from relay.errors import NotAFrame
from relay.frames import frame_from
from relay.names import FrameName
from relay.sealing import unsealed
from tests.promised import Covered
from tests.rules.golden_frames import AGENT, EPOCH, GOLDEN, LINK

DIGESTS = {
    "hello": "2a1ab97e91317b21",
    "request": "1e173bb03db3e255",
    "reply": "1dd3212baf3a7bdd",
    "refusal": "d92aa6189d6d23b0",
    "withdrawal": "ddb187e6740d4510",
    "several": "9fac9fff50e0c644",
    "ack": "dee71a01293d0eec",
    "ack that wants": "dd1757661699e214",
    "keyed request": "6864103858f521fc",
    "keyed ack": "2d475b9995bb0833",
    "hidden request": "d9feb79cf438dd93",
    "hidden reply": "974595ae3af96cc4",
    "last part": "49ba1707ff240796",
}


def refused(data: bytes, which: str) -> bool:
    found = GOLDEN[which]
    try:
        frame_from(data, found.name, found.key, found.cipher)
    except NotAFrame:
        return True
    return False


def test_there_are_ten_and_more() -> None:
    assert len(GOLDEN) >= 10


@pytest.mark.parametrize("which", GOLDEN)
def test_a_golden_frame_reads_back_and_is_byte_for_byte_what_it_was(which: str) -> None:
    found = GOLDEN[which]
    frame = frame_from(found.data, found.name, found.key, found.cipher)
    assert (frame.name, frame.malformed) == (found.name, 0)
    if found.messages:
        assert frame.messages == found.messages
    assert hashlib.sha256(found.data).hexdigest()[:16] == DIGESTS[which]


@pytest.mark.part("T7")
@pytest.mark.parametrize("which", GOLDEN)
def test_no_truncation_is_accepted(which: str, covered: Covered) -> None:
    data = GOLDEN[which].data
    assert [length for length in range(len(data)) if not refused(data[:length], which)] == []
    covered("T7", len(data))


@pytest.mark.part("T7")
@pytest.mark.parametrize("which", GOLDEN)
def test_no_single_bit_flip_is_accepted(which: str, covered: Covered) -> None:
    data = bytearray(GOLDEN[which].data)
    accepted = []
    for position in range(len(data)):
        for bit in range(8):
            data[position] ^= 1 << bit
            if not refused(bytes(data), which):
                accepted.append((position, bit))
            data[position] ^= 1 << bit
    assert accepted == []
    covered("T7", 8 * len(data))


@pytest.mark.parametrize("which", GOLDEN)
def test_nothing_appended_put_before_or_zeroed_is_accepted(which: str) -> None:
    data = GOLDEN[which].data
    blocks = [data[:start] + bytes(64) + data[start + 64 :] for start in range(0, len(data), 64)]
    swapped = [data[start + 32 : start + 64] + data[start : start + 32] for start in range(0, len(data) - 64, 64)]
    shuffled = [data[: n * 64] + block + data[n * 64 + 64 :] for n, block in enumerate(swapped)]
    for changed in (data + b"\n", data + b"\0", b" " + data, data * 2, data[:-1] + b" ", *blocks, *shuffled):
        assert changed == data or refused(changed, which)


@pytest.mark.parametrize("which", GOLDEN)
def test_no_frame_is_accepted_under_another_key_name_or_direction(which: str) -> None:
    found = GOLDEN[which]
    for key in (None, b"x" * 32, AGENT.seal_peer, b""):
        if key != found.key:
            with pytest.raises(NotAFrame):
                frame_from(found.data, found.name, key, found.cipher)
    with pytest.raises(NotAFrame):
        frame_from(found.data, FrameName(EPOCH, 77, 0), found.key, found.cipher)


def test_no_damage_to_a_beacon_is_accepted() -> None:
    data = beacon_bytes(LINK, "main")
    assert beacon_from(data).link == LINK
    for length in range(len(data)):
        with pytest.raises(NotAFrame):
            beacon_from(data[:length])
    for position in range(len(data)):
        for bit in range(8):
            with pytest.raises(NotAFrame):
                unsealed(data[:position] + bytes([data[position] ^ 1 << bit]) + data[position + 1 :])
