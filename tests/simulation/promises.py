"""The promises P1 to P17, one function each; its name is the message, its answer a text where it is broken.

`MOVES` are judged at each move of a command in the hub's database, `CALLS` at each request to Jira, `REST` when the
world has come to rest. P6, P7 and P16 are watched where replies and frames arrive (`driving`, `witness`).
"""

import json
import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from protocol.errors import NO_REPORT
from protocol.messages import TERMINAL
from tests.simulation.jira_wire import JiraCall
from tests.simulation.witness import Incarnation, Seen

if TYPE_CHECKING:
    from tests.simulation.agent_machine import AgentMachine
    from tests.simulation.world import World

SLACK: Final = 0.002  # seconds of the world: floating point
RATE_SECONDS: Final = 30.0  # after a 429, whatever its Retry-After says
KNOWN_SECONDS: Final = 1.0  # one round trip to the hub may pass between its last word and the write


def p1_one_issue_per_wish(world: "World", root: Incarnation) -> str | None:
    # A person who deletes or moves the issue of a command that is over, and whose hub is then restored, wants it anew.
    created = [key for key in world.witness.created[root] if key not in world.witness.taken_away]
    return f"{created} were created for the wish of command {root[0]}" if len(created) > 1 else None


def p2_one_issue_answers_for_one_wish(world: "World") -> str | None:
    answers: dict[str, Incarnation] = {}
    for row in world.commands():
        if row["type"] != "ensure_issue" or row["status"] != "done":
            continue
        result = json.loads(row["result"])
        root = world.witness.commands[row["id"], row["batch_at"]].root
        if not result.get("existed_before") and answers.setdefault(result["key"], root) != root:
            return f"{result['key']} answers for the wishes of commands {answers[result['key']][0]} and {root[0]}"
    return None


def p3_the_gap_is_kept(world: "World", agent: "AgentMachine", call: JiraCall) -> str | None:
    if call.command_id is None:
        return None
    last = world.witness.last_call.get(agent.name)
    if last is None:
        return None
    begins = (last.life, last.command_id) != (call.life, call.command_id)
    ended = last.ended if last.ended < call.started else last.started
    if begins and call.started - ended < call.pause - SLACK:
        return f"command {call.command_id} called {call.started - ended:.1f} s after the last call, not {call.pause} s"
    if last.status == 429 and call.started - ended < RATE_SECONDS - SLACK:
        return f"called {call.started - ended:.1f} s after Jira had said that it was too much"
    before = world.witness.last_write.get((agent.name, call.command_id))
    writes = [before] if before is not None and world.same_hand(before, call) else []
    if call.writes and writes and call.started - writes[-1].started < call.pause - SLACK:
        apart = call.started - writes[-1].started
        return f"two writes of command {call.command_id} are {apart:.1f} s apart, not {call.pause} s"
    return None


def p3_the_call_is_on_the_disk_before_it_leaves(world: "World", agent: "AgentMachine", call: JiraCall) -> str | None:
    journal = agent.journal
    assert journal is not None
    if journal.glued:
        return f"a {journal.glued} record was written onto a torn line, where nobody can read it"
    lost = journal.path.stat().st_size - journal.synced
    return f"{lost} bytes of the journal are not synced while {call.method} {call.path} leaves" if lost > 0 else None


def p4_three_deliveries_and_a_fair_end(world: "World", row: sqlite3.Row, event: sqlite3.Row, seen: Seen) -> str | None:
    if row["deliveries"] > 3:
        return f"command {row['id']} was delivered {row['deliveries']} times"
    if event["to_status"] == "failed" and row["error"] == NO_REPORT:
        me = (row["id"], row["batch_at"])
        made = [
            one for one, what in world.witness.delivered.items() if what == me and one in world.witness.asked_claims
        ]
        if len(made) < 3:
            return f"command {row['id']} was given up after {len(made)} claims"
    return None


def p5_a_terminal_command_never_changes(world: "World") -> str | None:
    for row in world.commands():
        seen = world.witness.commands[row["id"], row["batch_at"]]
        if row["status"] not in TERMINAL:
            if seen.end is not None:
                return f"command {row['id']} was {seen.end[0]} and is {row['status']}"
            continue
        end = (row["status"], row["error"], row["finished_at"])
        if seen.end is not None and (seen.end[:3] != end or (seen.end[3] is not None and seen.end[3] != row["result"])):
            return f"command {row['id']} was {seen.end} and is {end}"
        seen.end = (*end, row["result"])
    return None


def p6_a_reply_changes_the_agent_once(world: "World") -> str | None:
    doubly = world.witness.doubly_claimed
    return f"the answer to the claim {doubly[0]} was taken twice" if doubly else None


def p7_a_request_has_one_effect(world: "World") -> str | None:
    database = world.database()
    delivered = database.execute(
        "SELECT count(*) FROM event WHERE to_status = 'claimed' AND why LIKE 'delivery %'"
    ).fetchone()[0]
    answers = database.execute("SELECT count(*) FROM answer WHERE body LIKE '%\"pause_seconds\"%'").fetchone()[0]
    return f"{delivered} deliveries, but {answers} answers to claims" if delivered != answers else None


def p8_every_created_issue_is_known(world: "World") -> str | None:
    known = {str(row["result"]) for row in world.commands() if row["type"] == "ensure_issue"}
    known |= {row[0] for row in world.database().execute("SELECT report FROM late_result")}
    text = " ".join(known)
    present, carried_out = world.present_roots(), world.witness.carried_out
    for root, keys in world.witness.created.items():
        for key in keys:
            # Who knew of it may have lost the memory, and a person may have cancelled; carried out anew, it is found.
            forgotten = key in world.witness.forgotten
            gone = key in (world.witness.taken_away if forgotten else world.witness.deleted)
            if f'"{key}"' not in text and not gone and root in (carried_out if forgotten else present):
                return f"{key}, created for command {root[0]}, is not known to the hub"
    return None


def p9_no_write_after_the_agent_could_have_known(world: "World", agent: "AgentMachine", call: JiraCall) -> str | None:
    if not call.writes or call.command_id is None:
        return None
    assert agent.journal is not None
    if agent.journal.memory.written:
        return None
    at, status = world.witness.rechecked.get((agent.name, call.command_id), (-1e9, "never asked"))
    if status != "claimed" or call.started - at > KNOWN_SECONDS:
        ago = f"{call.started - at:.0f} s ago"
        return f"command {call.command_id} writes although the hub's last word, {ago}, was {status}"
    return None


def p10_a_report_ends_its_own_command(world: "World", row: sqlite3.Row, event: sqlite3.Row, seen: Seen) -> str | None:
    if event["from_status"] != "claimed" or event["to_status"] not in ("done", "failed") or row["error"] == NO_REPORT:
        return None
    spoken_of = world.witness.reported.get(world.hub.database.newest_key or "")
    me = (row["id"], row["batch_at"])
    if spoken_of is not None and spoken_of != me:
        return f"the report of command {spoken_of} ended command {me}"
    return None


def p11_one_command_in_flight_and_in_order(
    world: "World", row: sqlite3.Row, event: sqlite3.Row, seen: Seen
) -> str | None:
    if event["to_status"] != "claimed":
        return None
    database = world.database()
    claimed = database.execute(
        "SELECT (SELECT count(*) FROM event WHERE command_id = command.id AND why LIKE 'on hold%') AS from_copy"
        " FROM command WHERE status = 'claimed' AND held = 0"
    ).fetchall()
    # What a restored copy has as claimed is in no hand; a person's word makes it due again beside what came since.
    from_copy = event["from_status"] == "claimed" and any(one["from_copy"] for one in claimed)
    if len(claimed) > 1 and not from_copy:
        return f"{len(claimed)} commands are in flight"
    if event["from_status"] == "claimed":
        return None  # in flight before what a person approved or resumed meanwhile: it goes on
    earlier = database.execute(
        "SELECT id FROM command WHERE status = 'queued' AND held = 0 AND (batch_id, seq) < (?, ?)"
        " AND (needs IS NULL OR needs = '') LIMIT 1",
        (row["batch_id"], row["seq"]),
    ).fetchone()
    return f"command {row['id']} was delivered before {earlier[0]}" if earlier else None


def p12_everything_comes_to_rest(world: "World") -> str | None:
    left = [f"{row['id']} {row['type']} {row['status']}" for row in world.commands() if row["status"] not in TERMINAL]
    return f"not at rest: {', '.join(left)}" if left else None


def p13_done_means_that_it_was_so(world: "World", row: sqlite3.Row, event: sqlite3.Row, seen: Seen) -> str | None:
    if event["to_status"] not in ("done", "confirmed_by_state"):
        return None
    if not seen.was_true:
        return f"command {row['id']} is {event['to_status']}, but its wish was never true since its first claim"
    if row["type"] == "ensure_issue":
        key = json.loads(row["result"])["key"]
        exists = world.jira.store.issue_by_key(key) is not None or key in world.witness.deleted
        return None if exists else f"command {row['id']} is done with {key}, which never was"
    return None


def p14_skipped_if_and_only_if_the_definer_was_lost(world: "World") -> str | None:
    rows = list(world.commands())
    definers: dict[tuple[int, str], Any] = {(row["batch_id"], row["defines"]): row for row in rows if row["defines"]}
    for row in rows:
        needs = [definers.get((row["batch_id"], key)) for key in (row["needs"] or "").split()]
        lost = [one for one in needs if one is None or one["status"] in ("failed", "cancelled", "skipped")]
        if row["status"] == "skipped" and not lost:
            return f"command {row['id']} was skipped, but no definer of it was lost"
        if row["status"] == "queued" and lost and not row["held"]:
            return f"command {row['id']} waits for a definer that was lost"
    return None


Move = Callable[["World", sqlite3.Row, sqlite3.Row, Seen], str | None]
ON_MOVE: Final[tuple[Move, ...]] = (
    p4_three_deliveries_and_a_fair_end,
    p10_a_report_ends_its_own_command,
    p11_one_command_in_flight_and_in_order,
    p13_done_means_that_it_was_so,
)
ON_CALL: Final[tuple[Callable[["World", "AgentMachine", JiraCall], str | None], ...]] = (
    p3_the_gap_is_kept,
    p3_the_call_is_on_the_disk_before_it_leaves,
    p9_no_write_after_the_agent_could_have_known,
)
NOW_AND_THEN: Final[tuple[Callable[["World"], str | None], ...]] = (
    p2_one_issue_answers_for_one_wish,
    p5_a_terminal_command_never_changes,
    p6_a_reply_changes_the_agent_once,
    p7_a_request_has_one_effect,
    p14_skipped_if_and_only_if_the_definer_was_lost,
)
AT_REST: Final[tuple[Callable[["World"], str | None], ...]] = (
    *NOW_AND_THEN,
    p8_every_created_issue_is_known,
    p12_everything_comes_to_rest,
)
