"""Two real processes and a folder between them that loses a fifth of the files, with a server that is killed."""

import json
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from relay import AlreadyRunning, Client, DeliveryLimitExceeded, Profile, Reply, Server, create_link
from tests.installation.relay_courier import Courier

ROOT = Path(__file__).resolve().parents[2]
QUICK = Profile(resend_seconds=0.3)


@contextmanager
def server_process(
    folder: Path, state: Path, journal: Path, *, may_die_at_once: bool = False
) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.installation.relay_server_process", str(folder), str(state), str(journal)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() in (("ready\n", "") if may_die_at_once else ("ready\n",))
        yield process
    finally:
        process.kill()
        process.wait(10)
        assert process.stdout is not None
        process.stdout.close()


def test_each_of_300_requests_is_answered_once_though_files_are_lost_and_the_server_is_killed(tmp_path: Path) -> None:
    hub, agent, journal = tmp_path / "hub", tmp_path / "agent", tmp_path / "journal"
    create_link(hub, "main")
    answers: list[tuple[int, Reply]] = []
    killed = threading.Event()

    def ask(client: Client, first: int) -> None:
        for number in range(first, first + 30):
            answers.append((number, client.call("POST", "/add", {"n": number}, timeout=120)))
            if len(answers) >= 100:
                killed.set()

    with Courier(hub, agent, seed=7) as courier, Client(agent, state_dir=tmp_path / "c", profile=QUICK) as client:
        callers = [threading.Thread(target=ask, args=(client, first)) for first in range(0, 300, 30)]
        with server_process(hub, tmp_path / "s", journal) as process:
            for caller in callers:
                caller.start()
            assert killed.wait(120)
            process.send_signal(signal.SIGKILL)
            process.wait(10)
        with server_process(hub, tmp_path / "s", journal):
            for caller in callers:
                caller.join(120)
        assert (courier.lost > 0, courier.doubled > 0) == (True, True)
        assert client.status().counters["repeated"] > 0
    assert sorted(number for number, _ in answers) == list(range(300))
    assert [number for number, reply in answers if reply.json() != {"n": number}] == []
    runs = Counter(journal.read_text(encoding="ascii").split())
    assert runs.keys() == {reply.request_id for _, reply in answers}, "no request ran that nobody made"
    # Only what the kill interrupted may have been started a second time: at most one per caller.
    assert sum(runs.values()) <= 300 + len(callers)
    assert max(runs.values()) <= 2


def test_a_handler_that_kills_the_process_is_given_up_after_three_deliveries(tmp_path: Path) -> None:
    folder, journal = tmp_path / "main", tmp_path / "journal"
    create_link(folder, "main")
    outcome: list[BaseException] = []

    def ask(client: Client) -> None:
        try:
            client.call("POST", "/die", timeout=60, request_id="the-killer")
        except DeliveryLimitExceeded as error:
            outcome.append(error)

    with Client(folder, state_dir=tmp_path / "c", profile=QUICK) as client:
        caller = threading.Thread(target=ask, args=(client,))
        caller.start()
        for _ in range(3):
            # An interrupted handler runs again as soon as its server starts, and this one kills it.
            with server_process(folder, tmp_path / "s", journal, may_die_at_once=True) as process:
                process.wait(30)
        with server_process(folder, tmp_path / "s", journal):
            caller.join(60)
            assert client.call("POST", "/add", {"n": 1}, timeout=30).json() == {"n": 1}
    assert [type(error) for error in outcome] == [DeliveryLimitExceeded]
    assert Counter(journal.read_text(encoding="ascii").split())["the-killer"] == 3


def test_a_new_process_gets_the_stored_reply_for_a_request_id_used_before(tmp_path: Path) -> None:
    folder, journal = tmp_path / "main", tmp_path / "journal"
    create_link(folder, "main")
    program = """if True:
        import sys
        from relay import Client
        with Client(sys.argv[1], state_dir=sys.argv[2]) as client:
            print(client.call("POST", "/add", {"by": sys.argv[3]}, request_id="r-1").text)
    """
    with server_process(folder, tmp_path / "s", journal):
        said = [
            subprocess.run(
                [sys.executable, "-c", program, str(folder), str(tmp_path / "c"), who],
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=True,
                timeout=60,
            ).stdout
            for who in ("first", "second")
        ]
    assert [json.loads(one) for one in said] == [{"by": "first"}, {"by": "first"}]
    assert journal.read_text(encoding="ascii") == "r-1\n"


def test_a_second_server_or_client_is_refused_and_told_who_holds_the_link(tmp_path: Path) -> None:
    folder, journal = tmp_path / "main", tmp_path / "journal"
    create_link(folder, "main")
    with server_process(folder, tmp_path / "s", journal) as process:
        with pytest.raises(AlreadyRunning, match=rf"process {process.pid} on .+ since 20"):
            Server(folder, lambda _: Reply(), state_dir=tmp_path / "s").start()
        with pytest.raises(AlreadyRunning, match=rf"process {process.pid} on .+ since 20"):
            Server(folder, lambda _: Reply(), state_dir=tmp_path / "a memory of its own").start()
        with Client(folder, state_dir=tmp_path / "c"), pytest.raises(AlreadyRunning, match="agent side"):
            Client(folder, state_dir=tmp_path / "c")
