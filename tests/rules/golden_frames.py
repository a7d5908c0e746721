"""Golden frames: one of each sort, byte for byte as they have always been, and the keys that open them."""

from dataclasses import dataclass

from relay.frames import Ack, Message, ReplyHead, RequestHead, frame_bytes, hidden, packed, packed_parts
from relay.keying import PairingKey, link_keys
from relay.names import AckName, AnyName, FrameName
from relay.ports import Cipher
from relay.secrecy import ChaChaCipher

LINK, EPOCH, PEER = "00112233445566778899aabbccddeeff", "0123456789ab", "ba9876543210"
AGENT, HUB = (link_keys(PairingKey(bytes(range(32)), hides=True), LINK, side) for side in ("agent", "hub"))
WRITING = ChaChaCipher(AGENT.hide_own, AGENT.hide_peer, lambda count: bytes(range(count)))
READING = ChaChaCipher(HUB.hide_own, HUB.hide_peer, lambda count: bytes(range(count)))
REQUEST = Message("request", "r-1", RequestHead("POST", "/a?b=c", [["x-ключ", "значение"]]), '{"a":"б"}'.encode())
REPLY = Message("reply", "r-0", ReplyHead(200, [["content-type", "text/plain"]]), b"\xff\x00 binary")
REFUSAL = Message("reply", "r-2", ReplyHead(508, [], "delivery_limit"), b"{}")
WITHDRAWAL = Message("withdraw", "r-3")
HELLO = Message("hello", EPOCH)


@dataclass(frozen=True)
class Golden:
    """One frame, where it was found, and what proves it."""

    name: AnyName
    data: bytes
    messages: tuple[Message, ...]
    key: bytes | None = None
    cipher: Cipher | None = None


def golden(
    name: AnyName, *messages: Message, ack: Ack | None = None, keyed: bool = False, hides: bool = False, part: int = 0
) -> Golden:
    pieces = [packed_parts(messages[0])[part - 1]] if part else [packed(message) for message in messages]
    data = frame_bytes(
        link=LINK,
        sender="agent",
        epoch=EPOCH,
        life=12,
        name=name,
        low=1,
        ack=ack,
        sent_at=1_790_000_000.123,
        messages=[hidden(piece, WRITING) for piece in pieces] if hides else pieces,
        key=AGENT.seal_own if keyed else None,
    )
    return Golden(name, data, () if part else messages, HUB.seal_peer if keyed else None, READING if hides else None)


GOLDEN = {
    "hello": golden(FrameName(EPOCH, 1, 0), HELLO),
    "request": golden(FrameName(EPOCH, 2, 0), REQUEST, ack=Ack(PEER, 9, 5, [])),
    "reply": golden(FrameName(EPOCH, 3, 1), REPLY, ack=Ack(PEER, 9, 6, [])),
    "refusal": golden(FrameName(EPOCH, 4, 99), REFUSAL),
    "withdrawal": golden(FrameName(EPOCH, 5, 0), WITHDRAWAL, ack=Ack(PEER, 9, 6, [7])),
    "several": golden(FrameName(EPOCH, 99_999_999, 0), REQUEST, REPLY, WITHDRAWAL),
    "ack": golden(AckName(EPOCH, 7), ack=Ack(PEER, 9, 6, [])),
    "ack that wants": golden(AckName(EPOCH, 8), ack=Ack(PEER, 9, 6, [7, 9, 12])),
    "keyed request": golden(FrameName(EPOCH, 6, 0), REQUEST, ack=Ack(PEER, 9, 5, []), keyed=True),
    "keyed ack": golden(AckName(EPOCH, 9), ack=Ack(PEER, 9, 6, []), keyed=True),
    "hidden request": golden(FrameName(EPOCH, 8, 0), REQUEST, keyed=True, hides=True),
    "hidden reply": golden(FrameName(EPOCH, 9, 2), REPLY, WITHDRAWAL, keyed=True, hides=True),
}
# A large body is cut; of the parts the last is short enough to be looked at bit by bit.
LARGE = Message("request", "r-9", RequestHead("PUT", "/large", []), bytes(700_000) + b"the end")
GOLDEN["last part"] = golden(FrameName(EPOCH, 10, 0), LARGE, part=2)
