"""The example `relay_alone` as a person runs it, and what it shows."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_an_unchanged_web_app_is_visited_through_a_folder() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.relay_alone"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "GET / → 200 text/html; charset=utf-8, 128 bytes",
        "GET /notes.txt → 200 text/plain; charset=utf-8, 49 bytes",
        "GET /missing → 404 text/plain; charset=utf-8, 9 bytes",
        "GET /notes.txt, If-None-Match → 304",
        "GET /notes.txt, bytes 0 to 9 → 206 'No network'",
        "POST / → 405",
        "folder-relay call site GET /notes.txt → 'No network leads from the one side to the other.'",
        "left in the folder: ['.stignore', 'link.json', 'to-agent', 'to-hub']",
    ]


def test_a_misspelt_flag_is_refused() -> None:
    command = [sys.executable, "-m", "examples.relay_alone", "--kep-it"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--kep-it" in done.stderr


def test_the_same_app_is_served_from_the_command_line(tmp_path: Path) -> None:
    relay = [sys.executable, "-m", "relay"]
    link = tmp_path / "site"
    subprocess.run([*relay, "init", str(link)], cwd=ROOT, check=True, timeout=60, capture_output=True)
    serve = [*relay, "serve", str(link), "examples.relay_alone.server:app", "--state", str(tmp_path / "s")]
    process = subprocess.Popen(serve, cwd=ROOT)
    try:
        call = [*relay, "call", str(link), "GET", "/notes.txt", "--state", str(tmp_path / "c")]
        said = subprocess.run(call, cwd=ROOT, check=True, timeout=60, capture_output=True, text=True)
    finally:
        process.terminate()
        process.wait(30)
    assert said.stdout == "No network leads from the one side to the other.\n"
