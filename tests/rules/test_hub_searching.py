"""What a person types, as the index takes it."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.errors import Refusal
from hub.searching import search_words


def test_words_of_three_letters_go_to_the_index_and_shorter_ones_become_patterns() -> None:
    words = search_words('отчёт "за" г')
    assert words is not None
    assert words.match == '"отчёт" """за"""'
    assert words.grams == '"отч" "тчё" "чёт" """за" "за"""'
    assert words.wholes == ("*[Оо][Тт][Чч][Ёё][Тт]*", '*"[Зз][Аа]"*')
    assert words.globs == ("*[Гг]*",)


def test_nothing_typed_finds_everything() -> None:
    assert search_words(" \t\0 ") is None


def test_a_text_of_too_many_words_is_refused() -> None:
    with pytest.raises(Refusal):
        search_words(" ".join(f"w{number}" for number in range(30)))


@given(st.text(max_size=12), st.text(max_size=12), st.text(max_size=12))
def test_whatever_is_typed_finds_the_text_it_is_a_part_of(before: str, typed: str, after: str) -> None:
    """In either case of its letters, signs that the database gives a meaning to included."""
    words = search_words(typed)
    if words is None:
        return
    text = f"{before}{typed}{after}".replace("\0", " ")
    database = sqlite3.connect(":memory:")
    try:
        for pattern in words.globs:
            assert database.execute("SELECT ? GLOB ?", (text, pattern)).fetchone()[0] == 1
        for pattern in words.wholes:
            assert database.execute("SELECT ? GLOB ?", (text, pattern)).fetchone()[0] == 1
        if words.grams:
            database.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='trigram', detail='none')")
            database.execute("INSERT INTO t VALUES (?)", (text,))
            assert database.execute("SELECT count(*) FROM t WHERE t MATCH ?", (words.grams,)).fetchone()[0] == 1
    finally:
        database.close()
