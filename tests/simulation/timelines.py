"""The holes of the seeds' protocol as fixed timelines on the simulated world: each row once, step by step."""

import contextlib
import json
import traceback
from collections.abc import Callable
from typing import Any, Final

from tests.simulation.swarm import quiet, world_folder
from tests.simulation.virtual_time import PowerCut
from tests.simulation.world import HOUR, Broken, Plan, World

Timeline = Callable[[World], None]
TIMELINES: Final[list[Timeline]] = []
_PLANS: Final[dict[str, Plan]] = {}


def run_timeline(timeline: Timeline) -> str | None:
    """What broke, or nothing."""
    with world_folder() as folder, quiet():
        world = World(folder, 1, _PLANS[timeline.__name__])
        try:
            timeline(world)
        except Broken as error:
            return str(error)
        except Exception as error:  # noqa: BLE001  # whatever it is, the timeline did not go as it should
            where = traceback.extract_tb(error.__traceback__)[-1]
            return f"{type(error).__name__}: {error} ({where.name}:{where.lineno})"
        finally:
            world.close()
    return None


def timeline(**plan: Any) -> Callable[[Timeline], Timeline]:
    def keep(function: Timeline) -> Timeline:
        _PLANS[function.__name__] = Plan(**{"batch_every": 1e12, **plan})
        TIMELINES.append(function)
        return function

    return keep


def issue(summary: str = "Отчёт", temp_key: str = "new:1", **wishes: Any) -> dict[str, Any]:
    return {"type": "ensure_issue", "temp_key": temp_key, "summary": summary, **wishes}


def fields(key: str = "AURORA-1533", duedate: str = "2026-11-11") -> dict[str, Any]:
    return {"type": "ensure_fields", "key": key, "duedate": duedate}


def created(world: World) -> list[str]:
    return [key for keys in world.witness.created.values() for key in keys]


def must(answer: object, text: str) -> None:
    if not answer:
        raise Broken(text)


@timeline()
def h01_index_lags_and_the_agent_dies_between_post_and_record(world: World) -> None:
    command, _ = world.people.apply(issue())
    world.switch(index_lag_seconds=100.0)
    world.kill_agent_at("http executed", down=1.0)
    world.until(command, "done")
    must(len(created(world)) == 1, f"created {created(world)}")
    world.settle()


@timeline()
def h02_a_post_outlives_its_client_and_is_not_sent_again(world: World) -> None:
    command, _ = world.people.apply(issue())
    world.at_writes.append("slow")
    world.until(command, "done", "failed")
    must(len(created(world)) == 1, f"created {created(world)}")
    world.settle()


@timeline(settle=300.0)
def h03_a_person_retries_while_the_post_is_under_way(world: World) -> None:
    first, _ = world.people.apply(issue())
    world.at_writes.append("slow")
    world.kill_agent_at("journal before", down=1.0)
    world.people.cancel(first, force=True)
    again = world.people.retry(first)["commands"][0]["id"]
    world.until(again, "done", "failed")
    must(len(created(world)) == 1, f"created {created(world)}")
    world.settle()


@timeline()
def h04_more_than_a_week_passes_before_the_rerun(world: World) -> None:
    command, _ = world.people.apply(issue())
    world.kill_agent_at("http executed", down=9 * 86_400.0)
    world.run(9 * 86_400.0)
    world.until(command, "done", "failed")
    must(len(created(world)) == 1, f"created {created(world)}")
    world.settle()


@timeline()
def h05_a_person_renames_the_issue_before_the_rerun(world: World) -> None:
    command, _ = world.people.apply(issue())
    world.kill_agent_at("http executed", down=600.0)
    (key,) = created(world)
    world.people.edit(action="edit", key=key, fields={"summary": "Иначе"})
    world.until(command, "done", "failed")
    must(created(world) == [key], f"created {created(world)}")
    world.settle()


@timeline()
def h06_last_weeks_issue_of_the_same_summary_is_another_wish(world: World) -> None:
    first, _ = world.people.apply(issue())
    world.until(first, "done")
    second, _ = world.people.apply(issue())
    world.until(second, "done")
    must(len(created(world)) == 2, f"created {created(world)}, two were wished for")
    world.settle()


@timeline()
def h07_h09_claims_pile_up_while_the_hub_sleeps(world: World) -> None:
    world.run(60.0)
    world.hub.down_seconds = HOUR
    world.hub.stop()
    world.start_later(world.hub)
    world.run(HOUR + 5.0)
    ids = world.people.apply(*(fields(duedate=f"2026-11-{day:02d}") for day in range(10, 14)))
    for command in ids:
        world.until(command, "done", "failed")
    must([world.command(one)["deliveries"] for one in ids] == [1] * len(ids), "a claim of the night was counted")
    world.settle()


@timeline()
def h10_the_hub_dies_between_commit_and_reply(world: World) -> None:
    world.run(60.0)
    process = world.hub.process
    assert process is not None
    process.dies_when = lambda point: point == "hub COMMIT after" and bool(world.commands())
    world.hub.down_seconds = 30.0
    with contextlib.suppress(PowerCut):
        world.people.apply(fields())
    deaths: list[float] = []

    def die_at_the_claim() -> None:
        second = world.hub.process
        assert second is not None
        second.dies_when = lambda point: point == "hub COMMIT after" and world.status(1) == "claimed"
        world.when(lambda: world.hub.process is None, lambda: deaths.append(world.time.now))

    world.when(lambda: world.hub.lives == 2, die_at_the_claim)
    world.run_until(lambda: bool(deaths))
    world.until(1, "done")
    must(world.command(1)["deliveries"] == 1, "the claim was counted twice")
    world.settle()


@timeline()
def h11_a_consumed_file_comes_back_and_a_second_relay_reads_it(world: World) -> None:
    world.weather.ordered += ["resurrected"] * 6
    first, _ = world.people.apply(fields())
    world.run(40.0)
    world.hub.start_relay("relay2")
    second, _ = world.people.apply(fields(duedate="2026-11-12"))
    for command in (first, second):
        world.until(command, "done")
    must(world.command(second)["deliveries"] <= 2, "delivered too often")
    world.run(900.0)
    world.settle()


@timeline()
def h12_the_reply_to_an_earlier_life_does_not_run_an_old_command(world: World) -> None:
    first, _ = world.people.apply(fields())
    world.share.hooks.append(_delay_replies(world, 90.0, times=2))
    world.run_until(lambda: world.status(first) == "claimed")
    for _ in range(2):
        world.agent.process.die()  # type: ignore[union-attr]  # it runs
        world.run(30.0)
    world.people.cancel(first, force=True)
    world.run(600.0)
    must(not [call for call in world.witness.calls if call.writes], "the cancelled command was executed")
    world.settle()


def _delay_replies(world: World, seconds: float, *, times: int) -> Callable[[Any, str], None]:
    left = [times]

    def hook(reader: str, name: str) -> None:
        if reader == "agent" and left[0] and "-ack-" not in name:
            left[0] -= 1
            world.weather.ordered.append("late")

    return hook


@timeline()
def h13_the_journal_is_lost_and_the_created_key_is_not_forgotten(world: World) -> None:
    command, _ = world.people.apply(issue())
    world.kill_agent_at("http executed", down=600.0)
    world.agent.lose_disk()
    world.run(700.0)
    world.people.look_after()
    world.until(command, "done")
    must(len(created(world)) == 1, f"created {created(world)}")
    world.settle()


@timeline()
def h14_a_person_cancels_with_force_during_the_pause(world: World) -> None:
    world.people.apply(fields())
    second = world.people.apply(fields(duedate="2026-11-12"))[0]
    world.until(second, "claimed")
    before = len(world.witness.calls)
    world.people.cancel(second, force=True)
    world.run(600.0)
    mine = [call for call in world.witness.calls[before:] if call.writes]
    must(not mine, f"the cancelled command wrote: {mine}")
    world.settle()


@timeline(settle=300.0)
def h15_a_late_post_of_a_cancelled_creation_is_known_to_the_hub(world: World) -> None:
    command, _ = world.people.apply(issue())
    world.at_writes.append("slow")
    world.kill_agent_at("journal before", down=1.0)
    world.people.cancel(command, force=True)
    world.run(HOUR)
    must(len(created(world)) == 1, f"created {created(world)}")
    world.settle()


@timeline()
def h16_h17_two_agents_of_one_link_do_not_both_create(world: World) -> None:
    world.run(30.0)
    world.fate.bring("second agent")
    command, _ = world.people.apply(issue())
    world.run(HOUR)
    world.people.adopt()
    world.until(command, "done", "failed")
    must(len(created(world)) == 1, f"created {created(world)}")
    world.settle()


@timeline()
def h18_a_restored_hub_does_not_do_again_what_was_done(world: World) -> None:
    command, _ = world.people.apply(issue())
    image = world.hub.backup()
    world.until(command, "done")
    restored(world, image)
    world.run(600.0)
    must(len(created(world)) == 1, f"created {created(world)} without a person's word")
    world.settle()


def restored(world: World, image: bytes) -> None:
    """The hub comes back on an earlier copy of its database."""
    world.hub.down_seconds = 10.0
    world.hub.stop()
    world.hub.restore(image)
    world.restores += 1
    world.witness.hub_restored()
    world.start_later(world.hub)
    world.run(15.0)


@timeline()
def h19_the_key_of_a_creation_unknown_to_a_restored_hub_is_kept(world: World) -> None:
    image = world.hub.backup()
    command, _ = world.people.apply(issue())
    world.kill_agent_at("http after", down=60.0)
    del command
    restored(world, image)
    world.run(HOUR)
    orphans = world.agent.folder / "orphans.jsonl"
    must(orphans.exists(), "what was in hand is told nowhere")
    world.settle()


@timeline()
def h20_a_restored_hub_gives_no_id_twice(world: World) -> None:
    image = world.hub.backup()
    first, _ = world.people.apply(fields())
    world.until(first, "done")
    restored(world, image)
    second = world.people.apply(fields(duedate="2026-11-12"))[0]
    must(second != first, f"{first} was given twice")
    world.settle()


@timeline()
def h21_a_creation_cancelled_at_recovery_is_looked_up(world: World) -> None:
    command, _ = world.people.apply(issue())
    world.kill_agent_at("http executed", down=60.0)
    world.people.cancel(command, force=True)
    world.run(HOUR)
    result = json.loads(world.command(command)["result"] or "{}")
    must(result.get("key") == created(world)[0], f"the hub knows {result}")
    world.settle()


@timeline()
def l01_a_command_that_kills_the_agent_does_not_hold_the_queue(world: World) -> None:
    first, _ = world.people.apply(fields())
    for _ in range(3):
        world.run_until(lambda: world.agent.process is not None)
        process = world.agent.process
        assert process is not None
        process.dies_when = lambda point: point == "http before" and world.witness.in_hand_of(first)
        world.agent.down_seconds = 1.0
        world.run_until(lambda: world.agent.process is None)
    world.until(first, "failed")
    must("3 раза" in world.command(first)["error"], world.command(first)["error"])
    world.settle()


@timeline()
def l02_a_command_the_hub_does_not_know_is_closed(world: World) -> None:
    image = world.hub.backup()
    world.people.apply(fields())
    world.kill_agent_at("http before", down=60.0, writing=False)
    restored(world, image)
    second = world.people.apply(fields(duedate="2026-11-12"))[0]
    world.until(second, "done")
    world.settle()
