"""What a person types into the search, as the index and the database take it. Pure."""

from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from hub.errors import Said, Wrong, invalid

INDEXED: Final = 3  # letters: the index holds every three in a row, shorter words are looked for in key and summary
MAX_WORDS: Final = 20
_MEANT_BY_GLOB: Final = frozenset("*?[]")


@dataclass(frozen=True, slots=True)
class Words:
    """Every word has to be found.

    `match` holds the words of three letters and more, each in quotes. The index of SQLite is asked for every three
    letters of them, `grams`; that they stand together is seen by `wholes`, a pattern a word. `globs` are the patterns
    of the words too short for an index.
    """

    match: str | None
    grams: str
    wholes: tuple[str, ...]
    globs: tuple[str, ...]


def search_words(text: str) -> Words | None:
    """The words of `text`; None where it has none, and then everything is found. Raises `Refusal` for too many."""
    words = list(dict.fromkeys(text.replace("\0", " ").split()))
    if len(words) > MAX_WORDS:
        raise invalid((Wrong("text", Said(f"more than {MAX_WORDS} words", f"больше {MAX_WORDS} слов")),))
    if not words:
        return None
    long = [word for word in words if len(word) >= INDEXED]
    grams = dict.fromkeys(word[at : at + INDEXED] for word in long for at in range(len(word) - INDEXED + 1))
    return Words(
        " ".join(map(_quoted, long)) or None,
        " ".join(map(_quoted, grams)),
        tuple(map(_glob, long)),
        tuple(_glob(word) for word in words if len(word) < INDEXED),
    )


def nearest_shown(name: str, shown: Collection[str]) -> Said | None:
    """Which of Jira's names that the mirror shows is most like `name`."""
    near = get_close_matches(name, sorted(shown), n=1, cutoff=0.5)
    return Said(f"did you mean «{near[0]}»?", f"возможно, «{near[0]}»?") if near else None


def _quoted(word: str) -> str:
    doubled = word.replace('"', '""')
    return f'"{doubled}"'


def _glob(word: str) -> str:
    """Either case of each letter: the database folds Latin letters only."""
    return "*" + "".join(_either_case(letter) for letter in word) + "*"


def _either_case(letter: str) -> str:
    cases = "".join(sorted({letter, *(form for form in (letter.lower(), letter.upper()) if len(form) == 1)}))
    # A lone sign that patterns give a meaning to stands for itself within brackets.
    return f"[{cases}]" if len(cases) > 1 or letter in _MEANT_BY_GLOB else letter
