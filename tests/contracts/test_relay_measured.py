"""The stored profile at work: waits and scans fit the share, unsafe durability is refused; guesses and free space."""

import os
from pathlib import Path
from typing import Any

import pytest

from relay import Client, Profile, Reply, Request, Server, UnsafeDurability, create_link
from relay.errors import ShareFault
from relay.folder import LocalFolder, link_of
from relay.measured import Measured, fitting_profile, measured_of, store_measured
from relay.state import state_folder
from relay.testing import FaultyShare, Habits
from tests.contracts.test_relay_exchange import until

NAME = "0123456789ab-00000001-00.json"


def echo(request: Request) -> Reply:
    return Reply(200, {}, request.body)


def test_what_was_not_measured_again_stays_known(tmp_path: Path) -> None:
    assert measured_of(tmp_path) is None
    store_measured(tmp_path, Measured("yesterday", "fuse.sshfs", None, 20.0, 0.0, events=False))
    merged = store_measured(tmp_path, Measured("today", "fuse.sshfs"))
    assert merged == measured_of(tmp_path) == Measured("today", "fuse.sshfs", None, 20.0, 0.0, events=False)
    (tmp_path / "profile.json").write_bytes(b"\0" * 30)
    assert measured_of(tmp_path) is None


def test_the_profile_follows_what_was_measured() -> None:
    plain = Profile()
    assert fitting_profile(plain, None) == fitting_profile(plain, Measured()) == plain
    slow = fitting_profile(plain, Measured(visibility_seconds=20.0))
    assert (slow.resend_after, slow.offline_seconds) == (60.0, 200.0)
    assert fitting_profile(plain, Measured(sync_tool="syncthing")).scan_limit_seconds == 2.0
    assert fitting_profile(plain, Measured(negative_seconds=30.0)).guess_seconds == float("inf")
    assert fitting_profile(plain, Measured(negative_seconds=0.1)).guess_seconds == 30.0


@pytest.mark.parametrize("found", [Measured(file_system="9p"), Measured(unsynced_readable=False)])
def test_durability_none_is_refused_where_files_need_fsync_to_be_seen(tmp_path: Path, found: Measured) -> None:
    folder = tmp_path / "main"
    create_link(folder, "main")
    store_measured(state_folder(tmp_path / "s", link_of(folder), "hub"), found)
    with pytest.raises(UnsafeDurability, match="durability full"):
        Server(folder, echo, state_dir=tmp_path / "s", durability="none").start()
    with Server(folder, echo, state_dir=tmp_path / "s", durability="full"):
        pass


def test_a_side_works_by_the_stored_profile_unless_the_program_brings_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "main"
    create_link(folder, "main")
    store_measured(state_folder(tmp_path / "c", link_of(folder), "agent"), Measured(visibility_seconds=5.0))
    with Client(folder, state_dir=tmp_path / "c") as client:
        assert client._driver.profile.resend_after == 15.0
    with Client(folder, state_dir=tmp_path / "c", profile=Profile()) as client:
        assert client._driver.profile.resend_after == 2.0


def test_an_overdue_answer_is_opened_by_its_name_where_the_listing_lags(tmp_path: Path) -> None:
    # The answer never shows in the listing; opening it works, as on sshfs.
    share = FaultyShare(Habits(), pace=1.0)
    profile = Profile(resend_seconds=60.0, guess_seconds=0.3, retry_seconds=0.02)
    settings: dict[str, Any] = {"profile": profile, "clock": share.clock}
    agent = share.view("agent")
    shown: list[str] = []
    listed = agent.arrivals

    def blind() -> list[str]:
        return listed() if len(shown) == 0 else [name for name in listed() if name in shown]

    agent.arrivals = blind  # type: ignore[method-assign]  # a listing that lags without end
    with (
        Server(share.view("hub"), echo, state_dir=tmp_path / "s", **settings),
        Client(agent, state_dir=tmp_path / "c", **settings) as client,
    ):
        assert client.call("GET", "/", timeout=20).status == 200
        until(lambda: client.status().in_flight == 0)
        shown.extend(listed() or ["nothing"])
        assert client.call("GET", "/", b"guessed", timeout=20).body == b"guessed"
        assert client.status().counters["guessed"] > 0


def test_nothing_is_guessed_while_answers_come_in_time_or_nobody_waits(tmp_path: Path) -> None:
    create_link(tmp_path / "main", "main")
    with (
        Server(tmp_path / "main", echo, state_dir=tmp_path / "s") as server,
        Client(tmp_path / "main", state_dir=tmp_path / "c") as client,
    ):
        for _ in range(20):
            client.call("GET", "/")
        assert (client.status().counters["guessed"], server.status().counters["guessed"]) == (0, 0)


def test_nothing_is_written_on_a_share_without_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create_link(tmp_path / "main", "main")
    agent = LocalFolder(tmp_path / "main", "agent")
    real = os.statvfs(tmp_path)

    class Full:
        f_blocks, f_bavail, f_frsize = real.f_blocks, 10, 4096

    monkeypatch.setattr(os, "statvfs", lambda _: Full)
    with pytest.raises(ShareFault) as fault:
        agent.publish(NAME, b"x", durable=True)
    assert (fault.value.state, fault.value.name_used, agent.own()) == ("full", False, [])
    monkeypatch.undo()
    agent.publish(NAME, b"x", durable=True)
    assert agent.own() == [NAME]
