"""One seed as a diagram that a person can read: `python -m tests.simulation.replay SEED`, time running downwards."""

import argparse
from typing import Final

from tests.simulation.swarm import STORM, STORM_SECONDS, plan_of, quiet, stops_at, world_folder
from tests.simulation.witness import Told
from tests.simulation.world import World

COLUMNS: Final = ("person", "hub", "agent", "Jira")
WIDTH: Final = 24


def line_of(told: Told) -> str:
    """One line: who says what to whom, or what happens to him."""
    text = told.text if len(told.text) <= 90 else f"{told.text[:89]}…"
    who = "agent" if told.who == "clone" else told.who
    whom = "agent" if told.whom == "clone" else told.whom
    note = " (the clone)" if "clone" in (told.who, told.whom) else ""
    if who not in COLUMNS:
        return f"{told.at:11.2f}  {'*' * (WIDTH * 3 + 8)} {who}: {text}"
    row = ["|".ljust(WIDTH)] * len(COLUMNS)
    start = COLUMNS.index(who)
    if whom in COLUMNS and whom != who:
        end = COLUMNS.index(whom)
        low, high = min(start, end), max(start, end)
        shaft = "-" * (WIDTH * (high - low) - 2)
        drawn = "".join("|".ljust(WIDTH) for _ in range(low))
        drawn += f"|{shaft}>|" if end > start else f"|<{shaft}|"
        drawn = drawn.ljust(WIDTH * (len(COLUMNS) - 1) + 1)
        return f"{told.at:11.2f}  {drawn} {text}{note}"
    row[start] = "o".ljust(WIDTH)
    return f"{told.at:11.2f}  {''.join(row).rstrip().ljust(WIDTH * (len(COLUMNS) - 1) + 1)} {who} {text}{note}"


def main() -> None:
    """Run the seed once more and tell what happened, up to the promise that broke, if one did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("--claims", action="store_true", help="show the claims that found nothing too")
    parser.add_argument("--stopped", action="store_true", help="the faults stop at the seed's random moment")
    parser.add_argument("--storm", action="store_true", help="the plan STORM instead of the seed's own")
    given = parser.parse_args()
    plan, seconds = (STORM, STORM_SECONDS) if given.storm else plan_of(given.seed)
    if given.stopped:
        seconds = stops_at(given.seed)
    with world_folder() as folder, quiet():
        world = World(folder, given.seed, plan)
        failure = ""
        try:
            world.run(seconds)
            world.told("world", "the faults stop; everything has to come to rest")
            world.settle()
        except Exception as error:  # noqa: BLE001  # what broke is told at the end of what led to it
            failure = f"{type(error).__name__}: {error}"
        print(f"seed {given.seed}: {plan}\n")
        print(" " * 13 + "".join(name.ljust(WIDTH) for name in COLUMNS))
        for told in world.witness.chronicle:
            if given.claims or not (told.text.startswith(("POST claim", "204 "))):
                print(line_of(told))
        print(f"\n{failure or 'every promise held'}\nhash {world.digest()}")
        world.close()


if __name__ == "__main__":
    main()
