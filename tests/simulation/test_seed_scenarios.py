"""The thirteen scenarios of the seeds, each under its name, through the real API and the real executors."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from protocol.commands import DEFAULT_GAPS
from protocol.errors import NO_REPORT
from tests.simulation.bridge import Bridge


@pytest.fixture
def bridge(tmp_path: Path) -> Iterator[Bridge]:
    built = Bridge(tmp_path)
    yield built
    built.close()


def fields(key: str, **wishes: Any) -> dict[str, Any]:
    return {"type": "ensure_fields", "key": key, **wishes}


def link(source: str, target: str, link_type: str, *, replace: bool = False) -> dict[str, Any]:
    return {"type": "ensure_link", "source": source, "target": target, "link_type": link_type, "replace": replace}


def issue(temp_key: str, summary: str, **wishes: Any) -> dict[str, Any]:
    return {"type": "ensure_issue", "temp_key": temp_key, "summary": summary, **wishes}


def test_scenario_repeat_of_a_done_command(bridge: Bridge) -> None:
    first = bridge.apply(fields("AURORA-1533", duedate="2026-10-23"))
    bridge.work()
    second = bridge.apply(fields("AURORA-1533", duedate="2026-10-23"))
    before = len(bridge.jira_writes())
    bridge.work()

    assert bridge.command(first[0])["status"] == "done"
    repeated = bridge.command(second[0])
    assert (repeated["status"], repeated["jira_calls"]) == ("done", 1)
    assert len(bridge.jira_writes()) == before


def test_scenario_link_replaced(bridge: Bridge) -> None:
    assert bridge.jira_links("AURORA-1537", "AURORA-1538") == ["Блокировка"]
    (command, *_rest) = bridge.apply(link("AURORA-1537", "AURORA-1538", "связанные", replace=True))
    bridge.work()

    done = bridge.command(command)
    assert done["status"] == "done"
    delete, post = bridge.jira_writes()
    assert (delete["method"], post["method"]) == ("DELETE", "POST")
    assert post["wall"] - delete["wall"] >= DEFAULT_GAPS["ensure_link"]
    assert len(done["result"]["operations"]) == 2
    assert bridge.jira_links("AURORA-1537", "AURORA-1538") == ["Связь"]


def test_scenario_conflicting_link_without_replace(bridge: Bridge) -> None:
    assert bridge.jira_links("AURORA-1537", "AURORA-1538") == ["Блокировка"]
    (command, *_rest) = bridge.apply(link("AURORA-1537", "AURORA-1538", "связанные"))
    bridge.work()

    failed = bridge.command(command)
    assert failed["status"] == "failed"
    assert "блокирует начало" in failed["error"]
    assert "AURORA-1537" in failed["error"]
    assert "AURORA-1538" in failed["error"]
    assert bridge.jira_writes() == []
    assert bridge.jira_links("AURORA-1537", "AURORA-1538") == ["Блокировка"]


def test_scenario_transition_along_a_path(bridge: Bridge) -> None:
    key = bridge.an_issue_in("Ожидание разработки")
    wish = {"type": "ensure_status", "key": key, "target": ["Разработка", "Готово"]}
    (command, *_rest) = bridge.apply(wish)
    bridge.work()

    assert bridge.command(command)["status"] == "done"
    first, second = bridge.jira_writes()
    assert first["path"] == second["path"] == f"/rest/api/2/issue/{key}/transitions"
    assert second["wall"] - first["wall"] >= DEFAULT_GAPS["ensure_status"]
    assert bridge.jira_issue(key)["status"] == "Готово"

    (again, *_rest) = bridge.apply(wish)
    bridge.work()
    assert bridge.command(again)["status"] == "done"
    assert len(bridge.jira_writes()) == 2


def test_scenario_create_with_a_duplicate_check(bridge: Bridge) -> None:
    """The agent dies right after Jira created the issue; an hour later it runs again."""
    (command, *_rest) = bridge.apply(issue("new:1", "Отчёт"))
    bridge.kill_agent_after_the_next_write()
    assert bridge.command(command)["status"] == "claimed"
    bridge.clock.sleep(3600)
    bridge.start_agent()
    bridge.work()

    done = bridge.command(command)
    assert done["status"] == "done"
    (created,) = bridge.jira_issues("Отчёт")
    assert done["result"]["key"] == created["key"]


def test_scenario_create_and_link(bridge: Bridge) -> None:
    creation, linking, *_rest = bridge.apply(
        issue("new:60", "Отчёт по связям"), link("new:60", "AURORA-1537", "связанные")
    )
    assert bridge.command(linking)["params"]["source"] == "new:60"
    bridge.work()

    key = bridge.command(creation)["result"]["key"]
    linked = bridge.command(linking)
    assert linked["status"] == "done"
    assert linked["params"]["source"] == key
    assert bridge.command(creation)["finished_at"] <= linked["claimed_at"]
    assert bridge.jira_links(key, "AURORA-1537") == ["Связь"]


def test_scenario_estimate(bridge: Bridge) -> None:
    comment = {"type": "ensure_comment", "key": "AURORA-1533", "body": "текст"}
    batch = bridge.batch(
        *(fields(f"AURORA-{number}", duedate="2026-10-23") for number in (1533, 1537, 1538)),
        *({**comment, "marker": f"plan:{number}"} for number in (1, 2)),
    )
    assert [command["type"] for command in batch["commands"]][-1] == "refresh"
    assert batch["estimate_seconds"] == 3 * 120 + 2 * 30 + 2


def test_scenario_two_issues_with_one_summary(bridge: Bridge) -> None:
    refused = bridge.post_batch(issue("new:1", "Отчёт"), issue("new:2", " Отчёт "))
    assert refused.status_code == 422
    assert "«Отчёт»" in refused.text
    assert bridge.batches() == []


def test_scenario_no_next_command_no_pause(bridge: Bridge) -> None:
    """An empty queue answers empty; the agent asks again no later than the long poll would end, gaps or no gaps."""
    before = bridge.clock.monotonic()
    wake = bridge.step()
    assert bridge.agent_is_idle()
    assert wake - before <= 25


def test_scenario_report_lost_fact_in_place(bridge: Bridge) -> None:
    """The agent moves the issue and is lost with its disk; a refresh that was claimed as well shows the sprint."""
    command, refresh = bridge.apply({"type": "ensure_sprint", "key": "AURORA-1533", "sprint": "Спринт 2"})
    bridge.kill_agent_after_the_next_write()
    bridge.also_claimed(refresh)
    bridge.lose_journal()
    bridge.start_agent()
    bridge.work()

    confirmed = bridge.command(command)
    assert confirmed["status"] == "confirmed_by_state"
    assert confirmed["finished_at"] is not None
    assert bridge.command(refresh)["status"] == "done"


def test_scenario_answer_to_a_claim_lost(bridge: Bridge) -> None:
    first, second, *_rest = bridge.apply(
        fields("AURORA-1533", duedate="2026-10-23"), fields("AURORA-1537", duedate="2026-10-23")
    )
    assert bridge.claim_by_hand()["id"] == first  # and the answer never arrives
    again = bridge.claim_by_hand()
    assert (again["id"], again["delivery"]) == (first, 2)
    assert bridge.command(first)["deliveries"] == 2
    assert bridge.command(second)["status"] == "queued"


def test_scenario_delivery_limit(bridge: Bridge) -> None:
    first, second, *_rest = bridge.apply(
        fields("AURORA-1533", duedate="2026-10-23"), fields("AURORA-1537", duedate="2026-10-23")
    )
    for delivery in (1, 2, 3):
        claimed = bridge.claim_by_hand()
        assert (claimed["id"], claimed["delivery"]) == (first, delivery)
    assert bridge.claim_by_hand()["id"] == second
    failed = bridge.command(first)
    assert (failed["status"], failed["error"]) == ("failed", NO_REPORT)
    assert failed["finished_at"] is not None


def test_scenario_lost_report_of_a_creation(bridge: Bridge) -> None:
    """Journal and all are lost with the agent; a new one is handed the creation again and finds the issue."""
    bridge.note("new:5", "обсудить с отделом")
    (command, *_rest) = bridge.apply(issue("new:5", "Отчёт"))
    bridge.kill_agent_after_the_next_write()
    bridge.lose_journal()
    bridge.clock.sleep(600)
    bridge.start_agent()
    bridge.work()

    done = bridge.command(command)
    (created,) = bridge.jira_issues("Отчёт")
    assert (done["status"], done["deliveries"]) == ("done", 2)
    assert done["result"]["key"] == created["key"]
    assert bridge.note_of(created["key"]) == "обсудить с отделом"
    assert bridge.note_of("new:5") is None
