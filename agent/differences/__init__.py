"""What has to be written so that Jira is as wished: one pure difference per kind of command.

One law for all: `difference(want, apply(difference(want, have), have)) == ()`. No I/O in here.
"""


class CannotReach(Exception):
    """The wish cannot be brought about from here; the text says why and what there is instead."""


class Conflict(CannotReach):
    """Something of a person's stands in the way and the command may not remove it."""
