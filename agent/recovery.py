"""What the journal tells after a start, and what to do about it: pure functions of its records. No I/O in here.

Records are folded by position, never by command id alone: a restored hub may give the same id out again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, assert_never

from agent.pacing import LastCall
from agent.records import (
    Answered,
    AnyRecord,
    Call,
    Claim,
    Claimed,
    Closed,
    Creation,
    Finished,
    Intent,
    Recovering,
    Reported,
    Session,
    Step,
    Stopped,
)
from agent.writes import CREATION
from protocol.commands import CommandType
from protocol.messages import Delivery, Status

DAY: Final = 86_400.0
MAX_CLAIMS: Final = 10_000  # of a day that are remembered; more than one in nine seconds nobody paces
MAX_CREATIONS: Final = (
    50  # that are remembered by their root: a person's retry follows within days, not thousands later
)
MAX_CRASHES: Final = 3  # a command that kills the agent at each attempt must not hold the queue (L1)
MAX_LOOK_UPS: Final = 3  # lives spent on finding out what it made before it was given up; they may end as well


@dataclass(frozen=True, slots=True)
class Memory:
    """What the agent knows: the fold of its journal.

    `unsettled` is a write whose outcome nobody knows; `written` are the texts of the writes that were done;
    `claimed_at` are the wall times of the claims of the day before the newest one. `creations` outlive their command:
    its retry shares the root, and must neither make a second one nor trust a search that is too young (P1).
    """

    session: str | None = None
    open_claim: str | None = None
    delivery: Delivery | None = None
    unsettled: Intent | None = None
    tried_to_create: bool = False
    written: tuple[str, ...] = ()
    created_key: str | None = None
    calls: int = 0
    rate_limited: int = 0
    finished: Finished | None = None
    recoveries: int = 0
    stopped: bool = False
    last_call: LastCall | None = None
    newest_own_key: str | None = None
    claimed_at: tuple[float, ...] = ()
    creations: tuple[Creation, ...] = ()


def remembered(memory: Memory, record: AnyRecord) -> Memory:
    """`memory` after one more record."""
    memory = replace(memory, stopped=isinstance(record, Stopped)) if memory.stopped else memory
    match record:
        case Session():
            own = record.newest_own_key or memory.newest_own_key
            claims = memory.claimed_at if record.claimed_at is None else record.claimed_at
            made = memory.creations if record.creations is None else record.creations
            return replace(memory, session=record.session, newest_own_key=own, claimed_at=claims, creations=made)
        case Claim():
            return replace(memory, open_claim=record.request_id)
        case Claimed():
            claims = (*memory.claimed_at, record.at)
            recent = tuple(at for at in claims if at > record.at - DAY)[-MAX_CLAIMS:]
            taken = replace(_empty_handed(memory), open_claim=None, delivery=record.delivery, claimed_at=recent)
            return _recalled(taken, record.delivery)
        case Call() | Answered():
            return _after_call(memory, record)
        case Intent() | Step():
            return _after_write(memory, record)
        case Finished():
            return replace(memory, finished=record) if _is_ours(memory, record.command_id) else memory
        case Reported() | Closed():
            return _empty_handed(memory)
        case Recovering():
            return replace(memory, recoveries=memory.recoveries + 1)
        case Stopped():
            return replace(memory, stopped=True)
        case _:
            assert_never(record)


def _is_ours(memory: Memory, command_id: int | None) -> bool:
    return memory.delivery is not None and memory.delivery.id == command_id


def _empty_handed(memory: Memory) -> Memory:
    return Memory(
        session=memory.session,
        open_claim=memory.open_claim,
        last_call=memory.last_call,
        newest_own_key=memory.newest_own_key,
        claimed_at=memory.claimed_at,
        creations=memory.creations,
    )


_MAKERS: Final[frozenset[CommandType]] = frozenset({"ensure_issue", "ensure_comment"})


def root_of(delivery: Delivery) -> str | None:
    """What the command and its retries have in common, where they make something that must be made once."""
    if delivery.type == "ensure_issue":
        return delivery.identity
    if delivery.type == "ensure_comment":
        return f"{delivery.params.get('key')} {delivery.params.get('marker')}"
    return None


def _makes(delivery: Delivery, write: str) -> bool:
    """Whether this write of the command is the one that must not be done twice."""
    return write == CREATION or (delivery.type == "ensure_comment" and write.startswith("POST "))


def _recalled(memory: Memory, delivery: Delivery) -> Memory:
    """With what an earlier command of the same root has made, or may have made."""
    root = root_of(delivery)
    known = next((one for one in memory.creations if one.root == root), None)
    if known is None:
        return memory
    intent = None if known.intent is None else known.intent.model_copy(update={"command_id": delivery.id})
    return replace(memory, unsettled=intent, tried_to_create=True)


def made_key(memory: Memory) -> str | None:
    """The issue Jira has created for the command in hand, or for an earlier one of the same root."""
    root = None if memory.delivery is None else root_of(memory.delivery)
    recalled = next((one.key for one in memory.creations if one.root == root), None)
    return memory.created_key or recalled


def _creations_after(memory: Memory, record: Intent | Step) -> tuple[Creation, ...]:
    delivery = memory.delivery
    root = None if delivery is None else root_of(delivery)
    if delivery is None or root is None or not _makes(delivery, record.write):
        return memory.creations
    others = [one for one in memory.creations if one.root != root]
    if isinstance(record, Intent):
        others.append(Creation(at=record.at, root=root, intent=record))
    elif record.outcome == "not done":
        others.append(Creation(at=record.at, root=root))
    elif delivery.type == "ensure_issue":
        if record.created_key is None:
            return memory.creations  # a namesake was there: what became of our own creation stays open
        others.append(Creation(at=record.at, root=root, key=record.created_key))
    # Too many: what is settled goes first, a search will find it; then the oldest, by position, not by a clock.
    return tuple(sorted(others, key=lambda one: one.intent is not None)[-MAX_CREATIONS:])


def _after_call(memory: Memory, record: Call | Answered) -> Memory:
    if isinstance(record, Call):
        counted = memory.calls + _is_ours(memory, record.command_id)
        last = LastCall(record.boot_id, record.monotonic, ended=None)
        return replace(memory, last_call=last, calls=counted)
    last = LastCall(record.boot_id, record.monotonic, ended=record.monotonic)
    return replace(memory, last_call=last, rate_limited=memory.rate_limited + (record.outcome == "O8"))


def _after_write(memory: Memory, record: Intent | Step) -> Memory:
    if not _is_ours(memory, record.command_id):
        return memory
    memory = replace(memory, creations=_creations_after(memory, record))
    if isinstance(record, Intent):
        assert memory.delivery is not None
        return replace(memory, unsettled=record, tried_to_create=memory.delivery.type in _MAKERS)
    written = (*memory.written, record.write) if record.outcome == "done" else memory.written
    return replace(
        memory,
        unsettled=None,
        written=written,
        created_key=record.created_key or memory.created_key,
        newest_own_key=record.created_key or memory.newest_own_key,
    )


def memory_of(records: Iterable[AnyRecord | None]) -> Memory:
    """The fold of a whole journal; `None` stands for a damaged line.

    A damaged line may have been a `call`: the last call is forgotten then, which costs one full gap and never less.
    """
    memory = Memory()
    for record in records:
        memory = replace(memory, last_call=None) if record is None else remembered(memory, record)
    return memory


@dataclass(frozen=True, slots=True)
class SendReport:
    finished: Finished


@dataclass(frozen=True, slots=True)
class AskHub:
    """A command is in hand from an earlier life: what does the hub say about it today?"""

    delivery: Delivery


@dataclass(frozen=True, slots=True)
class GiveUp:
    """It has killed the agent too often: report it failed, unexecuted.

    `look_up`: it may have created an issue that nobody knows of; one read-only search first, the hub must know (P8).
    """

    delivery: Delivery
    look_up: bool = False


def given_up(memory: Memory) -> str:
    """The error of a command that was given up."""
    tried = memory.unsettled is not None or memory.written
    outcome = "что из неё выполнено, видно в Jira" if tried else "она не выполнена"
    return f"агент упал на этой команде {MAX_CRASHES} раза подряд; {outcome}"


def known_result(memory: Memory) -> dict[str, Any]:
    """What is to be told of a command that did not come to its end: the issue it created, what it wrote (P8)."""
    told = {"operations": list(memory.written), "key": made_key(memory)}
    return {name: value for name, value in told.items() if value}


@dataclass(frozen=True, slots=True)
class Resend:
    """A claim that may have been answered: once more, under the same request id."""

    request_id: str


@dataclass(frozen=True, slots=True)
class StartClean:
    pass


def first_thing(memory: Memory) -> SendReport | AskHub | GiveUp | Resend | StartClean:
    """What a freshly started agent does first."""
    if memory.finished is not None:
        return SendReport(memory.finished)
    if memory.delivery is not None:
        crashed = memory.recoveries + 1 if not memory.stopped else memory.recoveries
        if crashed < MAX_CRASHES:
            return AskHub(memory.delivery)
        return GiveUp(memory.delivery, _may_have_created(memory) and crashed < MAX_CRASHES + MAX_LOOK_UPS)
    if memory.open_claim is not None:
        return Resend(memory.open_claim)
    return StartClean()


def _may_have_created(memory: Memory) -> bool:
    unsettled = memory.unsettled is not None and memory.unsettled.write == CREATION
    return unsettled and made_key(memory) is None


def next_claim_in(memory: Memory, commands_a_day: int | None, wall: float) -> float:
    """Seconds until one more claim is within the limit of a day; 0 now.

    By wall time, the only clock that outlives a boot; a claim that seems to lie in the future counts as just made.
    """
    if commands_a_day is None or len(memory.claimed_at) < commands_a_day:
        return 0.0
    oldest = min(memory.claimed_at[-commands_a_day], wall)
    return max(0.0, oldest + DAY - wall)


@dataclass(frozen=True, slots=True)
class Execute:
    delivery: Delivery


@dataclass(frozen=True, slots=True)
class LookUp:
    """Terminal at the hub, but the issue may exist: one read-only search, and its key is reported (H13)."""

    delivery: Delivery


@dataclass(frozen=True, slots=True)
class Close:
    why: str
    orphan: bool = False


def after_hub(memory: Memory, delivery: Delivery, today: Delivery | None) -> Execute | LookUp | Close:
    """What to do with the command in hand, given the hub's answer about it; `None`: the hub does not know it."""
    if today is None:
        return Close("the hub does not know this command", orphan=True)
    if today.status == "claimed":
        # Parameters and pause are today's: the policy may have changed while we were dead.
        return Execute(today)
    if today.type == "ensure_issue" and memory.tried_to_create and today.status in _MAY_LEARN_A_KEY:
        return LookUp(delivery)
    return Close(f"the hub says {today.status}")


_MAY_LEARN_A_KEY: Final[frozenset[Status]] = frozenset({"cancelled", "failed"})


def condensed(memory: Memory, at: float) -> tuple[AnyRecord, ...]:
    """The few records that stand for everything an agent with empty hands must still know."""
    records: list[AnyRecord] = []
    if memory.session is not None:
        own, claims, made = memory.newest_own_key, memory.claimed_at, memory.creations
        records.append(Session(at=at, session=memory.session, newest_own_key=own, claimed_at=claims, creations=made))
    if memory.open_claim is not None:
        records.append(Claim(at=at, request_id=memory.open_claim))
    if memory.last_call is not None:
        last = memory.last_call
        records.append(Call(at=at, request="compacted", boot_id=last.boot_id, monotonic=last.started))
        if last.ended is not None:
            records.append(Answered(at=at, boot_id=last.boot_id, monotonic=last.ended, outcome="compacted"))
    return tuple(records)
