"""Who asks: tokens, passwords, CAPTCHA, SSO in front, XSRF. Decides on a request; does nothing else."""

import base64
import binascii
from typing import Final

from examples.jira.catalogue import User
from examples.jira.context import Context, user_named
from examples.jira.http import Answer, Call, answer_html

_BROWSERS: Final = ("mozilla", "opera", "chrome", "safari", "webkit")
_CAPTCHA: Final = "failed logins"  # the memory of the store: login -> how often wrong in a row
_OAUTH: Final = ("www-authenticate", 'OAuth realm="https%3A%2F%2Fjira"')


def admit(context: Context, call: Call) -> User | Answer | None:
    """The user, None for the anonymous, or the answer of whoever turns the request away."""
    mode = context.switches.auth_mode
    if mode == "sso_200_html":
        return answer_html(200, "Loading…", '<form method="post" action="/saml"><input name="SAMLRequest"></form>')
    if mode == "sso_302":
        return Answer(302, b"", (("location", context.link("/login.jsp?os_destination=%2Frest")),))
    if mode == "captcha":
        return _captcha(context)
    scheme, _, credentials = call.headers.get("authorization", "").partition(" ")
    match scheme.lower():
        case "":
            return None
        case "bearer":
            user = user_named(context.settings.tokens.get(credentials.strip(), ""))
            if mode == "anonymous_downgrade":
                return None
            return user if user and mode != "expired" else _unauthorized()
        case "basic":
            return _basic(context, credentials)
    return _unauthorized()


def _basic(context: Context, credentials: str) -> User | Answer | None:
    mode = context.switches.auth_mode
    if mode == "basic_disabled":
        return answer_html(403, "Basic authentication is disabled", "Use a personal access token.", [_OAUTH])
    try:
        login, _, password = base64.b64decode(credentials, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return _unauthorized()
    failures: dict[str, int] = context.store.recall(_CAPTCHA, {})
    if failures.get(login, 0) >= context.switches.captcha_after:
        return _captcha(context)  # a right password does not help any more
    user = user_named(login)
    if user is None or mode == "expired" or context.settings.passwords.get(login) != password:
        context.store.remember(_CAPTCHA, failures | {login: failures.get(login, 0) + 1})
        return _unauthorized()
    if login in failures:
        context.store.remember(_CAPTCHA, {name: n for name, n in failures.items() if name != login})
    return None if mode == "anonymous_downgrade" else user


def forgive_logins(context: Context) -> None:
    """What a person does in the browser: solve the CAPTCHA."""
    context.store.remember(_CAPTCHA, {})


def _unauthorized() -> Answer:
    # HTML even on REST paths, as Jira does.
    title = "Unauthorized (401)"
    reason = "Basic Authentication Failure - Reason : AUTHENTICATED_FAILED"
    return answer_html(401, title, reason, [("x-seraph-loginreason", "AUTHENTICATED_FAILED"), _OAUTH])


def _captcha(context: Context) -> Answer:
    login_url = context.link("/login.jsp")
    headers = [
        ("x-seraph-loginreason", "AUTHENTICATION_DENIED"),
        ("x-authentication-denied-reason", f"CAPTCHA_CHALLENGE; login-url={login_url}"),
    ]
    reason = "Basic Authentication Failure - Reason : AUTHENTICATION_DENIED"
    return answer_html(403, "Forbidden (403)", reason, headers)


def xsrf_refusal(context: Context, call: Call) -> Answer | None:
    """A write that looks like a browser's, without the header browsers cannot send."""
    agent = call.headers.get("user-agent", "").lower()
    checked = context.switches.xsrf and call.method != "GET" and any(name in agent for name in _BROWSERS)
    if not checked or call.headers.get("x-atlassian-token", "").lower() in ("no-check", "nocheck"):
        return None
    return Answer(403, b"XSRF check failed", (("content-type", "text/plain;charset=UTF-8"),))
