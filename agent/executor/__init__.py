"""Executing one command: read, take the difference, write it. What to write is decided in `differences`."""
