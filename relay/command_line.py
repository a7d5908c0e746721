"""What the command lines of relay and agent share: how one ends that cannot go on. The hub's has its own, for `relay`
costs more to import than all that its `--help` does.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException


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
            self._document("usage", wrong.format_message())
            raise
        except BrokenPipeError:
            raise  # whoever read has gone: nobody to tell
        except OSError as error:
            self._end(f"{error.filename or 'this machine'}: {error.strerror or error}")
        except self.told as fault:
            self._end(self.line_of(fault))

    def line_of(self, fault: Exception) -> str:
        return str(fault)

    def _end(self, text: str) -> NoReturn:
        typer.echo(text, err=True)
        self._document("failure", text)
        raise typer.Exit(1)

    def _document(self, code: str, detail: str) -> None:
        if self._wants_json:
            typer.echo(json.dumps({"code": code, "detail": detail}, ensure_ascii=False, indent=2))
