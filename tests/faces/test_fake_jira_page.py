"""The page of the fake: what a person sees of the issues and of our writes."""

import re
from collections.abc import Iterator

import pytest

from tests.contracts.fake_jira_world import AGILE, API, World

RU = {"accept-language": "ru,en;q=0.8"}


@pytest.fixture
def world() -> Iterator[World]:
    with World() as world:
        yield world


def page(world: World, path: str, **headers: str) -> str:
    answer = world.client_of(None).get(path, headers=RU | headers)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html;charset=UTF-8")
    return answer.text


def row(text: str, key: str) -> str:
    return next(part for part in re.findall(r"<tr.*?</tr>", text, re.DOTALL) if f"/browse/{key}" in part)


def test_the_board_lists_every_issue_with_status_sprint_links_and_labels(world: World) -> None:
    world.put(f"{API}/issue/AURORA-1537", {"update": {"labels": [{"add": "hub"}]}})
    world.post(f"{AGILE}/sprint/9/issue", {"issues": ["AURORA-1537"]}, 204)
    text = page(world, "/")
    assert len(set(re.findall(r"/browse/(AURORA-\d+)", text))) == 41
    shown = row(text, "AURORA-1537")
    for word in ("Ожидание разработки", "Спринт 2", ">hub<", '<td class="number">1</td>'):
        assert word in shown
    assert "запрос 1" in text


def test_a_row_is_marked_while_its_change_is_fresh(world: World) -> None:
    world.put(f"{API}/issue/AURORA-1537", {"fields": {"duedate": None}})
    assert 'class="fresh' in row(page(world, "/"), "AURORA-1537")
    world.clock.pass_time(61)
    assert 'class="fresh' not in row(page(world, "/"), "AURORA-1537")


def test_an_issue_shows_comments_links_and_who_wrote_what(world: World) -> None:
    world.post(f"{API}/issue/AURORA-1537/comment", {"body": "hub:60 <b>текст</b>"})
    world.edit("status", key="AURORA-1537", status="Разработка", user="petrova")
    text = page(world, "/browse/aurora-1537")
    for word in ("блокирует начало", "AURORA-1538", "Служба планирования · запрос 1", "Петрова Анна · вручную"):
        assert word in text
    assert "hub:60 &lt;b&gt;текст&lt;/b&gt;" in text
    assert "начало заблокировано" in page(world, "/browse/AURORA-1538")


def test_the_words_of_the_page_follow_the_browser(world: World) -> None:
    assert "Последние изменения" in page(world, "/")
    assert "Recent changes" in page(world, "/", **{"accept-language": "en-US,en"})


def test_the_page_needs_nothing_from_elsewhere_and_renews_itself(world: World) -> None:
    for path in ("/", "/browse/AURORA-1533"):
        text = page(world, path)
        assert not re.search(r"(?:src|href)=\"(?:https?:)?//", text)
        assert "<script" not in text and "url(" not in text
        assert 'http-equiv="refresh"' in text
        assert "prefers-color-scheme: dark" in text


def test_looking_is_neither_journalled_nor_a_way_to_write(world: World) -> None:
    page(world, "/")
    assert world.requests() == []
    assert world.client.post("/", json={}).status_code == 404
    assert world.client.get("/browse/AURORA-9999").status_code == 404
