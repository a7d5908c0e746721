"""A page to look at the issues with a browser. Shows, never changes."""

from examples.jira.context import Context
from examples.jira.http import Answer, Call, answer_html


def serve(context: Context, call: Call) -> Answer | None:
    if call.path == "/login.jsp":
        return answer_html(200, "Log in", "This server has no browser log-in.")
    return None
