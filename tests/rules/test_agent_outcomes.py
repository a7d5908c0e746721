"""The table of outcomes O1..O10 of the Jira client, row by row."""

import json

import pytest

from agent.outcomes import MIN_RATE_WAIT, Answer, Expect, JiraRequest, Outcome, Seen, answer, rate_wait
from protocol.messages import MAX_ERROR

GET = JiraRequest("GET", "/rest/api/2/issue/A-1", "read", Expect(keys=("key",)))
LIST = JiraRequest("GET", "/rest/api/2/field", "read", Expect(shape="array"))
PUT = JiraRequest("PUT", "/rest/api/2/issue/A-1", "write", Expect(frozenset({204}), shape="none"))
POST = JiraRequest("POST", "/rest/api/2/issue", "write", Expect(frozenset({201}), ("key",)))
LINK = JiraRequest("POST", "/rest/api/2/issueLink", "write", Expect(frozenset({201}), shape="none"))

JSON = {"content-type": "application/json;charset=UTF-8"}
HTML = {"content-type": "text/html;charset=UTF-8"}
ERRORS = json.dumps({"errorMessages": ["Нет"], "errors": {"duedate": "плохая дата"}}).encode()
PAGE = "<html><head><title>Вход &amp; выход</title></head><body>…</body></html>".encode()


def seen(status: int, headers: dict[str, str] | None = None, body: bytes = b"") -> Seen:
    return Seen(sent=True, status=status, headers=headers or {}, body=body)


def outcome(request: JiraRequest, what: Seen) -> Answer:
    return answer(request, what, wall=1_000_000.0)


TABLE = [
    ("connection refused", POST, Seen(sent=False, fault="ConnectError: refused"), "O1"),
    ("no answer to a write", POST, Seen(sent=True, fault="ReadTimeout"), "O2"),
    ("no answer to a reading", GET, Seen(sent=True, fault="RemoteProtocolError"), "O2"),
    ("the expected JSON", GET, seen(200, JSON, b'{"key":"A-1"}'), "O3"),
    ("a created issue", POST, seen(201, JSON, b'{"key":"A-1"}'), "O3"),
    ("nothing where nothing is expected", PUT, seen(204), "O3"),
    ("a created link answers nothing", LINK, seen(201), "O3"),
    ("a list", LIST, seen(200, JSON, b"[]"), "O3"),
    ("a login page with 200", GET, seen(200, HTML, PAGE), "O4"),
    ("a login page after a write", PUT, seen(200, HTML, PAGE), "O4"),
    ("a page where nothing is expected", LINK, seen(201, HTML, PAGE), "O4"),
    ("a page that hides its type", LINK, seen(201, {}, b"<!DOCTYPE html><html>"), "O4"),
    ("a redirect", GET, seen(302, {"location": "/login.jsp"}), "O4"),
    ("JSON without the expected keys", GET, seen(200, JSON, b'{"session":null}'), "O4"),
    ("an object where a list is expected", LIST, seen(200, JSON, b"{}"), "O4"),
    ("200 for a creation", POST, seen(200, JSON, b'{"key":"A-1"}'), "O4"),
    ("served as anonymous", GET, seen(200, {**JSON, "x-ausername": "anonymous"}, b'{"key":"A-1"}'), "O4"),
    ("404 of a proxy", GET, seen(404, HTML, PAGE), "O4"),
    ("403 of a web firewall", PUT, seen(403, HTML, PAGE), "O4"),
    *[(f"{code} with Jira's errors", PUT, seen(code, JSON, ERRORS), "O5") for code in (400, 404, 405, 409, 413, 415)],
    ("an empty envelope", PUT, seen(400, JSON, b'{"errorMessages":[],"errors":{}}'), "O5"),
    ("the Agile shape", PUT, seen(404, JSON, b'{"errorMessages":["no board"]}'), "O5"),
    ("another shape", PUT, seen(400, JSON, b'{"message":"no"}'), "O5"),
    ("401 as a page", GET, seen(401, HTML, PAGE), "O6"),
    ("401 as JSON", GET, seen(401, JSON, ERRORS), "O6"),
    ("CAPTCHA", GET, seen(403, {**JSON, "x-authentication-denied-reason": "CAPTCHA_CHALLENGE"}, ERRORS), "O6"),
    ("CAPTCHA by the other header", GET, seen(403, {"x-seraph-loginreason": "AUTHENTICATION_DENIED"}), "O6"),
    ("XSRF", PUT, seen(403, {"content-type": "text/plain"}, b"XSRF check failed"), "O6"),
    ("403 with Jira's errors", PUT, seen(403, JSON, ERRORS), "O7"),
    ("429 as JSON", GET, seen(429, JSON, ERRORS), "O8"),
    ("429 as a page", POST, seen(429, HTML, PAGE), "O8"),
    ("500 with Jira's errors", POST, seen(500, JSON, ERRORS), "O9"),
    ("500 with a stack trace", GET, seen(500, {"content-type": "text/plain"}, b"java.lang"), "O9"),
    ("500 of a gateway", POST, seen(500, HTML, PAGE), "O10"),
    *[(f"{code} of a gateway", POST, seen(code, HTML, PAGE), "O10") for code in (502, 503, 504)],
    ("503 as JSON", GET, seen(503, JSON, ERRORS), "O10"),
    ("JSON that was cut off", POST, seen(201, JSON, b'{"key":"A'), "O2"),
    ("JSON that nests too deep", GET, seen(200, JSON, b"[" * 100_000), "O2"),
]


@pytest.mark.parametrize(("what", "request_", "shown", "expected"), TABLE, ids=[row[0] for row in TABLE])
def test_each_row_of_the_table(what: str, request_: JiraRequest, shown: Seen, expected: str) -> None:
    assert outcome(request_, shown).outcome.value == expected


def test_every_outcome_is_in_the_table() -> None:
    assert {row[3] for row in TABLE} == {one.value for one in Outcome}


def test_a_body_that_broke_off_leaves_a_write_unknown() -> None:
    broken = Seen(sent=True, status=201, headers=JSON, body=b'{"key":"A-1"}', cut="broken off")
    assert outcome(POST, broken).outcome is Outcome.UNKNOWN


def test_an_answer_that_is_too_long_fails_a_reading_and_leaves_a_write_unknown() -> None:
    long = Seen(sent=True, status=200, headers=JSON, body=b"{", cut="too long")
    assert outcome(GET, long).outcome is Outcome.REFUSED
    assert outcome(POST, Seen(sent=True, status=201, headers=JSON, cut="too long")).outcome is Outcome.UNKNOWN


def test_the_text_of_a_refusal_holds_code_request_and_every_field() -> None:
    text = outcome(PUT, seen(400, {**JSON, "x-arequestid": "540x1"}, ERRORS)).text
    assert text == "PUT /rest/api/2/issue/A-1: HTTP 400: Нет; duedate: плохая дата [request 540x1]"


def test_a_page_is_reduced_to_its_title() -> None:
    assert "page «Вход & выход»" in outcome(GET, seen(502, HTML, PAGE)).text


def test_a_text_is_cut_to_what_a_report_takes() -> None:
    body = json.dumps({"errorMessages": ["ы" * 5000]}).encode()
    assert len(outcome(PUT, seen(400, JSON, body)).text) == MAX_ERROR


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, MIN_RATE_WAIT),
        ({"retry-after": "0"}, MIN_RATE_WAIT),
        ({"retry-after": "0", "x-ratelimit-interval-seconds": "60"}, 60.0),
        ({"retry-after": "120", "x-ratelimit-interval-seconds": "60"}, 120.0),
        ({"retry-after": "nonsense"}, MIN_RATE_WAIT),
        ({"retry-after": "Mon, 12 Jan 1970 13:48:20 GMT"}, 100.0),
        ({"retry-after": "9999999999"}, MIN_RATE_WAIT),
        ({"retry-after": "999999999"}, 86_400.0),
    ],
)
def test_the_wait_after_429_is_the_largest_of_three(headers: dict[str, str], seconds: float) -> None:
    assert rate_wait(headers, wall=1_000_000.0) == seconds
