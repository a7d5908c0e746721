"""The demo: hub, agent and fake Jira as real processes, joined only by a courier that loses files."""
