"""A server process for the tests: `python -m tests.installation.relay_server_process FOLDER STATE JOURNAL`.

Its handler notes each start in JOURNAL; the path /die ends the process as a crash would.
"""

import os
import signal
import sys
import time
from pathlib import Path

from relay import Profile, Reply, Request, Server


def main() -> None:
    folder, state, journal = map(Path, sys.argv[1:4])
    with journal.open("a", encoding="ascii", buffering=1) as notes:

        def handler(request: Request) -> Reply:
            notes.write(request.id + "\n")
            if request.path == "/die":
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(0.002)
            return Reply(200, {"content-type": "application/json"}, request.body)

        with Server(folder, handler, state_dir=state, profile=Profile(resend_seconds=0.3)):
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            signal.pause()


if __name__ == "__main__":
    main()
