"""Pairing: keys as people type them, seals by direction, the ratchet over restarts, hidden messages."""

import base64
import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from relay import AlreadyPaired, Client, KeyUnreadable, PeerOffline, Profile, Reply, Request, Server, create_link
from relay.cli import app
from relay.clock import random_bytes
from relay.errors import NotAFrame
from relay.folder import LocalFolder
from relay.frames import Message, RequestHead, frame_from, hidden, packed
from relay.keying import PairingKey, key_from, key_text, link_keys
from relay.link import Parcel
from relay.names import FrameName, frame_name
from relay.pairing import new_key_text, read_key, store_key
from relay.profile import FRAME_OVERHEAD, MAX_FRAME_BYTES
from relay.secrecy import ChaChaCipher
from tests.contracts.test_relay_exchange import until
from tests.rules.test_relay_frames import frame

QUICK = Profile(resend_seconds=0.2, retry_seconds=0.05)
LINK = "00112233445566778899aabbccddeeff"


def echo(request: Request) -> Reply:
    return Reply(200, {"x-path": request.path}, request.body)


@given(secret=st.binary(min_size=32, max_size=32), hides=st.booleans())
def test_a_key_reads_back_however_it_was_typed(secret: bytes, hides: bool) -> None:
    key = PairingKey(secret, hides)
    text = key_text(key)
    assert [len(group) for group in text.split("-")] == [4] * 14
    for typed in (text, text.upper(), text.replace("-", " ") + "\n", text.replace("-", "").replace("o", "0")):
        assert key_from(typed) == key


@given(position=st.integers(0, 55), letter=st.sampled_from("abcdefghijklmnopqrstuvwxyz234567"))
def test_a_mistyped_key_is_told_from_a_wrong_one_and_never_repeated(position: int, letter: str) -> None:
    text = key_text(PairingKey(bytes(range(32)))).replace("-", "")
    wrong = text[:position] + letter + text[position + 1 :]
    if wrong == text:
        return
    with pytest.raises(KeyUnreadable) as error:
        key_from(wrong)
    assert wrong not in str(error.value)


@pytest.mark.parametrize("text", ["", "a" * 56, "a" * 55, "?" * 56, "ж" * 56])
def test_what_is_no_key_is_refused_as_one(text: str) -> None:
    with pytest.raises(KeyUnreadable):
        key_from(text)


def test_each_direction_link_and_purpose_has_a_key_of_its_own() -> None:
    key = PairingKey(b"k" * 32)
    hub, agent, other = link_keys(key, LINK, "hub"), link_keys(key, LINK, "agent"), link_keys(key, LINK[::-1], "hub")
    assert (hub.seal_own, hub.hide_own) == (agent.seal_peer, agent.hide_peer)
    assert (hub.seal_peer, hub.hide_peer) == (agent.seal_own, agent.hide_own)
    assert len({hub.seal_own, hub.seal_peer, hub.hide_own, hub.hide_peer, other.seal_own, key.secret}) == 6
    assert hub.fingerprint == agent.fingerprint != other.fingerprint


def test_the_derivation_is_hkdf_of_rfc_5869() -> None:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    theirs = HKDF(SHA256(), 32, salt=LINK.encode(), info=b"folder-relay seal to-agent").derive(b"k" * 32)
    assert link_keys(PairingKey(b"k" * 32), LINK, "hub").seal_own == theirs


# --- hidden messages

CIPHERS = (ChaChaCipher(b"a" * 32, b"b" * 32, random_bytes), ChaChaCipher(b"b" * 32, b"a" * 32, random_bytes))
NAME = FrameName("0123456789ab", 3, 0)


@given(body=st.binary(max_size=2_000), text=st.text(max_size=50))
def test_a_hidden_message_is_shown_to_the_other_side_alone(body: bytes, text: str) -> None:
    header = text.encode("utf-8", "ignore").decode()
    message = Message("request", "r-1", RequestHead("POST", "/secret-path", [["x", header]]), body)
    wire = hidden(packed(message), CIPHERS[0])
    assert b"secret-path" not in wire
    data = frame_of(wire)
    assert frame_from(data, NAME, None, CIPHERS[1]).messages == (message,)
    for blind in (None, CIPHERS[0]):
        found = frame_from(data, NAME, None, blind)
        assert (found.messages, found.malformed) == ((), 1)
    assert frame_of(hidden(packed(message), CIPHERS[0])) != data, "nothing is hidden twice alike"


def frame_of(wire: bytes) -> bytes:
    plain = frame(NAME, Message("hello", "x"))
    from relay.sealing import sealed, unsealed

    return sealed(unsealed(plain)[:-1].replace(packed(Message("hello", "x")), wire))


def test_what_was_hidden_for_one_message_never_passes_for_another() -> None:
    text = CIPHERS[0].hide(b"null\nbody", "request r-1 1 1")
    assert CIPHERS[1].show(text, "request r-1 1 1") == b"null\nbody"
    for context in ("request r-2 1 1", "reply r-1 1 1", "request r-1 1 2"):
        with pytest.raises(NotAFrame):
            CIPHERS[1].show(text, context)
    for short in (0, 10, 27, 30):
        with pytest.raises(NotAFrame):
            CIPHERS[1].show(base64.b64encode(base64.b64decode(text)[:short]).decode(), "request r-1 1 1")


@pytest.mark.parametrize("body", [os.urandom(700_000), b"\x01" * 700_000, b"x" * 700_000])
def test_the_largest_part_fits_into_a_frame_when_hidden_too(body: bytes) -> None:
    from relay.parts import parcels_of

    head = RequestHead("POST", "/" + "p" * 30_000, [["x", "я" * 15_000]])
    for parcel in parcels_of(Message("request", "i" * 128, head, body)):
        assert isinstance(parcel, Parcel)
        assert len(hidden(parcel.data, CIPHERS[0])) <= MAX_FRAME_BYTES - FRAME_OVERHEAD


# --- two sides


class Sides:
    """One link on a disk, with a state folder for each side."""

    def __init__(self, root: Path) -> None:
        self.folder, self.states = root / "main", {"hub": root / "s", "agent": root / "c"}
        create_link(self.folder, "main")

    def pair(self, side: Any, text: str, **more: Any) -> Path:
        return store_key(self.folder, text, side=side, state_dir=self.states[side], **more)

    def server(self) -> Server:
        return Server(self.folder, echo, state_dir=self.states["hub"], profile=QUICK)

    def client(self) -> Client:
        return Client(self.folder, state_dir=self.states["agent"], profile=QUICK)


@pytest.fixture
def sides(tmp_path: Path) -> Sides:
    return Sides(tmp_path)


@pytest.mark.parametrize("hides", [False, True])
def test_paired_sides_talk_and_every_frame_bears_the_seal_of_its_direction(sides: Sides, hides: bool) -> None:
    text = new_key_text(hides=hides)
    for side in sides.states:
        path = sides.pair(side, text)
        assert path.stat().st_mode & 0o777 == 0o600
    beacon = LocalFolder(sides.folder, "hub").beacon()
    seen: list[bytes] = []
    with sides.server() as server, sides.client() as client:
        for number in range(20):
            body = b"canary-in-the-body" * 100_000 if number == 19 else b"canary-in-the-body"
            assert client.call("POST", "/canary-in-the-path", body, timeout=60).body == body
            for path in sides.folder.glob("to-*/*.json"):
                with contextlib.suppress(FileNotFoundError):  # its sender deletes it once it has served
                    seen.append(path.read_bytes())
        assert (client.status().paired, server.status().paired) == (True, True)
    assert seen
    assert all(b'"seal":"hmac-sha256:' in data[-100:] for data in seen)
    assert any(b"canary" in data for data in seen) is not hides
    assert text.encode() not in b"".join([*seen, beacon])


def test_once_paired_a_side_refuses_frames_without_the_key_for_ever(sides: Sides) -> None:
    text = new_key_text()
    with sides.server(), sides.client() as client:
        assert client.call("GET", "/").status == 200
    sides.pair("hub", text)
    for _ in range(2):  # over restarts of the side that is paired
        with sides.server() as server, sides.client() as client:
            with pytest.raises(PeerOffline, match="pairing key"):
                client.call("GET", "/", timeout=1.0)
            until(lambda: server.status().counters["downgraded"] > 0)
            assert server.status().counters["requests"] == 0
            assert client.status().counters["keyed"] > 0
    sides.pair("agent", text)
    with sides.server(), sides.client() as client:
        assert client.call("GET", "/").status == 200
    (sides.states["hub"] / key_folder(sides, "hub") / "key").unlink()
    with pytest.raises(KeyUnreadable, match="is gone"):
        sides.server().start()


def key_folder(sides: Sides, side: str) -> str:
    (folder,) = (path.name for path in sides.states[side].iterdir())
    return folder


def test_another_key_than_the_other_sides_opens_nothing(sides: Sides) -> None:
    sides.pair("hub", new_key_text())
    sides.pair("agent", new_key_text())
    with sides.server() as server, sides.client() as client:
        with pytest.raises(PeerOffline):
            client.call("GET", "/", timeout=1.0)
        assert server.status().counters["requests"] == 0


def test_a_key_is_replaced_on_purpose_only_and_read_by_its_owner_alone(sides: Sides) -> None:
    first, second = new_key_text(), new_key_text()
    path = sides.pair("hub", first)
    with pytest.raises(AlreadyPaired):
        sides.pair("hub", second)
    assert key_text(read_key(path)) == first
    sides.pair("hub", second, again=True)
    assert key_text(read_key(path)) == second
    path.chmod(0o644)
    with pytest.raises(KeyUnreadable, match="chmod 600"):
        sides.server().start()


def test_a_key_may_stand_in_a_file_named_by_the_program(sides: Sides, tmp_path: Path) -> None:
    text = new_key_text()
    sides.pair("hub", text)
    file = tmp_path / "the-key"
    file.touch(mode=0o600)
    file.write_text(text)
    with (
        sides.server(),
        Client(sides.folder, state_dir=sides.states["agent"], profile=QUICK, key_file=file) as client,
    ):
        assert client.call("GET", "/").status == 200
    with pytest.raises(KeyUnreadable, match="is gone"):
        sides.client()


def test_old_unsealed_frames_of_this_side_are_cleared_away_after_pairing(sides: Sides) -> None:
    with sides.client() as client:
        until(lambda: client.status().counters["published"] == 1)
    (old,) = (sides.folder / "to-hub").glob("*.json")
    sides.pair("agent", new_key_text())
    with sides.client():
        until(lambda: not old.exists())


def test_pairing_from_the_command_line(sides: Sides) -> None:
    run: Callable[..., Any] = CliRunner().invoke
    made = run(app, ["pair", str(sides.folder), "--side", "hub", "--state", str(sides.states["hub"]), "--encrypt"])
    assert made.exit_code == 0
    text = made.stdout.strip()
    assert key_from(text).hides
    there = ["pair", str(sides.folder), "--side", "agent", "--state", str(sides.states["agent"]), "--typed"]
    assert run(app, there, input=text.upper() + "\n").exit_code == 0
    with sides.server(), sides.client() as client:
        assert client.call("GET", "/").status == 200
        assert "sealed with the pairing key" in run(app, ["ls", str(sides.folder)]).stdout
    stored = sqlite3.connect(sides.states["hub"] / key_folder(sides, "hub") / "state.sqlite")
    assert [row[0] for row in stored.execute("SELECT value FROM memory WHERE name = 'paired'")] != []
    stored.close()
    assert frame_name("link.json") is None
