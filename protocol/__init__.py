"""What the hub and the agent must agree on; `PROTOCOL.md` beside this file is the same in prose. No I/O in here."""
