"""A fake Jira Data Center 9.12: faithful where the agent looks, refusing where Jira would refuse."""
