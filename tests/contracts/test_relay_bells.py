"""One suite for every bell: what may wake the driver; and what a replaced folder does to those that hear of one."""

import contextlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from relay.doorbell import InotifyBell, ObserverBell, PlainBell, bell_of
from relay.ports import Doorbell
from relay.testing import FaultyShare, Habits, MemoryShare
from tests.simulation.driving import Bell
from tests.simulation.virtual_time import Actor, Time

PATIENCE = 20.0  # seconds a busy machine may take; every wait ends as soon as the bell rings
NAME = "0123456789ab-00000001-00.json"
Hung = tuple[Doorbell, Callable[[], None]]
Kinds = [InotifyBell, ObserverBell]


def arrive(folder: Path, name: str) -> None:
    """As frames arrive: written elsewhere, renamed into the folder."""
    fresh = folder.parent / name
    fresh.write_text("x", encoding="ascii")
    fresh.rename(folder / name)


def heard(bell: Doorbell) -> bool:
    return any(bell.wait(PATIENCE / 4) for _ in range(4))


# --- every bell: one that hangs somewhere, and a way to let a frame arrive there


def at_a_folder(kind: Callable[[Path], Doorbell]) -> Callable[[Path], Hung]:
    def hang(folder: Path) -> Hung:
        bell = kind(folder)
        assert bell.listens()
        return bell, lambda: arrive(folder, "frame")

    return hang


def at_a_share(share: MemoryShare) -> Hung:
    agent = share.view("agent")
    return bell_of(share.view("hub")), lambda: agent.publish(NAME, b"x", durable=False)


def rung_by_hand(_: Path) -> Hung:
    bell = PlainBell()
    return bell, bell.move


def in_the_world(_: Path) -> Hung:
    """The world's bell wakes an actor; its time is the world's, so that its waits are over at once."""
    time = Time()
    world: Any = SimpleNamespace(time=time, share=SimpleNamespace(announces=True))
    bell = Bell(world, Actor("relay", lambda: 0.0, 1e9))
    return bell, bell.move


HUNG: dict[str, Callable[[Path], Hung]] = {
    "inotify": at_a_folder(InotifyBell),
    "watchdog": at_a_folder(ObserverBell),
    "rung by hand": rung_by_hand,
    "share in memory": lambda _: at_a_share(MemoryShare()),
    "share with faults that tells of arrivals": lambda _: at_a_share(FaultyShare(Habits(announces=True))),
    "world": in_the_world,
}


@pytest.fixture(params=HUNG)
def hung(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Hung]:
    (tmp_path / "in").mkdir()
    made = HUNG[request.param](tmp_path / "in")
    yield made
    made[0].close()


def test_an_arrival_ends_the_wait_and_is_told_from_a_mere_ring(hung: Hung) -> None:
    bell, frame_arrives = hung
    bell.ring()
    assert bell.wait(PATIENCE) is False
    frame_arrives()
    assert heard(bell)


def test_a_ring_before_the_wait_is_not_lost_and_rings_once(hung: Hung) -> None:
    bell, _ = hung
    bell.ring()
    bell.ring()
    bell.wait(PATIENCE)
    assert bell.wait(0.05) is False


def test_an_arrival_is_told_once(hung: Hung) -> None:
    bell, frame_arrives = hung
    frame_arrives()
    assert heard(bell)
    while bell.wait(0.05):
        pass  # one arrival may be several events to the system; they end
    assert bell.wait(0.05) is False


@pytest.mark.parametrize("seconds", [0.0, -1.0, -1e9])
def test_a_wait_for_nothing_or_less_is_over_at_once(hung: Hung, seconds: float) -> None:
    bell, _ = hung
    assert bell.wait(seconds) is False


def test_a_ring_from_another_thread_ends_the_wait(hung: Hung) -> None:
    bell, _ = hung
    ringer = threading.Timer(0.05, bell.ring)
    ringer.start()
    assert bell.wait(PATIENCE) is False
    ringer.join(PATIENCE)


def test_a_bell_that_was_closed_may_be_rung_and_closed_again(hung: Hung, tmp_path: Path) -> None:
    bell, _ = hung
    bell.close()
    with contextlib.ExitStack() as stack:  # whatever numbers the system lends next, a late ring writes to none of them
        files = [stack.enter_context((tmp_path / str(number)).open("wb+", buffering=0)) for number in range(5)]
        bell.ring()
        assert [os.fstat(file.fileno()).st_size for file in files] == [0] * 5
    bell.close()


def test_the_worlds_bell_wakes_its_actor_and_no_other() -> None:
    time = Time()
    woken, other = Actor("relay", lambda: 0.0, 1e9), Actor("other", lambda: 0.0, 1e9)
    world: Any = SimpleNamespace(time=time, share=SimpleNamespace(announces=True))
    time.pump(5.0)
    Bell(world, woken).ring()
    assert (woken.due, other.due) == (5.0, 1e9)


# --- the bells that hear of what happens in a folder of the system's


@pytest.fixture(params=Kinds, ids=lambda kind: kind.__name__)
def bell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Doorbell]:
    make: Callable[[Path], Doorbell] = request.param
    (tmp_path / "in").mkdir()
    made = make(tmp_path / "in")
    assert made.listens()
    yield made
    made.close()


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
