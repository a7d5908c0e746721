"""Whatever people and an agent do in whatever order, the API does what the plain queue beside it does (T10)."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.conftest import PROFILE
from tests.faces.plain_queue import PlainQueue, is_sound, with_reading
from tests.faces.small_hub import SmallHub, hub_on
from tests.promised import Covered

EXAMPLES, STEPS = {"quick": (20, 20), "ci": (300, 50)}.get(PROFILE, (20_000, 100))
NUMBER = count(1)
SHOWN = ("status", "deliveries", "result", "error", "held", "root_id")

real_keys = st.sampled_from(["AURORA-1", "AURORA-2", "AURORA-3"])
temporary_keys = st.sampled_from(["new:1", "new:2", "new:3"])
keys = real_keys | temporary_keys
summaries = st.sampled_from(["Отчёт", "Отчёт ", "План"])
creations = st.fixed_dictionaries(
    {
        "type": st.just("ensure_issue"),
        "temp_key": temporary_keys,
        "summary": st.sampled_from(["Отчёт", "Отчёт ", "План"]),
    },
    optional={"epic_key": keys},
)
wishes = st.one_of(
    creations,
    creations,
    st.fixed_dictionaries({"type": st.just("ensure_fields"), "key": keys, "duedate": st.just("2026-10-23")}),
    st.fixed_dictionaries({"type": st.just("ensure_status"), "key": keys, "target": st.just("Готово")}),
    st.fixed_dictionaries(
        {"type": st.just("ensure_link"), "source": keys, "target": keys, "link_type": st.just("связанные")}
    ),
    st.fixed_dictionaries({"type": st.just("refresh"), "keys": st.lists(real_keys, min_size=1, unique=True)}),
)


@st.composite
def sound_batches(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Creations that follow one another, and wishes on what they make: what people mostly send."""
    made: list[dict[str, Any]] = []
    defined: list[str] = []
    for _ in range(draw(st.integers(1, 5))):
        key = st.sampled_from(["AURORA-1", "AURORA-2", *defined, *defined])
        kind = draw(st.sampled_from(["ensure_issue", "ensure_issue", "ensure_fields", "ensure_status", "ensure_link"]))
        if kind == "ensure_issue":
            name = f"new:{len(defined) + 1}"
            epic = {"epic_key": draw(key)} if draw(st.booleans()) else {}
            made.append({"type": kind, "temp_key": name, "summary": f"Отчёт {name}", **epic})
            defined.append(name)
        elif kind == "ensure_link":
            made.append({"type": kind, "source": draw(key), "target": "AURORA-3", "link_type": "связанные"})
        elif kind == "ensure_fields":
            made.append({"type": kind, "key": draw(key), "duedate": "2026-10-23"})
        else:
            made.append({"type": kind, "key": draw(key), "target": "Готово"})
    return made


class QueueMachine(RuleBasedStateMachine):
    """A link of its own for each run: the hub goes on, and other links are none of its business."""

    hub: SmallHub
    runs = 0

    def __init__(self) -> None:
        super().__init__()
        self.link = f"m{next(NUMBER)}"
        self.plain = PlainQueue()
        self.asked: list[tuple[Callable[[], Any], bytes]] = []

    def ask(self, method: str, path: str, body: Any, *, keyed: bool = False, **query: Any) -> Any:
        self.hub.clock.sleep(1)
        self.plain.now += 1
        headers = {"idempotency-key": f"k{next(NUMBER)}"} if keyed else {}

        def request() -> Any:
            url = f"/api/v1/{path}"
            return self.hub.people.request(method, url, json=body, params={"link": self.link, **query}, headers=headers)

        answer = request()
        if keyed and answer.status_code < 300:
            self.asked.append((request, answer.content))
        return answer

    def some_batch(self, data: st.DataObject) -> int:
        return data.draw(st.sampled_from(self.plain.batches()), label="batch")

    def some_command(self, data: st.DataObject) -> int:
        return data.draw(st.sampled_from(sorted(self.plain.commands)), label="command")

    # --- people

    @rule(
        commands=st.one_of(sound_batches(), sound_batches(), st.lists(wishes, min_size=1, max_size=5)),
        held=st.sampled_from([False, False, True]),
    )
    def create(self, commands: list[dict[str, Any]], held: bool) -> None:
        body = {"author": "anna", "title": "t", "commands": commands, "held": held}
        answer = self.ask("POST", "batches", body, keyed=True)
        assert answer.status_code == (201 if is_sound(commands) else 422), answer.text
        if answer.status_code == 201:
            self.take(answer.json(), with_reading(commands), held=held, roots=[])

    def take(self, batch: Any, wanted: list[Any], *, held: bool, roots: list[int | None]) -> None:
        made = [{"type": item["type"], **item["params"]} for item in batch["commands"]]
        assert made == wanted
        ids = [item["id"] for item in batch["commands"]]
        self.plain.create(batch["id"], ids, wanted, held=held, roots=roots)

    @precondition(lambda self: self.plain.commands)
    @rule(data=st.data())
    def cancel_batch(self, data: st.DataObject) -> None:
        batch = self.some_batch(data)
        assert self.ask("POST", f"batches/{batch}/cancel", {"author": "anna"}).status_code == 200
        self.plain.cancel_batch(batch)

    @precondition(lambda self: self.plain.commands)
    @rule(data=st.data(), force=st.booleans())
    def cancel(self, data: st.DataObject, force: bool) -> None:
        number = self.some_command(data)
        answer = self.ask("POST", f"commands/{number}/cancel", {"author": "anna", "force": force})
        assert answer.status_code == self.plain.cancel(number, force=force), answer.text

    @precondition(lambda self: any(command.held for command in self.plain.commands.values()))
    @rule(data=st.data())
    def approve(self, data: st.DataObject) -> None:
        batch = self.some_batch(data)
        answer = self.ask("POST", f"batches/{batch}/approve", {"author": "anna"})
        if answer.status_code == 200:
            self.plain.approve(batch)
        else:  # a cancelled batch has nothing left that could go out
            assert answer.status_code == 409
            assert not [c for c in self.plain.of_batch(batch) if c.status == "queued"]

    @precondition(lambda self: self.plain.commands)
    @rule(data=st.data())
    def retry_command(self, data: st.DataObject) -> None:
        number = self.some_command(data)
        command = self.plain.commands[number]
        wanted = self.plain.retried(command.batch, {number}) if command.status in LOST else None
        self.retry(f"commands/{number}/retry", wanted)

    @precondition(lambda self: self.plain.commands)
    @rule(data=st.data())
    def retry_batch(self, data: st.DataObject) -> None:
        batch = self.some_batch(data)
        failed = {command.id for command in self.plain.of_batch(batch) if command.status == "failed"}
        self.retry(f"batches/{batch}/retry", self.plain.retried(batch, failed) if failed else None)

    def retry(self, path: str, wanted: tuple[list[Any], list[int | None]] | None) -> None:
        answer = self.ask("POST", path, {"author": "boris"})
        assert answer.status_code == (409 if wanted is None else 201), answer.text
        if wanted is not None:
            self.take(answer.json(), wanted[0], held=False, roots=wanted[1])

    @rule(paused=st.booleans())
    def pause(self, paused: bool) -> None:
        assert self.ask("PUT", "settings", {"paused": paused}).status_code == 200
        self.plain.paused = paused

    # --- the agent

    @precondition(lambda self: self.plain.commands)
    @rule()
    def claim(self) -> None:
        self.claim_once()

    @precondition(lambda self: self.plain.commands)
    @rule(times=st.integers(2, 4))
    def lose_answers(self, times: int) -> None:
        """The agent claims again and again, and nothing of it reaches him."""
        for _ in range(times):
            self.claim_once()

    @precondition(lambda self: any(command.deliveries for command in self.plain.commands.values()))
    @rule(data=st.data(), status=st.sampled_from(["done", "failed", "failed"]), back=st.integers(0, 2))
    def report_what_was_handed_out(self, data: st.DataObject, status: str, back: int) -> None:
        out = [number for number, command in self.plain.commands.items() if command.deliveries]
        now = [number for number in out if self.plain.commands[number].status == "claimed"]
        number = data.draw(st.sampled_from(now or out), label="command")
        self.say(number, status, delivery=max(1, self.plain.commands[number].deliveries - back))

    @precondition(lambda self: self.plain.commands)
    @rule()
    def work(self) -> None:
        """A claim and its report, as most of them are."""
        number = self.claim_once()
        if number is not None:
            self.say(number, "done", delivery=self.plain.commands[number].deliveries)

    def claim_once(self) -> int | None:
        agent = {"agent_version": 3, "session": "s", "host": "vm"}
        answer = self.ask("POST", "agent/claim", agent, keyed=True, wait=0)
        wanted = self.plain.claim()
        if isinstance(wanted, int):
            assert answer.status_code == wanted, answer.text
            return None
        told = answer.json()
        assert (told["id"], told["delivery"]) == (wanted.id, wanted.deliveries)
        assert {"type": told["type"], **told["params"]} == wanted.wish
        return wanted.id

    @precondition(lambda self: self.plain.commands)
    @rule(data=st.data(), status=st.sampled_from(["done", "done", "failed"]), echo=st.integers(0, 3))
    def report(self, data: st.DataObject, status: str, echo: int) -> None:
        self.say(self.some_command(data), status, delivery=echo or None)

    @precondition(lambda self: self.plain.commands)
    @rule(data=st.data(), known=st.booleans())
    def report_nonsense(self, data: st.DataObject, known: bool) -> None:
        """On a command that is not there, or of a creation without its key."""
        number = self.some_command(data) if known else 10**9
        self.say(number, "done", delivery=None, with_key=False)

    def say(self, number: int, status: str, *, delivery: int | None, with_key: bool = True) -> None:
        command = self.plain.commands.get(number)
        creation = command is not None and command.wish["type"] == "ensure_issue"
        key = f"AURORA-{next(NUMBER) + 100}" if creation and status == "done" and with_key else None
        result = {"key": key} if key else {}
        body = {"status": status, "result": result, "delivery": delivery}
        if status == "failed":
            body["error"] = "it broke"
        answer = self.ask("PUT", f"agent/commands/{number}/result", body, keyed=True)
        assert answer.status_code == self.plain.report(number, status, key, delivery), answer.text

    # --- always

    @precondition(lambda self: self.asked)
    @rule(data=st.data())
    def ask_again(self, data: st.DataObject) -> None:
        request, content = data.draw(st.sampled_from(self.asked[-5:]), label="request")
        assert request().content == content

    @invariant()
    def the_hub_stands_as_the_plain_queue_does(self) -> None:
        found = self.hub.service.command_list(self.link, limit=1_000)["items"]
        there = {item["id"]: {name: item[name] for name in SHOWN} for item in found}
        here = {number: {name: getattr(c, name) for name in SHOWN} for number, c in self.plain.commands.items()}
        for number in here:
            if here[number]["status"] == "skipped":  # why is told in words of the hub's own
                there[number]["error"] = None
        assert there == here

    def teardown(self) -> None:
        type(self).runs += 1
        counts = self.hub.service.status(self.link)["counts"]
        for status in counts:
            assert counts[status] == sum(c.status == status for c in self.plain.commands.values()), status


LOST = ("failed", "cancelled", "skipped")


@pytest.fixture(scope="module", params=["memory", "postgres"])
def hub(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallHub]:
    folder: Path = tmp_path_factory.mktemp("machine")
    with ExitStack() as stack:
        yield stack.enter_context(hub_on(request.param, request, folder))


@pytest.mark.part("T10")
def test_the_api_does_what_the_plain_queue_does(hub: SmallHub, covered: Covered) -> None:
    machine = type("MachineOnThisHub", (QueueMachine,), {"hub": hub})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    covered("T10", machine.runs)
