"""`python -m hub` is `jira-hub`, for those who know the interpreter and not the script's place."""

from hub.cli import main

main()
