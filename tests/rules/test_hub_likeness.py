"""Open issues of nearly the same name, found before there are two."""

import pytest

from hub.likeness import MAX_CANDIDATES, similar_issues


def like(summary: str, *shown: str, status: str = "Открыто") -> str | None:
    mirror = [(f"AURORA-{number}", text, status) for number, text in enumerate(shown, 1)]
    found = similar_issues({"new:1": summary}, mirror).get("new:1")
    return None if found is None else found.summary


@pytest.mark.parametrize(
    ("wished", "shown", "answer"),
    [
        ("Сверка остатков", ("СВЕРКА  остатков",), True),
        ("Сверка остатков", ("Сверка остатков за октябрь", "Другое"), True),
        ("Сверка остатков", ("Сверка счетов",), False),
        ("Сверка остатков", (), False),
        ("Отчёт", ("Отчёт",), True),
    ],
)
def test_an_issue_is_like_another_by_the_words_they_share(wished: str, shown: tuple[str, ...], *, answer: bool) -> None:
    assert (like(wished, *shown) is not None) == answer


def test_the_one_with_most_in_common_is_shown() -> None:
    shown = ("Сверка остатков за год на складе", "Сверка остатков за октябрь на складе")
    assert like("Сверка остатков за октябрь на складе №2", *shown) == shown[1]


@pytest.mark.parametrize("status", ["Готово", "Closed", "отменено"])
def test_finished_work_is_no_reason_to_hesitate(status: str) -> None:
    assert like("Отчёт", "Отчёт", status=status) is None


def test_a_word_that_everybody_uses_hides_nobody_of_exactly_the_same_name() -> None:
    many = [f"Отчёт {number}" for number in range(MAX_CANDIDATES * 2)]
    assert like("Отчёт особый", *many, "отчёт ОСОБЫЙ") == "отчёт ОСОБЫЙ"
