"""The mirror through the API: search, filters, what is gone or has moved, and the notes that go along."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faces.filled_mirror import fill
from tests.faces.small_hub import ENGINES, SmallHub, hub_on

ISSUES: list[dict[str, Any]] = [
    {"key": "AURORA-1533", "summary": "Сверка ОСТАТКОВ", "description": "за октябрь 100%", "status": "Открыто"},
    {"key": "AURORA-1534", "summary": "Отчёт по складу", "status": "Готово", "labels": ["склад", "q4"]},
    {"key": "BOREAS-7", "summary": "Report of Ц-5", "status": "Открыто", "issue_type": "Задача", "priority": "High"},
    {"key": "BOREAS-15", "summary": "x", "assignee": "anna", "epic_key": "BOREAS-7", "sprint": "Спринт 1"},
]


@pytest.fixture(params=ENGINES)
def hub(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallHub]:
    with hub_on(request.param, request, tmp_path) as made:
        fill(made.service, *ISSUES, missing=["AURORA-9"], moved={"AURORA-8": "BOREAS-7"})
        yield made


def found(hub: SmallHub, **query: Any) -> list[str]:
    answer = hub.people.get("/api/v1/issues", params=query)
    assert answer.status_code == 200, answer.text
    return [item["key"] for item in answer.json()["items"]]


@pytest.mark.parametrize(("name", "given", "right"), [("status", "Готво", "Готово"), ("priority", "Hihg", "High")])
def test_a_name_that_no_issue_has_is_answered_with_the_nearest(
    hub: SmallHub, name: str, given: str, right: str
) -> None:
    answer = hub.people.get("/api/v1/issues", params={name: given}).json()
    assert answer["items"] == []
    assert answer["hint"] == f"no issue of the mirror has the {name} «{given}»; did you mean «{right}»?"
    assert "hint" not in hub.people.get("/api/v1/issues", params={name: right}).json()


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("остатков", ["AURORA-1533"]),
        ("СВЕРКА", ["AURORA-1533"]),
        ("тат", ["AURORA-1533"]),
        ("октябрь сверка", ["AURORA-1533"]),
        ("октябрь отчёт", []),
        ("1534", ["AURORA-1534"]),
        ("oreas-1", ["BOREAS-15"]),
        ("15", ["AURORA-1533", "AURORA-1534", "BOREAS-15"]),
        ("ц-", ["BOREAS-7"]),
        ("report ц", ["BOREAS-7"]),
        ("по отчёт", ["AURORA-1534"]),
        ("100%", ["AURORA-1533"]),
        ('"', []),
        ("*", []),
        ("AND OR NOT", []),
        ("summary:x", []),
    ],
)
def test_parts_of_words_and_keys_are_found_in_either_case(hub: SmallHub, text: str, keys: list[str]) -> None:
    assert found(hub, text=text) == keys


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ({"status": "Готово"}, ["AURORA-1534"]),
        ({"type": "Задача"}, ["BOREAS-7"]),
        ({"priority": "High"}, ["BOREAS-7"]),
        ({"assignee": "anna"}, ["BOREAS-15"]),
        ({"epic": "BOREAS-7"}, ["BOREAS-15"]),
        ({"sprint": "Спринт 1"}, ["BOREAS-15"]),
        ({"label": "q4"}, ["AURORA-1534"]),
        ({"label": "q"}, []),
        ({"state": "missing"}, ["AURORA-9"]),
        ({"state": "moved"}, ["AURORA-8"]),
        ({"state": "present", "text": "aurora"}, ["AURORA-1533", "AURORA-1534"]),
        ({"status": "Открыто", "text": "15"}, ["AURORA-1533"]),
    ],
)
def test_filters_narrow_what_is_found(hub: SmallHub, query: dict[str, str], keys: list[str]) -> None:
    assert found(hub, **query) == keys


@pytest.mark.parametrize("text", [None, "15", "aurora"])
def test_pages_follow_one_another_without_a_gap(hub: SmallHub, text: str | None) -> None:
    whole = found(hub, **({"text": text} if text else {}))
    paged: list[str] = []
    cursor = None
    for _ in range(10):
        query = {"limit": 1, **({"text": text} if text else {}), **({"cursor": cursor} if cursor else {})}
        page = hub.people.get("/api/v1/issues", params=query).json()
        paged += [item["key"] for item in page["items"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert paged == whole


def test_a_cursor_of_another_list_is_refused(hub: SmallHub) -> None:
    answer = hub.people.get("/api/v1/issues", params={"text": "сверка", "cursor": "AURORA-1"})
    assert (answer.status_code, answer.json()["field"]) == (422, "cursor")


def test_what_an_issue_is_called_now_is_found_and_what_it_was_called_is_not(hub: SmallHub) -> None:
    fill(hub.service, {"key": "AURORA-1533", "summary": "Инвентаризация"})
    assert found(hub, text="сверка") == []
    assert found(hub, text="инвентар") == ["AURORA-1533"]


def test_the_state_of_an_issue_is_shown(hub: SmallHub) -> None:
    shown = {key: hub.people.get(f"/api/v1/issues/{key}").json()["state"] for key in ("AURORA-1533", "AURORA-9")}
    assert shown == {"AURORA-1533": "present", "AURORA-9": "missing"}
    fill(hub.service, {"key": "AURORA-9", "summary": "back"})
    assert hub.people.get("/api/v1/issues/AURORA-9").json()["state"] == "present"


def test_a_note_goes_along_with_an_issue_that_moves(hub: SmallHub) -> None:
    hub.people.put("/api/v1/notes/AURORA-1533", json={"text": "ask Boris"})
    hub.people.put("/api/v1/notes/OTHER-2", json={"text": "old"})
    fill(hub.service, {"key": "OTHER-2"}, moved={"AURORA-1533": "OTHER-2"})
    assert hub.people.get("/api/v1/notes/OTHER-2").json()["text"] == "old\n\nask Boris"
    assert hub.people.get("/api/v1/notes/AURORA-1533").status_code == 404
    fill(hub.service, {"key": "OTHER-2"}, moved={"AURORA-1533": "OTHER-2"})  # read again: nothing is said twice
    assert hub.people.get("/api/v1/notes/OTHER-2").json()["text"] == "old\n\nask Boris"


@pytest.mark.parametrize("hub", ["memory", "file"], indirect=True)
def test_the_index_holds_exactly_what_the_mirror_holds(hub: SmallHub) -> None:
    for turn in range(3):
        fill(hub.service, *({**issue, "summary": f"{issue['summary']} {turn}"} for issue in ISSUES))
    # The index compares itself with the table it belongs to, and raises where they differ.
    hub.database.connection().execute("INSERT INTO issue_text (issue_text, rank) VALUES ('integrity-check', 1)")
