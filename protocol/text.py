"""The one text normaliser, used by the hub and the agent alike, so that both call the same texts equal.

Jira returns texts with CRLF line ends, may drop trailing blanks and turns an empty text into null: none of
these is a difference worth a write.
"""

import unicodedata
from typing import Final

TEXT_LIMIT: Final = 32_767  # Jira's default limit of a text field, in UTF-16 units
SUMMARY_LIMIT: Final = 255  # in UTF-16 units: 📌 counts as two


def normalised_text(text: str | None) -> str:
    """`text` with LF line ends, without blanks at the ends of lines and of the text; `None` is the empty text."""
    lines = (text or "").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).rstrip("\n")


def normalised_summary(summary: str) -> str:
    """`summary` as it is compared: blanks at both ends dropped, composed (NFC); case and the rest as they are."""
    return unicodedata.normalize("NFC", summary.strip())


def utf16_length(text: str) -> int:
    """Length in UTF-16 units, as Jira counts it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def has_lone_surrogate(text: str) -> bool:
    """Whether `text` cannot be stored as UTF-8."""
    try:
        text.encode()  # the codec looks at a long text a hundred times faster than a loop over its characters
    except UnicodeEncodeError:
        return True
    return False
