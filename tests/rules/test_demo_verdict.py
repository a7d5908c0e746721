"""The demo's own judge must see what it is there to see: a write twice, a pause too short."""

from examples.demo.verdict import Call, Work, duplicate_writes, margins, verdict

GAPS = {"ensure_issue": 10.0, "ensure_link": 3.0, "refresh": 1.0}
POST = "/rest/api/2/issue"


def read(at: float) -> Call:
    return Call(at, "POST", "/rest/api/2/search", {"jql": "x"}, wrote=False)


def write(at: float, path: str = POST, body: object = None) -> Call:
    return Call(at, "POST", path, body, wrote=True)


def work(
    number: int, command_type: str, start: float, end: float | None, status: str = "done", deliveries: int = 1
) -> Work:
    return Work(number, command_type, status, deliveries, start, end)


def test_the_same_write_again_is_a_duplicate_and_another_is_not() -> None:
    assert duplicate_writes([write(1, body={"a": 1}), write(2, body={"a": 2}), read(3), read(4)]) == 0
    assert duplicate_writes([write(1, body={"a": 1, "b": 2}), write(9, body={"b": 2, "a": 1})]) == 1


def test_a_write_that_jira_did_not_execute_is_no_duplicate() -> None:
    refused = Call(2, "POST", POST, {"a": 1}, wrote=False)
    assert duplicate_writes([write(1, body={"a": 1}), refused]) == 0


def test_the_first_call_of_a_command_owes_the_gap_since_the_last_call_of_any_kind() -> None:
    works = [work(1, "ensure_issue", 0, 20), work(2, "ensure_link", 21, 40)]
    assert margins([read(12), write(12.1), read(24)], works, GAPS, []) == [24 - 12.1 - 3.0]
    assert margins([read(12), write(19.9), read(21.5)], works, GAPS, [])[0] < 0


def test_writes_of_one_command_owe_the_gap_between_them_and_reads_do_not() -> None:
    works = [work(1, "ensure_link", 0, 100)]
    assert margins([read(1), read(1.1), write(1.2), read(1.3), write(5.0)], works, GAPS, []) == [5.0 - 1.2 - 3.0]


def test_after_a_death_of_the_agent_the_gap_is_owed_again() -> None:
    works = [work(1, "ensure_issue", 0, 100)]
    calls = [read(1), write(1.1), read(4)]
    assert margins(calls, works, GAPS, []) == []
    assert margins(calls, works, GAPS, [2.0]) == [4 - 1.1 - 10.0]


def test_a_clean_run_holds_and_each_blemish_breaks_it() -> None:
    works = [work(1, "ensure_issue", 0, 5, deliveries=2)]
    good = verdict([read(1), write(1.1)], works, gaps=GAPS, kills=[1.05], frames_lost=3, seconds=7)
    assert not good.holds  # the write followed the kill at once: a broken gap
    assert good.gaps_broken == 1
    good = verdict([read(1), write(1.1)], works, gaps=GAPS, kills=[0.5], frames_lost=3, seconds=7)
    assert good.holds
    assert (good.done, good.redeliveries, good.issues_created, good.jira_calls) == (1, 1, 1, 2)
    for calls, kills, lost, command in [
        ([write(1), write(2)], [0.5], 3, works),
        ([write(1)], [], 3, works),
        ([write(1)], [0.5], 0, works),
        ([write(1)], [0.5], 3, [work(1, "ensure_issue", 0, 5, status="failed")]),
        ([write(1)], [0.5], 3, [work(1, "ensure_issue", 0, None, status="claimed")]),
    ]:
        assert not verdict(calls, command, gaps=GAPS, kills=kills, frames_lost=lost, seconds=7).holds
