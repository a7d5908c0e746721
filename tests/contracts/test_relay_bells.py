"""One suite for the bells that hear of arrivals: what may wake the driver, and what a replaced folder does to them."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from relay.doorbell import InotifyBell, ObserverBell
from relay.ports import Doorbell

PATIENCE = 20.0  # seconds a busy machine may take; every wait ends as soon as the bell rings
Kinds = [InotifyBell, ObserverBell]


@pytest.fixture(params=Kinds, ids=lambda kind: kind.__name__)
def bell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Doorbell]:
    make: Callable[[Path], Doorbell] = request.param
    (tmp_path / "in").mkdir()
    made = make(tmp_path / "in")
    assert made.listens()
    yield made
    made.close()


def arrive(folder: Path, name: str) -> None:
    """As frames arrive: written elsewhere, renamed into the folder."""
    fresh = folder.parent / name
    fresh.write_text("x", encoding="ascii")
    fresh.rename(folder / name)


def heard(bell: Doorbell) -> bool:
    return any(bell.wait(PATIENCE / 4) for _ in range(4))


def test_an_arrival_ends_the_wait_and_is_told_from_a_mere_ring(bell: Doorbell, tmp_path: Path) -> None:
    bell.ring()
    assert bell.wait(PATIENCE) is False
    arrive(tmp_path / "in", "frame")
    assert heard(bell)


def test_a_ring_before_the_wait_is_not_lost_and_rings_once(bell: Doorbell) -> None:
    bell.ring()
    bell.ring()
    bell.wait(PATIENCE)
    assert bell.wait(0.05) is False


def test_a_folder_made_anew_under_the_bell_is_heard_again(bell: Doorbell, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "in")
    (tmp_path / "in").mkdir()
    assert bell.listens()
    arrive(tmp_path / "in", "frame")
    assert heard(bell)


def test_a_folder_that_is_gone_is_not_listened_to_and_comes_back(bell: Doorbell, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "in")
    assert not bell.listens()
    assert bell.wait(0.05) in (True, False)  # still a wait with an end
    (tmp_path / "in").mkdir()
    assert bell.listens()
    arrive(tmp_path / "in", "frame")
    assert heard(bell)
