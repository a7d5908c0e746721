"""What strikes a simulated world by itself: when, and how it is undone."""

from typing import TYPE_CHECKING, Final

from protocol.messages import TERMINAL
from relay.frames import Side
from tests.simulation.agent_machine import AgentMachine
from tests.simulation.faults import HOURLY
from tests.simulation.share import FOREIGN_NAMES

if TYPE_CHECKING:
    from tests.simulation.world import World

SIDES: Final[tuple[Side, Side]] = ("hub", "agent")
OUTAGES: Final = (5.0, 60.0, 600.0, 3_600.0)
DOWN: Final = (1.0, 20.0, 120.0, 900.0)
POINTS_AHEAD: Final = (0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89)
SECOND_HOST: Final = "vm-clone"


class Fate:
    """Strikes as often as `faults.HOURLY` says, times `intensity`."""

    def __init__(self, world: "World", intensity: float) -> None:
        self._world, self._intensity = world, intensity
        self._kinds = [kind for kind in HOURLY if kind in world.weather.faults]
        self._rate = sum(HOURLY[kind] for kind in self._kinds) * intensity / 3_600.0
        self._stopped = False
        if self._kinds:
            self._next()

    def stop(self) -> None:
        self._stopped = True

    def _next(self) -> None:
        self._world.time.at(self._world.time.now + self._world.weather.chance.expovariate(self._rate), self._strike)

    def _strike(self) -> None:
        if self._stopped:
            return
        kind = self._world.weather.chance.choices(self._kinds, [HOURLY[kind] for kind in self._kinds])[0]
        self._next()
        self.bring(kind)

    def bring(self, kind: str) -> None:
        """Let it happen now, if it can."""
        meets = {str(row["status"]) for row in self._world.commands()} - TERMINAL
        if self._happens(kind):
            self._world.weather.note(kind)
            self._world.told("fate", kind)
            self._world.witness.fault_states.update((kind, status) for status in meets)

    def _happens(self, kind: str) -> bool:
        world = self._world
        match kind:
            case "stale listing" | "share gone" | "share full" | "share read-only" | "other device" | "foreign names":
                return self._share(kind)
            case "agent power cut" | "agent machine cut" | "agent restart" | "agent hangs":
                return self._agent(kind)
            case "hub power cut" | "hub restart" | "relay state lost" | "database restored" | "second relay":
                return self._hub(kind)
            case "journal lost" | "agent disk lost" | "second agent":
                return self._agent_disk(kind)
            case "index lag" | "maintenance" | "log-in page" | "token expired" | "anonymous":
                return self._jira(kind)
            case "person edits" | "person renames" | "person deletes" | "person moves":
                return world.people.edit_something(kind)
            case "clock jump":
                machine = world.weather.chance.choice((world.hub.machine, world.agent.machine))
                jump = world.weather.chance.choice((-7_200.0, -3_600.0, -60.0, -5.0, 5.0, 60.0, 3_600.0, 86_400.0))
                machine.jump(jump)
                world.told(machine.name, f"its wall clock jumps by {jump:+.0f} s")
                return True
        return world.people.change_their_mind(kind)

    def _later(self, seconds: float, action: object) -> None:
        assert callable(action)
        self._world.time.at(self._world.time.now + seconds, action)

    def _share(self, kind: str) -> bool:
        share, chance = self._world.share, self._world.weather.chance
        side = chance.choice(SIDES)
        outage = chance.choice(OUTAGES)
        if share.states[side] != "ok" or share.other_device[side] or share.stale[side] is not None:
            return False
        match kind:
            case "stale listing":
                now = share.time.now
                share.stale[side] = [name for name, shown in share.shown[side].items() if shown.at <= now]
                self._later(min(outage, 60.0), lambda: share.stale.update({side: None}))
            case "other device":
                share.other_device[side] = True
                self._later(outage, lambda: share.other_device.update({side: False}))
            case "foreign names":
                share.litter(side, chance.choice(FOREIGN_NAMES))
            case _:
                states = {"share gone": "lost", "share full": "full", "share read-only": "readonly"}
                share.states[side] = states[kind]  # type: ignore[assignment]  # the values are states
                self._later(outage, lambda: share.states.update({side: "ok"}))
        return True

    def _agent(self, kind: str) -> bool:
        world, chance = self._world, self._world.weather.chance
        agent = world.agent
        process = agent.process
        if process is None or not process.alive:
            return False
        agent.down_seconds = chance.choice(DOWN)
        match kind:
            case "agent restart":
                if agent.busy:
                    return False
                agent.stop()
                world.start_later(agent)
            case "agent hangs":
                # The process stands still (a suspended machine, a swapped-out VM): others go on.
                if agent.busy:
                    return False
                agent.actor.due = max(agent.actor.due, world.time.now + chance.choice(OUTAGES))
            case _:
                agent.cut_whole_machine = kind == "agent machine cut"
                process.dies_in(chance.choice(POINTS_AHEAD))
        return True

    def _hub(self, kind: str) -> bool:
        world, chance = self._world, self._world.weather.chance
        hub = world.hub
        if hub.process is None or not hub.process.alive:
            return False
        hub.down_seconds = chance.choice(DOWN)
        match kind:
            case "hub power cut":
                hub.process.dies_in(chance.choice(POINTS_AHEAD))
            case "second relay":
                if len(hub.relays) > 1:
                    return False
                hub.start_relay("relay2")
            case _:
                hub.stop()
                if kind == "relay state lost":
                    hub.lose_relay_state()
                elif kind == "database restored":
                    world.restore_database()
                world.start_later(hub)
        return True

    def _agent_disk(self, kind: str) -> bool:
        world = self._world
        agent = world.agent
        if kind == "second agent":
            return self._second_agent()
        if agent.process is None or not agent.process.alive or agent.busy:
            return False
        agent.down_seconds = world.weather.chance.choice(DOWN)
        agent.stop()
        if kind == "journal lost":
            agent.lose_journal()
        else:
            agent.lose_disk()
        world.start_later(agent)
        return True

    def _second_agent(self) -> bool:
        """Somebody starts a clone of the machine: it is refused, until a person says otherwise."""
        world = self._world
        if len(world.agents) > 1:
            return False
        second = AgentMachine(world, "clone", SECOND_HOST)
        world.agents.append(second)
        second.start()
        if world.weather.chance.random() < 0.5:
            self._later(300.0, world.people.adopt)
        return True

    def _jira(self, kind: str) -> bool:
        world, chance = self._world, self._world.weather.chance
        if world.switches:
            return False
        outage = chance.choice(OUTAGES)
        match kind:
            case "index lag":
                world.switch(index_lag_seconds=chance.uniform(5.0, world.settle_seconds - 10.0))
                outage = 3_600.0
            case "maintenance":
                world.switch(maintenance=True)
            case "log-in page":
                world.switch(auth_mode=chance.choice(("sso_200_html", "sso_302")))
            case "token expired":
                world.switch(auth_mode="expired")
            case "anonymous":
                world.switch(auth_mode="anonymous_downgrade", anonymous_search=chance.choice(("refuse", "empty")))
        self._later(outage, world.switch)
        return True
