"""What the command lines of relay, hub and agent share: `--version`, and how one ends. Each `--help` loads it."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException


def version_option(program: str, more: str = "") -> Any:
    """The option `--version`: `program`, its release, and what `more` there is to say."""

    def tell(wanted: bool) -> None:  # noqa: FBT001  # typer's form of a callback
        if wanted:
            from importlib.metadata import version

            typer.echo(f"{program} {version('jira-hub')}{more}")
            raise typer.Exit

    return typer.Option("--version", help="Show the version and end.", is_eager=True, callback=tell)


class Ended(Exception):
    """The command cannot go on; says in one line why, and what to do."""


class Program(TyperGroup):
    """The root of a command line: every fault is one line on stderr, and JSON on stdout where `--json` was asked."""

    told: tuple[type[Exception], ...] = (Ended,)  # whose text is fit to be that line
    _wants_json = False

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        self._wants_json = "--json" in args
        with self._told():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        with self._told():
            return super().invoke(ctx)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except TyperException as wrong:
            self.show_document({"code": "usage", "detail": wrong.format_message()})
            raise
        except BrokenPipeError:
            raise  # whoever read has gone: nobody to tell
        except OSError as error:
            self.end_by(Ended(f"{error.filename or 'this machine'}: {error.strerror or error}"))
        except self.told as fault:
            self.end_by(fault)

    def line_of(self, fault: Exception) -> str:
        return str(fault)

    def end_by(self, fault: Exception) -> NoReturn:
        text = self.line_of(fault)
        typer.echo(text, err=True)
        self.show_document({"code": "failure", "detail": text})
        raise typer.Exit(1)

    def show_document(self, document: Mapping[str, Any]) -> None:
        """On stdout, for whoever asked for JSON."""
        if self._wants_json:
            typer.echo(json.dumps(document, ensure_ascii=False, indent=2))
