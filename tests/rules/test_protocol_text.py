"""The shared normaliser: what Jira does to a text by itself must never look like a difference."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from protocol.text import normalised_summary, normalised_text, utf16_length


@given(st.text())
def test_normalising_twice_is_normalising_once(text: str) -> None:
    assert normalised_text(normalised_text(text)) == normalised_text(text)
    assert normalised_summary(normalised_summary(text)) == normalised_summary(text)


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]))))
def test_line_ends_and_trailing_blanks_make_no_difference(lines: list[str]) -> None:
    plain = normalised_text("\n".join(lines))
    assert normalised_text("\r\n".join(f"{line} \t" for line in lines)) == plain
    assert normalised_text("\r".join(lines) + "\n\n") == plain


def test_nothing_and_the_empty_text_are_one() -> None:
    assert normalised_text(None) == normalised_text("") == normalised_text(" \r\n") == ""


def test_leading_blanks_and_inner_lines_stay() -> None:
    assert normalised_text("  a\n\n b") == "  a\n\n b"


def test_summaries_are_composed_and_keep_their_case() -> None:
    decomposed = unicodedata.normalize("NFD", " Отчёт й ")
    assert normalised_summary(decomposed) == "Отчёт й"
    assert normalised_summary("отчёт") != normalised_summary("Отчёт")


def test_a_pin_counts_twice_as_in_jira() -> None:
    assert utf16_length("📌я") == 3
