"""How far a batch is, as `watch` tells it: counts, the pause that is left, what has moved."""

from typing import Any

from hub.cli.output import duration, one_line, printable
from hub.cli.progress import changes, progress

GAPS = {"ensure_fields": 120.0, "ensure_comment": 30.0, "refresh": 2.0}
NOW = 1_800_000_000.0
CLAIMED_AT = "2027-01-15T07:59:20Z"  # forty seconds before NOW


def command(number: int, status: str, command_type: str = "ensure_fields", **more: Any) -> dict[str, Any]:
    return {"id": number, "type": command_type, "status": status, "params": {}, **more}


def test_a_batch_is_at_rest_when_every_command_is() -> None:
    commands = [command(1, "done"), command(2, "failed"), command(3, "skipped"), command(4, "confirmed_by_state")]
    where = progress(commands, GAPS, NOW)
    assert (where.at_rest, where.finished, where.failed, where.seconds_left) == (True, 4, 1, 0.0)


def test_the_pause_counts_down_from_the_claim() -> None:
    where = progress([command(1, "claimed", claimed_at=CLAIMED_AT)], GAPS, NOW)
    assert where.pause_seconds == 80.0


def test_a_pause_is_over_when_its_gap_is_and_never_longer_than_the_gap() -> None:
    claimed = [command(1, "claimed", claimed_at=CLAIMED_AT)]
    assert progress(claimed, GAPS, NOW + 3600).pause_seconds == 0.0
    assert progress(claimed, GAPS, NOW - 3600).pause_seconds == 120.0


def test_what_is_left_is_the_gaps_of_what_waits_and_the_rest_of_the_pause() -> None:
    commands = [
        command(1, "done"),
        command(2, "claimed", claimed_at=CLAIMED_AT),
        command(3, "queued", "ensure_comment"),
        command(4, "queued", "refresh"),
    ]
    where = progress(commands, GAPS, NOW)
    assert (where.seconds_left, where.ends_at) == (112.0, NOW + 112.0)


def test_only_what_moved_is_told() -> None:
    commands = [command(1, "done"), command(2, "claimed"), command(3, "queued")]
    assert [each.command["id"] for each in changes({}, commands)] == [1, 2]
    assert [each.command["id"] for each in changes({1: "done", 2: "queued"}, commands)] == [2]
    assert [(each.finished, each.total) for each in changes({1: "done"}, commands)] == [(1, 3)]


def test_a_terminal_is_given_no_controls_from_a_text_of_jira() -> None:
    assert printable("a\x1b[31mb\u202ec\r\n") == "a\ufffd[31mb\ufffdc\ufffd\n"
    assert one_line("two\n lines", 20) == "two lines"
    assert one_line("a long text", 6) == "a lon…"


def test_durations_read_as_people_say_them() -> None:
    assert [duration(seconds) for seconds in (0.4, 59, 60, 200, 3600, 7_500)] == [
        "0 s",
        "59 s",
        "1 min",
        "3 min 20 s",
        "1 h 0 min",
        "2 h 5 min",
    ]
