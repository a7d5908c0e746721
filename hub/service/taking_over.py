"""A database that was restored from a copy, or came from elsewhere, in the open transaction (queue.md, Restored).

What was done since the copy is not in it. So nothing of it goes out until a person says so, the mirror is read anew
first, and nothing new bears an id that may have been used before.
"""

import json
from dataclasses import dataclass
from typing import Final

from hub.errors import Refusal, Said
from hub.restoring import ID_JUMP, Epochs, Mark, Standing, is_restored
from hub.service.batches import create_batch
from hub.service.settings import MAIN, put_setting, value_of
from hub.store.connection import Transaction
from protocol.commands import MAX_KEYS, command_from, keys_touched
from protocol.keys import is_temporary
from protocol.messages import TERMINAL

AUTHOR: Final = "restore"
MAX_REFRESHES: Final = 50  # of a thousand keys each; a larger mirror is read on by the automatic refresh
_WHY: Final = "on hold: the database was restored from a copy"


@dataclass(frozen=True, slots=True)
class TakenOver:
    """What was done: the new epoch, the commands on hold, the batches that read the mirror anew, by link."""

    epoch: str
    held: int
    refreshes: dict[str, int]


def begin_life(
    transaction: Transaction, mark: Mark | None, fresh_epochs: tuple[str, str]
) -> tuple[str, TakenOver | None]:
    """The epoch to work under; a database that is not the one of `mark` is taken over first."""
    was = standing(transaction, fresh_epochs[0])
    if mark is None or not is_restored(mark, was):
        return was.epoch, None
    taken = take_over(transaction, was, mark, fresh_epochs[1])
    return taken.epoch, taken


def standing(transaction: Transaction, fresh_epoch: str) -> Standing:
    """What the database says of itself; `fresh_epoch` becomes its own where it has none yet."""
    epoch = value_of(transaction, MAIN, "epoch")
    if epoch is None:
        put_setting(transaction, MAIN, "epoch", fresh_epoch)
        epoch = fresh_epoch
    newest = transaction.one("newest_event_id")
    assert newest is not None  # an aggregate always has its row
    return Standing(epoch, newest["id"], tuple(json.loads(value_of(transaction, MAIN, "former_epochs") or "[]")))


def epochs(transaction: Transaction, today: str) -> Epochs:
    """Which command stems from which epoch."""
    bounds = json.loads(value_of(transaction, MAIN, "epoch_bounds") or "[]")
    return Epochs(today, tuple((newest, epoch) for newest, epoch in bounds))


def take_over(transaction: Transaction, was: Standing, mark: Mark, fresh_epoch: str) -> TakenOver:
    """A new epoch, ids far above the old ones, everything open on hold, and a reading of the mirror before it."""
    former = list(dict.fromkeys((*was.former, was.epoch, mark.epoch)))
    put_setting(transaction, MAIN, "epoch", fresh_epoch)
    put_setting(transaction, MAIN, "former_epochs", json.dumps(former))
    ids = transaction.one("newest_ids")
    assert ids is not None
    bounds = [*json.loads(value_of(transaction, MAIN, "epoch_bounds") or "[]"), [ids["command_id"], was.epoch]]
    put_setting(transaction, MAIN, "epoch_bounds", json.dumps(bounds))
    put_setting(transaction, MAIN, "batch_id_floor", str(ids["batch_id"] + ID_JUMP))
    put_setting(transaction, MAIN, "command_id_floor", str(ids["command_id"] + ID_JUMP))
    keys: dict[str, dict[str, None]] = {row["link"]: {} for row in transaction.all("links_with_issues")}
    open_rows = transaction.all("open_commands")
    first_event = max(was.event_id, mark.event_id) + ID_JUMP
    for index, row in enumerate(open_rows):
        move = {"from_status": row["status"], "to_status": row["status"], "why": _WHY, "at": transaction.now}
        transaction.run("add_event_at", id=first_event + index, link=row["link"], command_id=row["id"], **move)
        touched = keys_touched(command_from(row["type"], json.loads(row["params"])))
        keys.setdefault(row["link"], {}).update(dict.fromkeys(key for key in touched if not is_temporary(key)))
    transaction.run("hold_open_batches")
    transaction.run("hold_open_commands")
    refreshes = {link: batch for link in keys if (batch := _refresh(transaction, link, keys[link])) is not None}
    return TakenOver(fresh_epoch, len(open_rows), refreshes)


def check_mirror_was_read(transaction: Transaction, link: str, batch_id: int) -> None:
    """Refuses to let a batch of before the restoring go on while the mirror is still to be read anew."""
    refresh = value_of(transaction, link, "restored_refresh")
    if refresh is None or batch_id >= int(refresh):
        return
    if {row["status"] for row in transaction.all("batch_counts", batch_id=int(refresh))} <= TERMINAL:
        return
    raise Refusal(
        "conflict",
        Said(
            f"the database was restored: the mirror is read anew first (batch {refresh})",
            f"база восстановлена из копии: сначала обновляется зеркало (пакет {refresh})",
        ),
        hint=Said(
            f"wait for the agent; to go on without it: jira-hub batch cancel {refresh}",
            f"дождитесь агента; продолжить без него: jira-hub batch cancel {refresh}",
        ),
    )


def _refresh(transaction: Transaction, link: str, touched: dict[str, None]) -> int | None:
    rows = transaction.all("mirrored_keys", link=link, limit=MAX_KEYS * MAX_REFRESHES)
    keys = list(dict.fromkeys((*touched, *(row["key"] for row in rows))))[: MAX_KEYS * MAX_REFRESHES]
    if not keys:
        return None
    raw = [{"type": "refresh", "keys": keys[start : start + MAX_KEYS]} for start in range(0, len(keys), MAX_KEYS)]
    batch = int(create_batch(transaction, link, AUTHOR, "Mirror of a restored database", raw)["id"])
    put_setting(transaction, link, "restored_refresh", str(batch))
    return batch
