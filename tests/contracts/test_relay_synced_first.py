"""What is told to the other side is on the local disk before: the order of syncs and publications, on real files."""

import os
from pathlib import Path

import pytest

from relay import Client, Reply, Request, Server, create_link


def test_a_reply_is_published_only_after_the_memory_of_it_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, order = tmp_path / "main", []
    create_link(link, "main")
    sync, rename = os.fdatasync, os.rename

    def noting_sync(descriptor: int) -> None:
        sync(descriptor)
        order.append("synced " + os.path.realpath(f"/proc/self/fd/{descriptor}").split("/")[-2][:8])

    def noting_rename(source: str, target: str) -> None:
        if b'"kind":"reply"' in Path(source).read_bytes():
            order.append("reply")
        rename(source, target)

    def answer(request: Request) -> Reply:
        order.append("handler")
        return Reply(200, {}, request.body)

    monkeypatch.setattr("relay.state._DATASYNC", noting_sync)
    monkeypatch.setattr("relay.folder.os.rename", noting_rename)
    with Server(link, answer, state_dir=tmp_path), Client(link, state_dir=tmp_path) as client:
        for _ in range(3):
            order.clear()
            assert client.call("POST", "/", b"x").body == b"x"
            told = [each for each in order if each != "synced main-age"]
            assert told[told.index("handler") :] == ["handler", "synced main-hub", "reply"]
