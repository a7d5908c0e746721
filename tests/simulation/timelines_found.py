"""More fixed timelines: the promises one by one, and every bug that the random worlds found."""

import sqlite3

from agent.serve import names_cache
from relay.frames import Side
from tests.simulation.agent_machine import AgentMachine
from tests.simulation.hub_machine import HubMachine
from tests.simulation.timelines import HOUR, World, created, fields, issue, must, restored, timeline


@timeline()
def pacing_over_a_crash_a_clock_jump_and_a_reboot(world: World) -> None:
    ids = world.people.apply(*(fields(duedate=f"2026-11-{day:02d}") for day in range(10, 13)))
    for jump, machine in ((-HOUR, False), (HOUR, True), (0.0, True)):
        world.agent.cut_whole_machine = machine
        world.kill_agent_at("http executed", down=2.0, writing=False)
        world.agent.machine.jump(jump)
        world.run(10.0)
    for command in ids:
        world.until(command, "done")
    world.settle()


@timeline()
def torn_line_of_the_journal_does_not_take_the_next_one_along(world: World) -> None:
    first, _ = world.people.apply(issue())
    for point in ("journal inside", "journal inside", "http executed"):
        world.kill_agent_at(point, down=1.0, writing=point == "http executed")
        world.run(2.0)
    world.until(first, "done", "failed")
    must(len(created(world)) == 1, f"created {created(world)}")
    world.settle()


@timeline()
def bit_flips_in_frames_are_seen(world: World) -> None:
    world.weather.ordered += ["bit flip", "nul tail", "truncated"] * 6
    first, _ = world.people.apply(fields())
    world.until(first, "done")
    world.settle()


@timeline()
def an_unwell_hub_is_asked_anew_and_not_for_ever_under_one_id(world: World) -> None:
    world.run(60.0)
    ill = [3]

    def refuse(word: str) -> None:
        if ill[0] and word == "BEGIN " and world.agent.busy:
            ill[0] -= 1
            raise sqlite3.OperationalError("disk I/O error")

    world.hub.database.cut.before = refuse
    world.run(300.0)
    first, _ = world.people.apply(fields())
    world.until(first, "done", seconds=HOUR)
    ill[0] = 1
    second, _ = world.people.apply(fields(duedate="2026-11-12"))
    world.until(second, "done", seconds=HOUR)
    world.settle()


@timeline()
def a_doubtful_file_that_nobody_wants_any_more_lets_the_driver_sleep(world: World) -> None:
    world.run(60.0)
    turns = world.time.turns
    world.weather.ordered += ["truncated", "truncated"]
    world.run(30.0)
    for side in ("hub", "agent"):
        world.share.stale[side] = list(world.share.shown[side])  # type: ignore[index]  # a side
    world.run(120.0)
    world.share.heal()
    must(world.time.turns - turns < 3_000, f"{world.time.turns - turns} turns in 150 s")
    world.settle()


@timeline()
def each_kind_of_command_is_done_in_a_calm_world(world: World) -> None:
    ids = world.people.apply(
        issue(),
        fields("new:1"),
        {"type": "ensure_comment", "key": "AURORA-1533", "marker": "plan:1", "body": "текст"},
        {"type": "ensure_status", "key": "AURORA-1533", "target": ["Разработка", "Готово"]},
        {"type": "ensure_link", "source": "new:1", "target": "AURORA-1537", "link_type": "связанные", "replace": False},
        {"type": "ensure_sprint", "key": "AURORA-1533", "sprint": "Спринт 2"},
    )
    world.run_until(lambda: world.status(ids[-1]) == "done")
    must([world.status(one) for one in ids] == ["done"] * len(ids), "not all are done")
    world.settle()


@timeline()
def p04_an_agent_lost_at_each_delivery_ends_the_command_after_three(world: World) -> None:
    first, _ = world.people.apply(fields())
    second = world.people.apply(fields(duedate="2026-11-12"))[0]
    for delivery in (1, 2, 3):
        world.run_until(lambda delivery=delivery: world.command(first)["deliveries"] == delivery)
        world.run(30.0)
        assert world.agent.process is not None
        world.agent.down_seconds = 5.0
        world.agent.process.die()
        world.run(1.0)
        world.agent.lose_disk()
        world.run(60.0)
        world.people.adopt()
    world.until(second, "claimed", "done")
    row = world.command(first)
    must((row["status"], row["deliveries"]) == ("failed", 3), f"{row['status']} after {row['deliveries']} deliveries")
    world.settle()


@timeline()
def p03_a_torn_record_of_a_call_costs_a_whole_gap(world: World) -> None:
    first, _ = world.people.apply(fields())
    world.run_until(lambda: world.status(first) == "claimed")
    process = world.agent.process
    assert process is not None
    world.agent.down_seconds = 1.0
    process.dies_when = lambda point: point == "journal inside" and world.witness.calls[-1].command_id == first
    world.run_until(lambda: world.agent.lives == 2)
    world.until(first, "done")
    world.settle()


@timeline()
def p03_too_many_requests_are_waited_for(world: World) -> None:
    first, _ = world.people.apply(fields())
    world.at_writes.append("rate limit")
    world.weather.ordered.append("rate limit")
    world.until(first, "done")
    world.settle()


@timeline()
def p14_dependants_of_a_cancelled_creation_are_skipped_at_once(world: World) -> None:
    world.hub.service.change_settings("main", {"paused": True})
    ids = world.people.apply(issue(), fields("new:1"))
    world.people.cancel(ids[0])
    world.judge_now()
    must(world.status(ids[1]) == "skipped", "a dependant waits for nothing")
    world.settle()


@timeline()
def h17_a_clone_is_refused_while_the_agent_works(world: World) -> None:
    command, _ = world.people.apply(issue())
    world.run_until(lambda: world.status(command) == "claimed")
    world.fate.bring("second agent")
    world.run(HOUR)
    world.settle()


@timeline()
def p12_a_lost_frame_is_published_again_within_seconds(world: World) -> None:
    frames = [0]

    def lose_every_third(reader: str, name: str) -> None:
        if "-ack-" not in name:
            frames[0] += 1
            if frames[0] % 3 == 0:
                world.weather.ordered.append("lost")

    world.share.hooks.append(lose_every_third)
    ids = world.people.apply(*(fields(duedate=f"2026-11-{day}") for day in (11, 12, 13)))
    began = world.time.now
    world.until(ids[-1], "done")
    must(world.time.now - began < 420.0, f"{world.time.now - began:.0f} s for three commands and a reading")
    world.settle()


@timeline()
def p07_a_frame_that_comes_back_is_not_served_again(world: World) -> None:
    back = [0]

    def resurrect(reader: str, name: str) -> None:
        if reader == "hub" and "-ack-" not in name and back[0] < 40:
            back[0] += 1
            data = world.share.files["hub"][name]
            world.time.at(world.time.now + 45.0, lambda: world.share.resurrect("hub", name, data))

    world.share.hooks.append(resurrect)
    ids = world.people.apply(fields(), fields("AURORA-1534"), fields("AURORA-1537"))
    world.until(ids[-1], "done")
    must(all(world.command(one)["deliveries"] == 1 for one in ids), "served again")
    world.run(300.0)
    world.settle()


@timeline()
def p07_a_frame_of_an_earlier_life_is_not_served_again(world: World) -> None:
    kept: dict[str, bytes] = {}
    world.share.hooks.append(lambda reader, name: kept.update({name: world.share.files["hub"].get(name, b"")}))
    first, _ = world.people.apply(fields())
    world.until(first, "done")
    assert world.agent.process is not None
    world.agent.process.die()
    world.run(60.0)
    ids = world.people.apply(fields("AURORA-1534"), fields("AURORA-1537"))
    for name, data in kept.items():
        if data:
            world.share.resurrect("hub", name, data)
    world.run(1.0)
    world.until(ids[-1], "done")
    must(all(world.command(one)["deliveries"] == 1 for one in ids), "an old claim was served")
    world.settle()


@timeline()
def p12_a_reboot_does_not_make_the_agent_wait_for_an_older_boots_clock(world: World) -> None:
    first, _ = world.people.apply(fields())
    world.run(6 * HOUR)
    second, _ = world.people.apply(fields(duedate="2026-11-12"))
    world.run_until(lambda: world.status(second) == "claimed")
    world.agent.cut_whole_machine = True
    world.kill_agent_at("http after", down=2.0, writing=False)
    world.until(second, "done", seconds=HOUR)
    must(world.status(first) == "done", "the first one is not done")
    world.settle()


@timeline()
def p12_a_side_begun_on_another_device_opens_the_right_one_once_it_is_back(world: World) -> None:
    first, second, third = world.people.apply(fields(), fields("AURORA-1534"))
    world.until(first, "done")
    sides: tuple[tuple[Side, HubMachine | AgentMachine], ...] = (("hub", world.hub), ("agent", world.agent))
    for side, machine in sides:
        machine.stop()
        world.share.other_device[side] = True
        machine.start()
        world.run(120.0)
        world.share.other_device[side] = False
        world.run(300.0)
        assert world.agent.process is not None
        must(world.agent.client.status().peer_online, f"{side} stays with the other device")
    world.until(second, "done")
    world.until(third, "done")
    world.settle()


@timeline()
def p12_a_link_that_was_heard_on_is_waited_for_whatever_stands_in_its_place(world: World) -> None:
    first, second, _ = world.people.apply(fields(), fields("AURORA-1534"))
    world.until(first, "done")
    life = world.agent.client.status().life
    world.share.other_device["agent"] = True
    world.run(900.0)
    must(world.agent.client.status().share == "foreign", "the agent took the other device for its own")
    world.share.other_device["agent"] = False
    world.until(second, "done")
    must(world.agent.client.status().life == life, "another life was begun")
    world.settle()


@timeline()
def p03_a_probe_for_a_command_that_has_not_called_yet_keeps_its_gap(world: World) -> None:
    first, second, _ = world.people.apply(fields(), fields("AURORA-1534"))
    world.until(first, "done")
    world.run_until(lambda: world.status(second) == "claimed")
    names_cache(world.agent.journal_path).unlink()
    world.agent.stop()
    world.weather.ordered.append("refused")
    world.agent.start()
    world.until(second, "done", seconds=HOUR)
    world.settle()


@timeline()
def h05_a_person_renames_the_issue_before_the_retry_of_a_cancelled_creation(world: World) -> None:
    first, _ = world.people.apply(issue())
    world.kill_agent_at("http executed", down=600.0)
    (key,) = created(world)
    world.people.edit(action="edit", key=key, fields={"summary": "Иначе"})
    world.people.cancel(first, force=True)
    world.agent.lose_disk()
    world.run(700.0)
    again = world.people.retry(first)["commands"][0]["id"]
    world.people.look_after()
    world.until(again, "done", "failed")
    must(created(world) == [key], f"created {created(world)}")
    world.settle()


@timeline()
def h05_the_hubs_clock_is_set_back_before_the_rerun_of_a_renamed_creation(world: World) -> None:
    command, _ = world.people.apply(issue())
    world.kill_agent_at("http executed", down=HOUR)
    (key,) = created(world)
    world.people.edit(action="edit", key=key, fields={"summary": "Иначе"})
    world.agent.lose_journal()
    world.hub.machine.jump(-2 * HOUR)
    world.run(HOUR + 60.0)
    world.people.adopt()
    world.until(command, "done", "failed")
    must(created(world) == [key], f"created {created(world)}")
    world.settle()


@timeline()
def h18_a_restored_hub_and_an_agent_on_an_empty_disk_find_the_renamed_issue(world: World) -> None:
    command, _ = world.people.apply(issue())
    image = world.hub.backup()
    world.until(command, "done")
    (key,) = created(world)
    world.people.edit(action="edit", key=key, fields={"summary": "Иначе"})
    world.agent.stop()
    world.agent.lose_disk()
    restored(world, image)
    world.agent.start()
    world.run(600.0)
    world.people.look_after()
    world.until(command, "done", "failed")
    must(created(world) == [key], f"created {created(world)}")
    world.settle()
