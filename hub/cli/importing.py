"""`import DIR`: lists of issues, links and notes of a folder to the hub, and faults back to the lines they stand on."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hub.cli.output import show_answer, show_fields, show_line
from hub.cli.sending import faulty
from hub.cli.session import AsJson, session


def import_folder(
    context: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Holds issues.csv, links.csv, notes.csv or notes/*.md.")
    ],
    *,
    replace_notes: Annotated[
        bool, typer.Option("--replace-notes", help="Write over notes that say something else.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Take issues and notes in and look for links; everything is checked before anything is written."""
    from hub.cli.client import Refused
    from hub.cli.reading.import_folder import ImportFolder
    from protocol.errors import Problem

    lists = ImportFolder(folder)
    if lists.findings:
        raise faulty(lists.findings, nothing="imported")
    body = {**lists.rows, "replace_notes": replace_notes}
    with session(context).connect() as hub:
        try:
            report = hub.create("/import", body)
        except Refused as refusal:
            faults = Problem.model_validate(refusal.problem).errors if refusal.status == 422 else ()
            if not faults:
                raise
            raise faulty([lists.located(fault) for fault in faults], nothing="imported") from refusal
    show_answer(report, _show_report, as_json=as_json)


def _show_report(report: Any) -> None:
    show_fields({name.replace("_", " "): str(count) for name, count in report["counts"].items()})
    for name in ("missing_links", "reversed_links"):
        for link in report[name]:
            show_line(f"{name.removesuffix('_links')}: {link['source']} {link['type']} {link['target']}")
    for key in report["notes_kept"]:
        show_line(f"note kept as it is: {key}")
