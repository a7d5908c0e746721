"""A program that has imported a hub once and starts it whenever it is told to: in a fork, so that a start costs little.

On stdin a line for each start; on stdout the process id of the hub that was started. What is run is `jira-hub serve`.
"""

import os
import sys
from pathlib import Path

from hub.serve import serve_hub


def main(home: Path) -> None:
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            sys.stdin.close()
            os.close(1)
            serve_hub(home)
            os._exit(0)
        print(child, flush=True)
        os.waitpid(child, 0)
        print("ended", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
