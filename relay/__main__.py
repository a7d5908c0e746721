"""`python -m relay` is `folder-relay`."""

from relay.cli import main

main()
