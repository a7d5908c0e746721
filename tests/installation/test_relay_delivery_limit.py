"""A handler that kills its process, beside others that do not, with both sides restarted in between: real processes."""

import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

from relay import Client, DeliveryLimitExceeded, Profile, RelayTimeout, Reply, create_link
from tests.installation.test_relay_two_processes import ROOT, server_process

QUICK = Profile(resend_seconds=0.3)
KILLER = """if True:
    import sys
    from relay import Client, DeliveryLimitExceeded, Profile, RelayTimeout
    with Client(sys.argv[1], state_dir=sys.argv[2], profile=Profile(resend_seconds=0.3)) as client:
        try:
            client.call("POST", "/die", request_id="the-killer", timeout=float(sys.argv[3]))
        except DeliveryLimitExceeded:
            print("508")
        except RelayTimeout:
            print("timeout")
"""


def ask_in_a_process(folder: Path, state: Path, timeout: float) -> str:
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(folder), str(state), str(timeout)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout.strip()


def test_others_are_served_while_the_killer_is_found_out(tmp_path: Path) -> None:
    folder, journal = tmp_path / "main", tmp_path / "journal"
    create_link(folder, "main")
    replies: dict[int, Reply] = {}
    outcome: list[BaseException] = []

    def innocent(client: Client, number: int) -> None:
        replies[number] = client.call("POST", "/add", {"n": number}, timeout=120)

    def killer(client: Client) -> None:
        try:
            client.call("POST", "/die", timeout=120, request_id="the-killer")
        except DeliveryLimitExceeded as error:
            outcome.append(error)

    with Client(folder, state_dir=tmp_path / "c", profile=QUICK) as client:
        callers = [threading.Thread(target=innocent, args=(client, number)) for number in range(20)]
        callers.insert(10, threading.Thread(target=killer, args=(client,)))
        for caller in callers:
            caller.start()
        for _ in range(3):
            with server_process(folder, tmp_path / "s", journal) as process:
                process.wait(60)
        with server_process(folder, tmp_path / "s", journal):
            for caller in callers:
                caller.join(120)
    assert {number: reply.json() for number, reply in replies.items()} == {n: {"n": n} for n in range(20)}
    assert [type(error) for error in outcome] == [DeliveryLimitExceeded]
    runs = Counter(journal.read_text(encoding="ascii").split())
    assert runs.pop("the-killer") == 3
    # What ran beside the killer twice is a suspect too; its last chance it had alone, and lived.
    assert max(runs.values()) <= 3


def test_the_count_survives_restarts_of_both_processes(tmp_path: Path) -> None:
    folder, journal = tmp_path / "main", tmp_path / "journal"
    create_link(folder, "main")
    said = []
    for _ in range(3):
        with server_process(folder, tmp_path / "s", journal) as process:
            said.append(ask_in_a_process(folder, tmp_path / "c", 2.0))  # a new process, the same request
            process.wait(60)
    with server_process(folder, tmp_path / "s", journal):
        said.append(ask_in_a_process(folder, tmp_path / "c", 60.0))
        said.append(ask_in_a_process(folder, tmp_path / "c", 60.0))
    assert said == ["timeout", "timeout", "timeout", "508", "508"]
    assert Counter(journal.read_text(encoding="ascii").split()) == {"the-killer": 3}
    assert issubclass(DeliveryLimitExceeded, Exception) and not issubclass(DeliveryLimitExceeded, RelayTimeout)
