"""A small model of claim, report and creation over a lossy folder, searched exhaustively, breadth first.

What the hub and the agent decide in it is decided by their real rules (`next_delivery`, `reception`, `after_hub`), so
the model cannot say one thing and the product another. The fixes that are no rule of theirs can be taken away.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from agent.recovery import Close, Execute, LookUp, Memory, after_hub
from hub.picking import Claimed, Deliver, GiveUp, next_delivery
from hub.reception import Accept, KeepAside, KeepCreation, NotClaimed, Reported, Spoken, reception
from protocol.messages import TERMINAL, Delivery, Status

# Each closes a hole: taken away, the search finds it again.
FIXES: Final = frozenset(
    {
        "settle window",  # no second creation before the first has landed and the index shows it
        "remembered creations",  # the settle window holds for a retry of the same root too
        "identity",  # the root's mark on the issue, not its summary
        "look-up",  # of a creation whose command was closed meanwhile
        "late results",  # what is reported too late is kept
        "stored answers",  # the same request id, the same answer
        "one id for a claim",  # an unanswered claim is asked again under its id
        "re-check",  # right before the first write
    }
)
Stage = Literal["empty", "claiming", "in hand", "searched", "checked", "done", "reporting", "asking", "down"]
DELIVERY: Final = Delivery(id=0, type="ensure_issue", params={}, pause_seconds=0)


@dataclass(frozen=True, slots=True)
class Command:
    root: int
    status: Status = "queued"
    deliveries: int = 0
    key: int | None = None
    late: bool = False
    seen: bool = False  # the agent has read a delivery of it


@dataclass(frozen=True, slots=True)
class Agent:
    """`journal` is what survives a crash: the command, whether a creation was begun, the finished report's key."""

    stage: Stage = "empty"
    request: int | None = None
    command: int | None = None
    delivery: int = 0
    key: int | None = None
    began: bool = False
    claim: int | None = None


@dataclass(frozen=True, slots=True)
class State:
    commands: tuple[Command, ...]
    agent: Agent = field(default_factory=Agent)
    requests: frozenset[tuple[Any, ...]] = frozenset()
    replies: frozenset[tuple[Any, ...]] = frozenset()
    stored: frozenset[tuple[Any, ...]] = frozenset()
    issues: tuple[tuple[int, bool], ...] = ()  # the root it was made for, and whether the index shows it
    flying: tuple[int, ...] = ()
    begun: frozenset[int] = frozenset()  # roots the agent remembers to have begun a creation for
    next_request: int = 0
    left: tuple[int, ...] = ()
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class Search:
    """One bounded space: `faults` by name with how often each may strike, `fixes` that are on."""

    faults: dict[str, int]
    fixes: frozenset[str] = FIXES
    commands: tuple[int, ...] = (0,)
    requests: int = 7

    def begin(self) -> State:
        return State(tuple(Command(root) for root in self.commands), left=tuple(self.faults.values()))

    def run(self, limit: int = 400_000) -> tuple[str, tuple[str, ...], int]:
        """The first broken promise with the steps to it (none: empty), and how many states were seen."""
        first = self.begin()
        came: dict[State, tuple[State | None, str]] = {first: (None, "")}
        waiting = deque([first])
        while waiting and len(came) < limit:
            state = waiting.popleft()
            for step, after in self.steps(state):
                if after in came:
                    continue
                came[after] = (state, step)
                broken = after.wrong or _broken(after)
                if broken:
                    return broken, _trace(came, after), len(came)
                waiting.append(after)
        return "", (), len(came)

    # --- steps

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        yield from self._agent_steps(state)
        yield from self._hub_steps(state)
        yield from self._world_steps(state)

    def _strike(self, state: State, fault: str) -> State | None:
        names = list(self.faults)
        if fault not in names or state.left[names.index(fault)] == 0:
            return None
        at = names.index(fault)
        return replace(state, left=(*state.left[:at], state.left[at] - 1, *state.left[at + 1 :]))

    def _send(self, state: State, stage: Stage, kind: str, request: int | None = None) -> State | None:
        agent = state.agent
        number = state.next_request if request is None else request
        if number >= self.requests:
            return None
        body = (number, kind, agent.command, agent.delivery, agent.key)
        claim = number if kind == "claim" else agent.claim
        return replace(
            state,
            requests=state.requests | {body},
            next_request=max(state.next_request, number + 1),
            agent=replace(agent, stage=stage, request=number, claim=claim),
        )

    def _agent_steps(self, state: State) -> Iterator[tuple[str, State]]:
        agent = state.agent
        match agent.stage:
            case "empty":
                again = agent.claim if "one id for a claim" in self.fixes else None
                if (after := self._send(state, "claiming", "claim", again)) is not None:
                    yield "the agent claims", after
            case "claiming" | "reporting" | "asking":
                yield from self._answered(state)
                if agent.stage == "claiming" and (after := self._strike(state, "timeout")) is not None:
                    yield "the agent waits no longer", replace(after, agent=replace(agent, stage="empty"))
            case "in hand":
                yield from self._search(state)
            case "searched":
                yield from self._recheck(state)
            case "checked":
                yield from self._create(state)
            case "done":
                if (after := self._send(state, "reporting", "report")) is not None:
                    yield "the agent reports", after
            case "down":
                yield from self._recover(state)
        if agent.stage != "down" and (after := self._strike(state, "crash")) is not None:
            finished = agent.stage in ("done", "reporting")
            kept = replace(agent, stage="down", request=None, key=agent.key if finished else None)
            yield "the agent dies", replace(after, agent=kept)

    def _answered(self, state: State) -> Iterator[tuple[str, State]]:
        agent = state.agent
        for reply in state.replies:
            number, kind, command, delivery, status = reply
            if number != agent.request:
                continue
            after = replace(state, replies=state.replies - {reply})
            if agent.stage == "claiming":
                if kind == "delivered":
                    hand = Agent("in hand", command=command, delivery=delivery)
                    after = _with(after, command, replace(after.commands[command], seen=True))
                else:
                    hand = Agent()
                yield "the agent reads the answer to its claim", replace(after, agent=hand)
            elif agent.stage == "reporting":
                yield "the report is taken", replace(after, agent=Agent())
            else:
                yield "the agent reads what has become of it", self._after_hub(after, status)

    def _after_hub(self, state: State, status: Status) -> State:
        agent = state.agent
        memory = Memory(delivery=DELIVERY, tried_to_create=agent.began)
        match after_hub(memory, DELIVERY, DELIVERY.model_copy(update={"status": status})):
            case Execute():
                return replace(state, agent=replace(agent, stage="in hand", request=None))
            case LookUp() if "look-up" in self.fixes:
                if "settle window" in self.fixes and (state.flying or any(not shown for _, shown in state.issues)):
                    return replace(state, agent=replace(agent, stage="down", request=None))  # wait, and ask again
                found = self._ours(state)
                if found is not None:
                    return replace(state, agent=replace(agent, stage="done", key=found, request=None))
                return replace(state, agent=Agent())
            case LookUp() | Close():
                return replace(state, agent=Agent())

    def _ours(self, state: State) -> int | None:
        assert state.agent.command is not None
        root = state.commands[state.agent.command].root
        for number, (made_for, shown) in enumerate(state.issues):
            if shown and (made_for == root or "identity" not in self.fixes):
                return number
        return None

    def _search(self, state: State) -> Iterator[tuple[str, State]]:
        agent = state.agent
        assert agent.command is not None
        settled = not state.flying and all(shown for _, shown in state.issues)
        root = state.commands[agent.command].root
        tried = agent.began or (root in state.begun and "remembered creations" in self.fixes)
        found = self._ours(state)
        if found is not None:
            yield "the search finds it", replace(state, agent=replace(agent, stage="done", key=found))
        elif settled or not tried or "settle window" not in self.fixes:
            yield "the search finds nothing", replace(state, agent=replace(agent, stage="searched"))

    def _recheck(self, state: State) -> Iterator[tuple[str, State]]:
        agent = state.agent
        assert agent.command is not None
        if "re-check" in self.fixes and state.commands[agent.command].status != "claimed":
            yield "the agent asks once more, and closes it", replace(state, agent=Agent())
        else:
            yield "the agent is about to write", replace(state, agent=replace(agent, stage="checked"))

    def _create(self, state: State) -> Iterator[tuple[str, State]]:
        agent = state.agent
        assert agent.command is not None
        command = state.commands[agent.command]
        began = replace(agent, began=True)
        state = replace(state, begun=state.begun | {command.root})
        # Between the hub's last word and the write one round trip may pass, and no more.
        wrong = "" if command.status == "claimed" or "re-check" in self.fixes else "written after it was closed"
        shown = "lag" not in self.faults
        made = (*state.issues, (command.root, shown))
        done = replace(began, stage="done", key=len(state.issues))
        yield "POST, and Jira answers", replace(state, issues=made, agent=done, wrong=wrong)
        if (after := self._strike(state, "slow")) is not None:
            flying = (*state.flying, command.root)
            yield "POST, and no answer", replace(after, flying=flying, agent=replace(began, stage="in hand"))
        if (after := self._strike(state, "crash")) is not None:
            dead = replace(began, stage="down", request=None)
            yield "POST, and the agent dies", replace(after, issues=made, agent=dead)

    def _recover(self, state: State) -> Iterator[tuple[str, State]]:
        agent = state.agent
        if agent.command is None:
            yield "the agent starts", replace(state, agent=replace(agent, stage="empty"))
        elif agent.key is not None:
            yield "the agent starts, its report unsent", replace(state, agent=replace(agent, stage="done"))
        elif (after := self._send(state, "asking", "get")) is not None:
            yield "the agent starts and asks the hub", after

    # --- the hub

    def _hub_steps(self, state: State) -> Iterator[tuple[str, State]]:
        for request in sorted(state.requests, key=repr):
            served, reply = self._serve(state, request)
            after = replace(served, requests=served.requests - {request})
            yield f"the hub serves request {request[0]}", replace(after, replies=after.replies | {reply})
            if (back := self._strike(after, "resurrect")) is not None:
                again = replace(back, requests=back.requests | {request}, replies=back.replies | {reply})
                yield f"the hub serves request {request[0]}, whose file comes back", again
            if (dead := self._strike(served, "hub crash")) is not None:
                yield f"the hub commits request {request[0]} and dies", dead

    def _serve(self, state: State, request: tuple[Any, ...]) -> tuple[State, tuple[Any, ...]]:
        number, kind, command, delivery, key = request
        for stored in state.stored if "stored answers" in self.fixes else ():
            if stored[0] == number:
                return state, stored
        if kind == "claim":
            state, reply = self._claim(state, number)
        elif kind == "report":
            state, reply = self._report(state, number, command, delivery, key), (number, "taken", command, 0, "")
        else:
            return state, (number, "status", command, 0, state.commands[command].status)
        if "stored answers" in self.fixes:
            state = replace(state, stored=state.stored | {reply})
        return state, reply

    def _claim(self, state: State, number: int) -> tuple[State, tuple[Any, ...]]:
        for _ in range(len(state.commands) + 1):
            claimed = [
                Claimed(i, str(i), one.deliveries) for i, one in enumerate(state.commands) if one.status == "claimed"
            ]
            queued = next((i for i, one in enumerate(state.commands) if one.status == "queued"), None)
            match next_delivery(claimed, queued):
                case Deliver(command, deliveries):
                    told = replace(state.commands[command], status="claimed", deliveries=deliveries)
                    return _with(state, command, told), (number, "delivered", command, deliveries, "")
                case GiveUp(command):
                    told = replace(state.commands[command], status="failed")
                    state = _with(state, command, told)
                    if not told.seen:
                        state = replace(state, wrong=f"command {command} was given up, and nobody ever saw it")
                case _:
                    break
        return state, (number, "nothing", None, 0, "")

    def _report(self, state: State, number: int, command: int, delivery: int, key: int | None) -> State:
        one = state.commands[command]
        met = Reported(one.status, "ensure_issue", one.deliveries, one.key is not None)
        spoken = Spoken("done", f"A-{key}", delivery)
        match reception(met, spoken):
            case Accept():
                return _with(state, command, replace(one, status="done", key=key))
            case KeepCreation():
                return _with(state, command, replace(one, key=key))
            case KeepAside() if "late results" in self.fixes:
                return _with(state, command, replace(one, late=True))
            case KeepAside() | NotClaimed():
                return state

    # --- fate and people

    def _world_steps(self, state: State) -> Iterator[tuple[str, State]]:
        if any(not shown for _, shown in state.issues):
            shown = tuple((root, True) for root, _ in state.issues)
            yield "the index catches up", replace(state, issues=shown)
        if state.flying:
            root, *rest = state.flying
            yield "the slow POST takes effect", replace(state, flying=tuple(rest), issues=(*state.issues, (root, True)))
        for reply in state.replies:
            if (after := self._strike(state, "lose")) is not None:
                yield f"the answer to request {reply[0]} is lost", replace(after, replies=after.replies - {reply})
        for number, one in enumerate(state.commands):
            if one.status == "claimed" and (after := self._strike(state, "cancel")) is not None:
                yield "a person cancels with force", _with(after, number, replace(one, status="cancelled"))
        last = state.commands[-1]
        if last.status in ("failed", "cancelled") and (after := self._strike(state, "retry")) is not None:
            yield "a person retries", replace(after, commands=(*after.commands, Command(last.root)))


def _with(state: State, number: int, command: Command) -> State:
    before = state.commands[number]
    wrong = state.wrong
    if before.status in TERMINAL and command.status != before.status:
        wrong = f"command {number} was {before.status} and is {command.status}"
    commands = (*state.commands[:number], command, *state.commands[number + 1 :])
    return replace(state, commands=commands, wrong=wrong)


def _broken(state: State) -> str:
    roots = [root for root, _ in state.issues]
    if len(roots) != len(set(roots)):
        return "two issues for one wish"
    keys = [(one.key, one.root) for one in state.commands if one.key is not None]
    if len({key for key, _ in keys}) != len(set(keys)):
        return "one issue answers for two wishes"
    if any(one.deliveries > 3 for one in state.commands):
        return "a fourth delivery"
    return _forgotten(state)


def _forgotten(state: State) -> str:
    """At rest, an issue that was made and that the hub has never heard of (P8)."""
    resting = state.agent.stage == "empty" and state.agent.command is None and not state.requests and not state.flying
    if not resting or any(one.status not in TERMINAL for one in state.commands):
        return ""
    for number, (root, _) in enumerate(state.issues):
        mine = [one for one in state.commands if one.root == root]
        if not any(one.key == number or one.late for one in mine):
            return f"issue {number} is not known to the hub"
    return ""


def _trace(came: dict[State, tuple[State | None, str]], state: State) -> tuple[str, ...]:
    steps: list[str] = []
    at: State | None = state
    while at is not None:
        at, step = came[at]
        steps.append(step)
    return tuple(reversed(steps[:-1]))


HOLES: Final[dict[str, tuple[dict[str, int], tuple[int, ...], str]]] = {
    "H1": ({"lag": 1, "crash": 1}, (0,), "settle window"),
    "H2": ({"slow": 1}, (0,), "settle window"),
    "H3": ({"slow": 1, "crash": 1, "cancel": 1, "retry": 1}, (0,), "settle window"),
    "a retry while the index lags": ({"lag": 1, "cancel": 1, "retry": 1}, (0,), "remembered creations"),
    "H6": ({}, (0, 1), "identity"),
    "H7": ({"timeout": 3}, (0,), "one id for a claim"),
    "H10": ({"hub crash": 3, "timeout": 3}, (0,), "stored answers"),
    "H11": ({"resurrect": 3}, (0, 1), "stored answers"),
    "H13": ({"crash": 1, "cancel": 1}, (0,), "look-up"),
    "H14": ({"cancel": 1}, (0,), "re-check"),
    "H15": ({"slow": 1, "crash": 1, "cancel": 1}, (0,), "settle window"),
    "H21": ({"crash": 1, "cancel": 1, "retry": 1}, (0,), "look-up"),
}
