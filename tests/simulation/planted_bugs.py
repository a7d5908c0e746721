"""Bugs to plant: each takes one fix away or turns one guard round, and says which worlds are likely to show it.

`planted(name)` is a context in which the product has that bug; nothing of the product knows of it.
"""

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from inspect import signature
from types import FunctionType
from typing import Any, Final
from unittest.mock import patch

import agent.differences.issue
import agent.executor.changes
import agent.executor.creation
import agent.executor.execution
import agent.executor.work
import agent.journal
import agent.outcomes
import agent.pacer
import agent.pacing
import agent.records
import agent.recovery
import agent.runner
import hub.api.agent_routes
import hub.api.parking
import hub.confirming
import hub.picking
import hub.reception
import hub.service.batches
import hub.service.claiming
import hub.service.delivering
import hub.service.mirroring
import hub.service.moving
import hub.service.reporting
import relay.answering
import relay.client
import relay.delivery
import relay.frames
import relay.link
import relay.parts
import relay.server
import relay.state


@dataclass(frozen=True, slots=True)
class Bug:
    """`plant` gives the patches; `faults` and `settings` make the worlds that look for it."""

    name: str
    plant: Callable[[], list[Any]]
    faults: frozenset[str]
    settings: dict[str, Any]


BUGS: Final[dict[str, Bug]] = {}


def bug(*faults: str, **settings: Any) -> Callable[[Callable[[], list[Any]]], Callable[[], list[Any]]]:
    def keep(plant: Callable[[], list[Any]]) -> Callable[[], list[Any]]:
        name = plant.__name__.replace("_", " ")
        BUGS[name] = Bug(name, plant, frozenset(faults), settings)
        return plant

    return keep


@contextlib.contextmanager
def planted(name: str) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for one in BUGS[name].plant():
            stack.enter_context(one)
        yield


def _to(target: Any, attribute: str, value: Any) -> Any:
    """Raises `TypeError` where `value` cannot be called as what it replaces: such a bug would be found by itself."""
    real = getattr(target, attribute)
    if isinstance(real, FunctionType):
        needed = [one for one in signature(real).parameters.values() if one.default is one.empty]
        named = {one.name: None for one in needed if one.kind is one.KEYWORD_ONLY}
        signature(value).bind(*(None for one in needed if one.kind is one.POSITIONAL_OR_KEYWORD), **named)
    return patch.object(target, attribute, value)


# --- the agent: creating once


@bug("slow", "dropped after", "page after")
def no_settle_window() -> list[Any]:
    return [_to(agent.executor.work.Work, "wait_settled", lambda self: None)]


@bug("dropped after", "page after", "broken json", "slow")
def a_write_of_unknown_outcome_is_sent_again() -> list[Any]:
    unsure = agent.executor.work._UNEXECUTED | agent.executor.work._UNKNOWN
    stop = dict.fromkeys(unsure, 4)
    real = agent.executor.work.attempts
    return [
        _to(agent.executor.work, "_UNEXECUTED", unsure),
        _to(agent.executor.work, "attempts", lambda limits: real({**stop, **limits})),
    ]


@bug("agent power cut", "index lag", intensity=6.0)
def no_intent_is_remembered() -> list[Any]:
    real = agent.recovery.memory_of
    return [_to(agent.journal, "memory_of", lambda records: replace(real(records), unsettled=None))]


@bug(batch_every=1200.0)
def identity_is_not_compared() -> list[Any]:
    real = agent.differences.issue.ours
    blind = lambda identity, candidates, *, tried: real(  # noqa: E731
        identity, [replace(one, identity=None) for one in candidates], tried=tried
    )
    return [_to(agent.executor.creation, "ours", blind)]


@bug("force cancel", "agent hangs", intensity=6.0, batch_every=1200.0)
def no_look_at_the_hub_before_the_first_write() -> list[Any]:
    return [_to(agent.executor.work.Work, "_check_claim", lambda self: None)]


@bug("force cancel", "agent power cut", intensity=6.0, batch_every=1200.0)
def no_look_up_of_a_cancelled_creation() -> list[Any]:
    return [_to(agent.recovery, "_MAY_LEARN_A_KEY", frozenset())]


@bug("agent power cut", "agent machine cut", intensity=6.0, batch_every=1200.0)
def a_torn_line_is_not_ended() -> list[Any]:
    return [_to(agent.journal.JournalFile, "_ends_torn", lambda self: False)]


# --- the agent: pacing


@bug("agent machine cut", intensity=6.0, batch_every=1200.0)
def the_boot_is_not_compared() -> list[Any]:
    def known_end(last: Any, life: Any, now: float) -> float:
        if last is None:
            return float(life.started)
        return float(last.ended if last.ended is not None else last.started)

    return [_to(agent.pacing, "_known_end", known_end)]


@bug("agent power cut", "agent restart", intensity=6.0, batch_every=1200.0)
def the_gap_is_forgotten_over_a_restart() -> list[Any]:
    return [_to(agent.pacer.Pacer, "allowed_at", lambda self, gap_seconds: self._clock.monotonic())]


@bug(batch_every=1200.0)
def no_gap_between_the_writes_of_a_command() -> list[Any]:
    source = agent.executor.work.Work
    real = source._write_once

    def write_once(self: Any, write: Any) -> Any:
        self._attempted, self._called = False, True
        return real(self, write)

    return [_to(source, "_write_once", write_once)]


@bug("journal lost", "agent disk lost", intensity=20.0, batch_every=1200.0)
def an_empty_journal_means_no_gap() -> list[Any]:
    real = agent.pacing._known_end
    known_end = lambda last, life, now: -1e9 if last is None else real(last, life, now)  # noqa: E731
    return [_to(agent.pacing, "_known_end", known_end)]


@bug("rate limit", batch_every=1200.0)
def a_retry_ignores_the_gap() -> list[Any]:
    def pause(self: Any, state: Any) -> float:
        return 0.5

    return [_to(agent.executor.work.Work, "_pause_again", pause)]


# --- the agent: claims and reports


@bug("lost", "late", "hub power cut", intensity=6.0, batch_every=1200.0)
def nothing_ends_a_claim_that_nobody_waits_for() -> list[Any]:
    real = agent.recovery.remembered

    def forget(memory: Any, record: Any) -> Any:
        return replace(real(memory, record), open_claim=None)

    return [
        _to(agent.journal, "remembered", forget),
        _to(relay.server.ServerExchange, "_take_withdrawal", lambda self, request_id: None),
        _to(hub.api.parking.ParkingPlace, "park", lambda self, link, session: hub.api.parking.Parked()),
    ]


@bug("agent machine cut", intensity=6.0, batch_every=1200.0)
def the_journal_is_not_synced() -> list[Any]:
    return [_to(agent.journal, "Answered", agent.records._Record)]


@bug("agent power cut", "force cancel", intensity=6.0, batch_every=1200.0)
def recovery_does_not_ask_the_hub() -> list[Any]:
    def after_hub(memory: Any, delivery: Any, today: Any) -> Any:
        return agent.recovery.Execute(delivery)

    return [
        _to(agent.runner, "after_hub", after_hub),
        _to(agent.executor.work.Work, "_check_claim", lambda self: None),
    ]


# --- the hub: claims


@bug("lost", "late", "hub power cut", "agent power cut", intensity=6.0, batch_every=1200.0)
def answers_are_not_stored() -> list[Any]:
    return [
        _to(hub.service.claiming, "stored", lambda transaction, link, key: None),
        _to(hub.service.claiming, "store", lambda transaction, link, key, answer, params=None: answer),
    ]


@bug("agent disk lost", "journal lost", intensity=30.0, batch_every=1200.0)
def four_deliveries() -> list[Any]:
    return [_to(hub.picking, "MAX_DELIVERIES", 4)]


@bug("journal lost", intensity=20.0, batch_every=1200.0)
def one_delivery_is_enough_to_give_up() -> list[Any]:
    return [_to(hub.picking, "MAX_DELIVERIES", 1)]


@bug("journal lost", "agent disk lost", intensity=20.0, batch_every=1200.0)
def new_work_goes_out_before_what_was_lost() -> list[Any]:
    def next_delivery(claimed: Any, next_queued_id: Any) -> Any:
        return hub.picking.Idle() if next_queued_id is None else hub.picking.Deliver(next_queued_id, 1)

    return [
        _to(hub.service.delivering, "next_delivery", next_delivery),
    ]


@bug("force cancel", "agent power cut", intensity=6.0, batch_every=1200.0)
def a_late_key_is_thrown_away() -> list[Any]:
    return [
        _to(hub.service.reporting, "keep_late", lambda transaction, row, said: None),
        _to(hub.reception, "KeepCreation", hub.reception.KeepAside),
    ]


@bug("second agent", intensity=20.0, batch_every=1200.0)
def two_agents_may_hold_a_link() -> list[Any]:
    return [_to(hub.service.claiming, "hold_session", lambda transaction, link, agent, state: None)]


@bug("cancel", intensity=6.0, batch_every=1200.0)
def dependants_of_a_lost_definer_are_not_skipped() -> list[Any]:
    return [
        _to(hub.service.batches, "skip_dependants", lambda transaction, link, batch_id: 0),
        _to(hub.service.reporting, "skip_dependants", lambda transaction, link, batch_id: 0),
        _to(hub.service.delivering, "skip_dependants", lambda transaction, link, batch_id: 0),
    ]


@bug("force cancel", "retry", "dropped after", intensity=6.0, batch_every=1200.0)
def a_retry_has_an_identity_of_its_own() -> list[Any]:
    def identity(epochs: Any, row: Any) -> str:
        return f"jh:{epochs.today[:6]}:{row['id']}"

    return [_to(hub.service.delivering, "identity", identity)]


@bug("person edits", intensity=6.0, batch_every=1200.0)
def a_report_says_done_although_nothing_was_written() -> list[Any]:
    return [_to(agent.executor.execution, "ensure_fields", lambda work, want: {})]


@bug("person edits", batch_every=1200.0)
def a_transition_stops_half_way() -> list[Any]:
    return [_to(agent.executor.changes, "next_target", lambda *_: None)]


# --- the relay


@bug("bit flip", "truncated", "nul tail", intensity=6.0, batch_every=1200.0)
def the_seal_is_not_checked() -> list[Any]:
    def unsealed(data: bytes, *_: Any) -> bytes:
        cut = data.rfind(b',"seal":"')
        return (data[:cut] if cut >= 0 else data.rstrip(b"\0\n")) + b"}"

    return [_to(relay.frames, "unsealed", unsealed)]


@bug("resurrected", "doubled", "lost", batch_every=600.0)
def a_frame_taken_is_taken_again() -> list[Any]:
    def take(self: Any, frame: Any, now: float) -> Any:
        self._acknowledge_by(now)
        self._advance(max(frame.seq, self.peer.taken))
        return tuple(frame.messages)

    return [
        _to(relay.link.Link, "_take", take),
        _to(relay.link.Link, "wants", lambda self, name, now: name.epoch != self.me.epoch),
        _to(relay.answering, "on_request", lambda known: relay.delivery.Run(1)),
        _to(relay.server.ServerExchange, "_known", lambda self, request_id: None),
        *answers_are_not_stored(),
    ]


@bug("lost", "late", "hub power cut", intensity=6.0, batch_every=1200.0)
def the_relay_runs_a_request_each_time_it_comes_and_the_hub_too() -> list[Any]:
    return [
        _to(relay.server.ServerExchange, "_known", lambda self, request_id: None),
        *answers_are_not_stored(),
    ]


@bug("resurrected", "agent restart", "hub restart", "agent power cut", intensity=6.0, batch_every=600.0)
def retired_lives_speak_again() -> list[Any]:
    real = relay.link.Link.receive

    def receive(self: Any, frame: Any, now: float) -> Any:
        if frame.epoch != self.peer.epoch:
            self.peer = replace(self.peer, life=-1)
        return real(self, frame, now)

    return [_to(relay.link.Link, "receive", receive), *answers_are_not_stored()]


@bug("lost", "late", batch_every=1200.0)
def nothing_is_published_again() -> list[Any]:
    return [_to(relay.link.Link, "_patience", lambda self, attempt: float("inf"))]


@bug("hub power cut", "agent power cut", intensity=6.0, batch_every=1200.0)
def an_interrupted_request_is_forgotten() -> list[Any]:
    return [
        _to(relay.answering, "on_start_up", lambda known: relay.answering.Nothing()),
        _to(relay.answering, "on_request", lambda known: relay.answering.Wait() if known else relay.delivery.Run(1)),
    ]


@bug("lost", "late", "stale negative", batch_every=600.0)
def any_reply_answers_whoever_waits() -> list[Any]:
    def reply(self: Any, request_id: str) -> Any:
        waiters = tuple(one for group in self._waiting.values() for one in group)
        self._waiting.clear()
        return waiters

    return [_to(relay.client.Asking, "reply", reply)]


@bug("lost", "truncated", batch_every=1200.0)
def a_frame_is_acknowledged_before_it_is_read() -> list[Any]:
    real = relay.link.Link.wants

    def wants(self: Any, name: Any, now: float) -> bool:
        wanted = real(self, name, now)
        if wanted and name.epoch == self.peer.epoch and getattr(name, "seq", 0) == self.peer.taken + 1:
            self._advance(name.seq)
            self._acknowledge_by(now)
        return wanted

    return [_to(relay.link.Link, "wants", wants)]


@bug("database restored", "journal lost", "person renames", batch_every=600.0)
def a_restored_hub_does_not_say_so() -> list[Any]:
    real = hub.service.delivering.delivery_body
    return [
        _to(hub.service.delivering, "delivery_body", lambda *row, **told: {**real(*row, **told), "restored": False})
    ]


@bug("agent power cut", "journal lost", "person renames", intensity=6.0, batch_every=600.0)
def a_renamed_issue_is_not_looked_for() -> list[Any]:
    return [_to(agent.executor.creation, "_renamed", lambda work, candidates: None)]


def names() -> list[str]:
    """All of them, in the order they are planted."""
    return [name for name in BUGS if re.fullmatch(r"[a-z0-9 ]+", name)]
