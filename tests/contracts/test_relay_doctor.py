"""The doctor alone and in company, on good and bad shares; fsck before and after; the small bench."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from relay import AlreadyRunning, Client, Profile, Reply, Server, create_link
from relay.cli import app
from relay.clock import SystemClock, SystemIds
from relay.doctor import examine
from relay.folder import LocalFolder, link_of
from relay.fsck import inspect
from relay.measured import measured_of
from relay.probe import Probe
from relay.state import state_folder
from tests.contracts.shares.faults import Faults
from tests.contracts.shares.mounts import FaultMount
from tests.contracts.test_relay_exchange import until

run: Callable[..., Any] = CliRunner().invoke
CLOCK = SystemClock()
ALONE = {
    "beacon",
    "local state",
    "reading",
    "writing",
    "file system",
    "rename",
    "rename over",
    "exclusive creation",
    "hard links",
    "upper and lower case",
    "accents in names",
    "length of names",
    "modification times",
    "fsync of files",
    "fsync of folders",
    "listing",
    "free space",
    "profile",
}
TOGETHER = {
    "there and back",
    "events of the other side",
    "a new file",
    "a deleted file",
    "names looked up early",
    "files without fsync",
    "locks",
}


@pytest.fixture
def link(tmp_path: Path) -> Path:
    create_link(tmp_path / "main", "main")
    return tmp_path / "main"


def by_name(found: list[Probe]) -> dict[str, Probe]:
    return {probe.name: probe for probe in found}


def examined(folders: dict[Any, Path], root: Path, patience: float = 30.0) -> dict[str, dict[str, Probe]]:
    """Both doctors at once, each at its own view of the share."""
    found: dict[str, dict[str, Probe]] = {}

    def doctor(side: Any) -> None:
        found[side] = by_name(
            examine(
                folders[side],
                side,
                state_dir=root / f"state-{side}",
                clock=CLOCK,
                ids=SystemIds(),
                with_peer=True,
                patience_seconds=patience,
            )
        )

    threads = [threading.Thread(target=doctor, args=(side,)) for side in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return found


def test_a_lone_doctor_finds_a_local_disk_in_order_and_leaves_nothing_behind(link: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    said = run(app, ["doctor", str(link), "--side", "hub", "--state", str(tmp_path / "s"), "--json"])
    assert said.exit_code == 0, said.output
    probes = json.loads(said.stdout)
    assert {probe["name"] for probe in probes} == ALONE
    assert [probe for probe in probes if probe["state"] == "fail"] == []
    assert all(probe["todo"] for probe in probes if probe["state"] == "warn")
    assert sorted(path for path in tmp_path.rglob("*") if (tmp_path / "s") not in (path, *path.parents)) == before
    assert "ok    beacon: link main" in run(app, ["doctor", str(link), "--side", "agent"]).stdout


def test_where_no_link_is_the_doctor_says_what_to_do(tmp_path: Path) -> None:
    said = run(app, ["doctor", str(tmp_path), "--side", "hub", "--state", str(tmp_path / "s")])
    assert said.exit_code == 1
    assert "folder-relay init" in said.stdout
    assert list(tmp_path.iterdir()) == []


def test_two_doctors_measure_what_only_two_can(link: Path, tmp_path: Path) -> None:
    (link / "doctor-hub").mkdir()
    (link / "doctor-hub" / "0123456789ab-hello.json").write_bytes(b"{}")  # a doctor that was killed once
    found = examined({"hub": link, "agent": link}, tmp_path)
    for side in ("hub", "agent"):
        assert found[side].keys() == ALONE | TOGETHER
        assert [probe for probe in found[side].values() if probe.state == "fail"] == []
        measured = measured_of(state_folder(tmp_path / f"state-{side}", link_of(link), side))  # type: ignore[arg-type]  # a side's name
        assert measured is not None
        assert (measured.events, measured.unsynced_readable) == (True, True)
        assert measured.visibility_seconds is not None
        assert 0 < measured.visibility_seconds < 20
    assert sorted(path.name for path in link.iterdir()) == [".stignore", "link.json", "to-agent", "to-hub"]


def test_a_doctor_whose_peer_never_comes_says_so_and_stores_nothing(link: Path, tmp_path: Path) -> None:
    found = by_name(
        examine(link, "hub", state_dir=tmp_path, clock=CLOCK, ids=SystemIds(), with_peer=True, patience_seconds=0.2)
    )
    assert found["the other side"].state == "fail"
    assert "--peer on the other machine" in found["the other side"].seen
    assert "profile" not in found


def test_a_share_that_lags_and_announces_nothing_is_seen_through(tmp_path: Path) -> None:
    backing = tmp_path / "backing"
    backing.mkdir()
    create_link(backing / "main", "main")
    with FaultMount(backing, tmp_path / "point") as mount:
        mount.set(
            Faults(
                delay=(0.15, 0.15), negative_seconds=0.5, errors={"link": ("EPERM", 1.0), "fsyncdir": ("EINVAL", 1.0)}
            )
        )
        folders = {"hub": backing / "main", "agent": tmp_path / "point" / "main"}
        found = examined(folders, tmp_path)
    agent = found["agent"]
    assert agent["events of the other side"].seen.startswith("do not arrive")
    measured = measured_of(state_folder(tmp_path / "state-agent", link_of(backing / "main"), "agent"))
    assert measured is not None
    assert measured.visibility_seconds is not None
    assert measured.visibility_seconds >= 0.15
    assert measured.events is False
    assert measured.file_system.startswith("fuse")
    assert found["hub"]["names looked up early"].state == "ok"
    assert agent.keys() == ALONE | TOGETHER


def test_probes_that_the_share_refuses_fail_with_its_words_and_the_others_go_on(tmp_path: Path) -> None:
    backing = tmp_path / "backing"
    backing.mkdir()
    create_link(backing / "main", "main")
    with FaultMount(backing, tmp_path / "point") as mount:
        mount.set(Faults(errors={"rename": ("EACCES", 1.0), "fsync": ("EIO", 1.0)}))
        found = by_name(
            examine(tmp_path / "point" / "main", "agent", state_dir=tmp_path / "s", clock=CLOCK, ids=SystemIds())
        )
    assert (found["rename"].state, found["fsync of files"].state) == ("fail", "fail")
    assert found["rename"].todo
    assert found["listing"].state == "ok"


# --- fsck


def traffic(link: Path, root: Path) -> None:
    profile = Profile(resend_seconds=0.2)
    with (
        Server(link, lambda _: Reply(), state_dir=root / "s", profile=profile) as server,
        Client(link, state_dir=root / "c", profile=profile) as client,
    ):
        for _ in range(3):
            client.call("GET", "/")
        with pytest.raises(AlreadyRunning):
            inspect(link, "hub", state_dir=root / "s", clock=CLOCK, repair=False)
        assert server.status().share == "ok"
        until(lambda: client.status().in_flight == 0)


def test_fsck_shows_what_lies_about_and_changes_nothing_unless_told(link: Path, tmp_path: Path) -> None:
    traffic(link, tmp_path)
    with Client(link, state_dir=tmp_path / "c"):
        pass  # leaves its hello, which nobody takes
    (link / "to-hub" / ".tmp" / "left").write_bytes(b"by a crash")
    (link / "to-hub" / "0123456789ab-00000001-00.json").write_bytes(b"{}")
    (link / "to-hub" / ".DS_Store").write_bytes(b"x")
    (link / "notes.txt").write_bytes(b"a person's")
    quarantine = next((tmp_path / "c").iterdir()) / "quarantine"
    quarantine.mkdir()
    (quarantine / "0123456789ab-00000002-00.json").write_bytes(b"damaged")
    before = {path: path.read_bytes() for path in link.rglob("*") if path.is_file()}

    arguments = ["fsck", str(link), "--side", "agent", "--state", str(tmp_path / "c")]
    said = run(app, arguments)
    assert said.exit_code == 0, said.output
    assert "1 frames of earlier lives, 2 files not provably ours" in said.stdout
    assert "temporary files: 1 left by crashes" in said.stdout
    assert "quarantine: 1 copies" in said.stdout
    assert "notes.txt" in said.stdout
    assert {path: path.read_bytes() for path in link.rglob("*") if path.is_file()} == before

    assert run(app, [*arguments, "--repair"]).exit_code == 0
    left = sorted(path.name for path in (link / "to-hub").rglob("*") if path.is_file())
    assert left == [".DS_Store", "0123456789ab-00000001-00.json"], "what is not provably ours stays"
    assert (link / "notes.txt").exists()
    assert list(quarantine.iterdir()) == []


def test_fsck_of_the_reader_sorts_what_waits_what_is_missing_and_what_is_no_frame(link: Path, tmp_path: Path) -> None:
    traffic(link, tmp_path)
    client = Client(link, state_dir=tmp_path / "c", profile=Profile(window=4))
    until(lambda: client.status().counters["published"] == 1)
    (hello,) = (name for name in LocalFolder(link, "hub").arrivals() if "-ack-" not in name)
    found = by_name(inspect(link, "hub", state_dir=tmp_path / "s", clock=CLOCK, repair=False))
    assert "0 frames of earlier lives" in found["own folder"].seen or found["own folder"].state == "ok"
    assert found["incoming"].state == "ok"
    client.close()
    (link / "to-hub" / hello.replace("-00000001-", "-00000009-")).write_bytes(b"\0" * 99)
    found = by_name(inspect(link, "hub", state_dir=tmp_path / "s", clock=CLOCK, repair=False))
    assert found["damaged"].state == "warn"
    assert "1 files" in found["damaged"].seen


def test_the_small_bench_measures_the_share_it_is_given(link: Path) -> None:
    said = run(app, ["bench", str(link), "--alone", "--calls", "5", "--callers", "2", "--durability", "none"])
    assert said.exit_code == 0, said.output
    assert "round trip of 1 KiB: median" in said.stdout
    assert "2 callers at once" in said.stdout
