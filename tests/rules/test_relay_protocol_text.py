"""The frame shown in PROTOCOL.md is a frame, and its numbers are those of the code."""

import re
from pathlib import Path

from relay.frames import MAX_HEAD_BYTES, frame_from
from relay.names import FrameName
from relay.profile import MAX_FRAME_BYTES, Profile

TEXT = (Path(__file__).resolve().parents[2] / "protocol" / "PROTOCOL.md").read_text(encoding="utf-8")


def test_the_golden_example_reads_back() -> None:
    (example,) = [line for line in TEXT.splitlines() if line.startswith('{"v":1,"link"')]
    frame = frame_from(example.encode() + b"\n", FrameName("5a1c0f3e9b72", 7, 0))
    (message,) = frame.messages
    assert (message.kind, message.body, frame.low) == ("request", b'{"agent_version":3}', 7)


def test_the_numbers_of_the_text_are_those_of_the_code() -> None:
    profile = Profile()
    text = re.sub(r"\s+", " ", TEXT)
    assert "A frame has at most 1 MiB" in text and MAX_FRAME_BYTES == 1 << 20
    assert "32 MiB at most, heads 64 KiB" in text
    assert (profile.max_message_bytes, MAX_HEAD_BYTES) == (32 << 20, 64 << 10)
    assert f"At most {profile.window} frames wait" in text
    assert f"max({profile.resend_seconds:g} s, 3 × the visibility delay)" in text
    assert f"up to {profile.resend_limit_seconds:g} s" in text
    assert f"every {profile.heartbeat_seconds:g} s" in text
