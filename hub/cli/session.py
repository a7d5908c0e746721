"""What every command starts from: the home, the address of the hub, the token; and how one ends that cannot go on."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

import relay.command_line
from hub.cli.exits import USAGE, Stop
from hub.cli.output import show_note

if TYPE_CHECKING:
    from hub.cli.client import HubClient
    from hub.config import HubSettings, ServedLink


@dataclass(slots=True)
class Session:
    """Set by the options before the command's name."""

    home: Path | None = None
    url: str | None = None
    link: str | None = None

    def connect(self) -> "HubClient":
        """A client of the hub this home belongs to."""
        from hub.cli.client import HubClient
        from hub.cli.home import address_of, read_token, settings_of

        settings = settings_of(self.home)
        # None where nothing tells: the hub then knows the only one, or names those there are.
        link = self.link or settings.default_link
        return HubClient(self.url or address_of(settings), read_token(settings), link)

    def of_link(self, settings: "HubSettings") -> "ServedLink":
        """The link that is meant, as this home's settings have it; a name that is none of theirs is wrong usage."""
        from hub.errors import Unready

        try:
            return settings.link_named(self.link)
        except Unready as error:
            raise Stop(str(error), code=USAGE) from error

    def folder(self) -> Path:
        """Where this hub's home is."""
        from hub.cli.home import settings_of

        return settings_of(self.home).home


def session(context: typer.Context) -> Session:
    found = context.find_object(Session)
    assert found is not None  # the root callback has set it
    return found


AsJson = Annotated[bool, typer.Option("--json", help="Answer with JSON on stdout.")]


class Program(relay.command_line.Program):
    """The root of the command line: the one place where a `Stop` becomes text and an exit code."""

    told = (Stop,)

    def end_by(self, fault: Exception) -> NoReturn:
        stop = fault if isinstance(fault, Stop) else Stop(str(fault))
        for line in stop.lines:
            show_note(line)
        self.show_document(stop.document)
        raise typer.Exit(stop.code) from stop

    def show_document(self, document: Mapping[str, Any]) -> None:
        super().show_document({**document, "hint": document.get("hint")})


def login_name() -> str:
    """The name this person is logged in by: the author of a batch that names none."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError) as error:
        raise Stop("this machine knows no login name", hint="name yourself with --author", code=USAGE) from error


def is_quiet() -> bool:
    """Whether stderr is for another program, so that progress comes as plain lines."""
    import sys

    return not sys.stderr.isatty() or os.environ.get("TERM") == "dumb"
