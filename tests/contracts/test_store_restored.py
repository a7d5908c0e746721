"""A database restored from a copy, or put there from elsewhere: found out at the start, nothing of it runs twice."""

import json
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hub.backup import FolderBackups
from hub.config import load_settings
from hub.errors import Refusal
from hub.mark import MarkFile
from hub.restoring import Mark, Standing, is_restored
from hub.service import Service
from hub.store.connection import Database
from hub.upkeep import restore_home
from protocol.messages import ClaimRequest, Report
from relay.clock import SystemIds
from tests.faces.small_hub import creation, fields
from tests.simulation.clock import SimulatedClock

AGENT = ClaimRequest(agent_version=3, session="s1", host="vm")
CLOCK = SimulatedClock()


@contextmanager
def started(home: Path) -> Iterator[Service]:
    """The hub of a home as `serve` puts it together, but for network and relay."""
    path = home / "hub.sqlite"
    with closing(Database(path)) as database, closing(MarkFile(home / "hub.mark")) as marks:
        backups = FolderBackups(path, home / "backups", CLOCK)
        yield Service(database, clock=CLOCK, ids=SystemIds(), backups=backups, marks=marks)


def claim(service: Service) -> dict[str, Any] | None:
    answer = service.claim("main", AGENT)
    assert answer is not None
    return json.loads(answer.body) if answer.status == 200 else None


def report(service: Service, command_id: int, result: dict[str, Any] | None = None) -> int:
    said = Report(status="done", result=result or {})
    try:
        return service.report("main", command_id, said).status
    except Refusal as refusal:
        return refusal.status


@pytest.fixture
def restored(tmp_path: Path) -> Path:
    """The copy: command 1 with the agent, 3 and 4 queued. Lost since: what became of them, and batch 3."""
    with started(tmp_path) as service:
        service.create_batch("main", "anna", "one", [fields("AURORA-1")])
        service.create_batch("main", "anna", "two", [fields("AURORA-2")])
        claim(service)
        copy = service.backups.make("by-hand") if service.backups else Path()
        report(service, 1)
        service.create_batch("main", "anna", "three", [creation()])
        while (delivery := claim(service)) is not None:
            report(service, delivery["id"], {"missing": []} if delivery["type"] == "refresh" else {"key": "AURORA-9"})
    shutil.copy(copy, tmp_path / "hub.sqlite")
    return tmp_path


def test_the_start_finds_it_out_and_hands_out_nothing_but_the_reading_of_the_mirror(restored: Path) -> None:
    with started(restored) as service:
        assert service.taken_over is not None
        assert service.taken_over.held == 4
        delivery = claim(service)
        assert delivery is not None
        assert (delivery["type"], set(delivery["params"]["keys"])) == ("refresh", {"AURORA-1", "AURORA-2"})
        assert delivery["id"] > 1_000_000
        assert not delivery["restored"]
        assert [service.command("main", number)["status"] for number in (1, 2, 3, 4)] == ["claimed", *["queued"] * 3]
        report(service, delivery["id"], {"missing": ["AURORA-1", "AURORA-2"]})
        assert claim(service) is None


def test_a_person_lets_a_batch_go_on_once_the_mirror_was_read(restored: Path) -> None:
    with started(restored) as service:
        with pytest.raises(Refusal, match="read anew first"):
            service.approve_batch("main", 1)
        delivery = claim(service)
        assert delivery is not None
        report(service, delivery["id"], {"missing": ["AURORA-1", "AURORA-2"]})
        service.approve_batch("main", 1)
        again = claim(service)
        assert again is not None
        assert (again["id"], again["delivery"], again["restored"]) == (1, 2, True)
        assert service.command("main", 3)["held"]


def test_a_restored_creation_is_as_old_as_its_batch(tmp_path: Path) -> None:
    """A copy of nine days ago: what came of the command then must not fall out of the agent's search (H4)."""
    with started(tmp_path) as service:
        service.create_batch("main", "anna", "one", [creation()])
        copy = service.backups.make("by-hand") if service.backups else Path()
        claim(service)
    CLOCK.sleep(9 * 86_400.0)
    shutil.copy(copy, tmp_path / "hub.sqlite")
    with started(tmp_path) as service:
        service.approve_batch("main", 1)
        delivery = claim(service)
        assert delivery is not None
        assert (delivery["delivery"], delivery["restored"], delivery["age_seconds"]) == (1, True, 9 * 86_400.0)


def test_a_claimed_command_that_the_mirror_shows_done_needs_nobody(restored: Path) -> None:
    CLOCK.sleep(1)
    with started(restored) as service:
        delivery = claim(service)
        assert delivery is not None
        shown = {"key": "AURORA-1", "summary": "x", "status": "Открыта", "duedate": "2026-10-23"}
        report(service, delivery["id"], {"issues": [shown], "missing": ["AURORA-2"]})
        assert service.command("main", 1)["status"] == "confirmed_by_state"


def test_a_report_on_a_lost_command_finds_no_new_one_under_its_id(restored: Path) -> None:
    with started(restored) as service:
        lost = [report(service, number, {"key": "AURORA-9"}) for number in (5, 6)]
        assert lost == [404, 404]
        made = json.loads(service.create_batch("main", "anna", "four", [creation()]).body)
        assert min(command["id"] for command in made["commands"]) > 1_000_000
        assert [report(service, number, {"key": "AURORA-9"}) for number in (5, 6)] == [404, 404]
        assert report(service, 1) == 200  # the agent's word on what the copy still knows is its own


def test_the_epoch_is_a_new_one_and_so_is_what_marks_new_issues(restored: Path) -> None:
    old = MarkFile(restored / "hub.mark").read()
    assert old is not None
    with started(restored) as service:
        assert service.epoch != old.epoch
        assert MarkFile(restored / "hub.mark").read() == Mark(service.epoch, service.newest_event())


def test_it_is_taken_over_once(restored: Path) -> None:
    with started(restored) as service:
        epoch = service.epoch
    with started(restored) as service:
        assert (service.taken_over, service.epoch) == (None, epoch)


def test_a_base_from_elsewhere_is_held_too(restored: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    with started(elsewhere) as service:
        for number in range(9):
            service.create_batch("main", "anna", "theirs", [fields(f"AURORA-{number + 1}")])
    shutil.copy(elsewhere / "hub.sqlite", restored / "hub.sqlite")
    with started(restored) as service:
        assert service.taken_over is not None
        assert service.taken_over.held == 18


def test_a_restoring_cut_short_after_the_copy_stands_is_ended_by_the_next_start(
    restored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with started(restored) as service:
        assert service.backups is not None
        copy = service.backups.make("newest")  # nothing is lost: by its events alone nobody would find it out

    class PowerCut(BaseException):
        pass

    def cut(*_: object, **__: object) -> None:
        raise PowerCut

    monkeypatch.setattr("hub.upkeep.Service", cut)
    with pytest.raises(PowerCut):
        restore_home(load_settings(restored), copy, CLOCK, SystemIds())
    with started(restored) as service:
        assert service.taken_over is not None


@pytest.mark.parametrize("how", ["stopped", "no mark", "a mark nobody can read"])
def test_a_database_that_is_the_hubs_own_goes_on(tmp_path: Path, how: str) -> None:
    with started(tmp_path) as service:
        service.create_batch("main", "anna", "one", [fields("AURORA-1")])
    if how == "no mark":
        (tmp_path / "hub.mark").unlink()
    elif how != "stopped":
        (tmp_path / "hub.mark").write_text("nonsense")
    with started(tmp_path) as service:
        assert service.taken_over is None
        assert claim(service) is not None
        assert MarkFile(tmp_path / "hub.mark").read() == Mark(service.epoch, service.newest_event())


@pytest.mark.parametrize(
    ("mark", "standing", "answer"),
    [
        (None, Standing("a", 0), False),
        (Mark("a", 5), Standing("a", 5), False),
        (Mark("a", 5), Standing("a", 7), False),
        (Mark("a", 5), Standing("a", 4), True),
        (Mark("a", 5), Standing("b", 9), True),
        (Mark("a", 5), Standing("b", 3, ("a",)), False),
        (Mark("a", 5, restored=True), Standing("a", 9), True),
    ],
)
def test_what_is_a_restored_database(mark: Mark | None, standing: Standing, answer: bool) -> None:
    assert is_restored(mark, standing) is answer
