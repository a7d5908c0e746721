"""JQL, as much of it as the bridge sends; anything else is refused in Jira's words. Pure."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

_WORDS: Final = """
abort access add after alias all alter and any are as asc audit avg be before begin between boolean
break but by byte catch cf changed char character check checkpoint collate collation column commit
connect continue count create current date decimal declare decrement default defaults define delete
delimiter desc difference distinct divide do double drop else empty encoding end equals escape
exclusive exec execute exists explain false fetch file field first float for from function go goto
grant greater group having identified if immediate in increment index initial inner inout input
insert int integer intersect intersection into is isempty isnull it join last left less like limit
lock long max min minus mode modify modulo more multiply next no noaudit not notin nowait null
number object of on option or order outer output power previous prior privileges public raise raw
remainder rename resource return returns revoke right row rowid rownum rows select session set share
size sqrt start strict string subtract such sum synonym table that the their then there these they
this to trans transaction trigger true uid union unique update user validate values view was when
whenever where while will with
"""
_RESERVED_WORDS: Final = frozenset(_WORDS.split())
_RESERVED_CHARACTERS: Final = "+.;?|*/%^$#@[]{}&`\\"
_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<symbol>!=|>=|<=|!~|[=<>~(),])"""
    r"""|(?P<word>[^\s=<>~!(),"'+.;?|*/%^$#@\[\]{}&`\\]+))"""
)
_MAX_DEPTH: Final = 20  # nobody nests deeper; a bound for the recursion

Operator = Literal["=", "!=", ">", ">=", "<", "<=", "~", "!~", "in", "not in"]
# The clauses of jira.md 1.8 and the search by label: what the agent sends. A fake that ignores or half understands
# what it is asked finds duplicates that are none; so whatever else is asked is refused.
FIELDS: Final[Mapping[str, str]] = {
    "project": "project",
    "key": "key",
    "issue": "key",
    "issuekey": "key",
    "id": "key",
    "reporter": "reporter",
    "creator": "creator",
    "created": "created",
    "createddate": "created",
    "labels": "labels",
    "summary": "summary",
    "description": "description",
}
OPERATORS: Final[Mapping[str, frozenset[str]]] = {
    "project": frozenset({"="}),
    "key": frozenset({"=", "in"}),
    "reporter": frozenset({"="}),
    "creator": frozenset({"="}),
    "created": frozenset({">="}),
    "labels": frozenset({"="}),
    "summary": frozenset(),  # real Jira has only `~` here; this one does not pretend to be Lucene
    "description": frozenset(),
}
SORTABLE: Final = frozenset({"key", "created", "project"})


class BadJql(Exception):
    """The query was refused; the text is what Jira shows."""


@dataclass(frozen=True, slots=True)
class Value:
    """A literal, or a function call when `function` is true."""

    text: str
    function: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    field: str
    operator: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Both:
    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Either:
    parts: tuple["Node", ...]


Node = Clause | Both | Either


@dataclass(frozen=True, slots=True)
class Query:
    where: Node | None
    order: tuple[tuple[str, bool], ...]  # (field, descending)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    position: int

    @property
    def lower(self) -> str:
        return self.text.lower() if self.kind == "word" else self.text if self.kind == "symbol" else ""


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    position = 0
    while text[position:].strip():
        match = _TOKEN.match(text, position)
        if match is None:
            at = position + len(text[position:]) - len(text[position:].lstrip())
            raise BadJql(_bad_character(text[at], at + 1))
        kind = str(match.lastgroup)
        value = match.group(kind)
        if kind == "string":
            value = re.sub(r"\\(.)", r"\1", value[1:-1])
        found.append(_Token(kind, value, match.start(kind) + 1))
        position = match.end()
    return found


def _bad_character(character: str, position: int) -> str:
    if character in "\"'":
        return (
            "Error in the JQL Query: The quoted string that starts here has not been completed."
            f" (line 1, character {position})"
        )
    if character in _RESERVED_CHARACTERS:
        escape = f"\\u{ord(character):04x}"
        return (
            f"Error in the JQL Query: The character '{character}' is a reserved JQL character."
            f" You must enclose it in a string or use the escape '{escape}' instead. (line 1, character {position})"
        )
    return f"Error in the JQL Query: Unexpected character '{character}'. (line 1, character {position})"


class _Parser:
    def __init__(self, text: str) -> None:
        self.rest = _tokens(text)
        self.end = len(text) + 1

    def peek(self) -> str:
        return self.rest[0].lower if self.rest else ""

    def take(self) -> _Token:
        return self.rest.pop(0) if self.rest else _Token("end", "", self.end)

    def query(self) -> Query:
        where = None if not self.rest or self.peek() == "order" else self.either(0)
        order: list[tuple[str, bool]] = []
        if self.peek() == "order":
            self.take()
            self.expect("by", "Expecting 'BY'")
            order.append(self.sort_key())
            while self.peek() == ",":
                self.take()
                order.append(self.sort_key())
        if self.rest:
            raise self.complaint("Expecting either 'OR' or 'AND'", self.take())
        return Query(where, tuple(order))

    def either(self, depth: int) -> Node:
        if depth > _MAX_DEPTH:
            raise BadJql("Error in the JQL Query: the query is nested too deeply.")
        parts = [self.both(depth)]
        while self.peek() in ("or", "||"):
            self.take()
            parts.append(self.both(depth))
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def both(self, depth: int) -> Node:
        parts = [self.atom(depth)]
        while self.peek() in ("and", "&&"):
            self.take()
            parts.append(self.atom(depth))
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def atom(self, depth: int) -> Node:
        if self.peek() != "(":
            return self.clause()
        self.take()
        node = self.either(depth + 1)
        self.expect(")", "Expecting ')'")
        return node

    def clause(self) -> Clause:
        name = self.operand("Expecting a field name")
        operator = self.operator()
        if operator not in ("in", "not in"):
            return Clause(name.text, operator, (self.value(),))
        self.expect("(", "Expecting '('")
        values = [self.value()]
        while self.peek() == ",":
            self.take()
            values.append(self.value())
        self.expect(")", "Expecting ')'")
        return Clause(name.text, operator, tuple(values))

    def operator(self) -> str:
        token = self.take()
        word = token.lower
        if word == "not" and self.peek() == "in":
            self.take()
            return "not in"
        if word in ("=", "!=", ">", ">=", "<", "<=", "~", "!~", "in", "is", "was", "changed"):
            return word
        operators = "'=', '!=', '<', '>', '<=', '>=', '~', '!~', 'IN', 'NOT IN', 'IS' and 'IS NOT'"
        raise self.complaint(f"Expecting operator but got '{token.text}'. The valid operators are {operators}", token)

    def value(self) -> Value:
        token = self.operand("Expecting a value, list or function")
        if self.peek() != "(" or token.kind != "word":
            return Value(token.text)
        self.take()
        self.expect(")", "Expecting ')'")
        return Value(token.text, function=True)

    def operand(self, expecting: str) -> _Token:
        token = self.take()
        if token.kind not in ("word", "string"):
            raise self.complaint(expecting, token)
        if token.lower in _RESERVED_WORDS:
            raise BadJql(
                f"Error in the JQL Query: '{token.text}' is a reserved JQL word. You must surround it in quotation"
                f" marks to use it in a query. (line 1, character {token.position})"
            )
        return token

    def sort_key(self) -> tuple[str, bool]:
        name = self.operand("Expecting a field name")
        descending = self.peek() == "desc"
        if self.peek() in ("asc", "desc"):
            self.take()
        return name.text, descending

    def expect(self, word: str, expecting: str) -> None:
        token = self.take()
        if token.lower != word:
            raise self.complaint(expecting, token)

    @staticmethod
    def complaint(expecting: str, token: _Token) -> BadJql:
        got = "" if "but got" in expecting else f" but got '{token.text}'"
        if token.kind == "end":
            got = " before the end of the query"
        return BadJql(f"Error in the JQL Query: {expecting}{got}. (line 1, character {token.position})")


def parse(text: str) -> Query:
    """The tree of a query; field names are resolved and operators checked, values are not."""
    query = _Parser(text).query()
    order = tuple((_field(name, SORTABLE), descending) for name, descending in query.order)
    return Query(None if query.where is None else _resolved(query.where), order)


def _field(name: str, among: frozenset[str] | None = None) -> str:
    found = FIELDS.get(name.lower())
    if found is None or (among is not None and found not in among):
        raise BadJql(f"Field '{name}' does not exist or you do not have permission to view it.")
    return found


def _resolved(node: Node) -> Node:
    if isinstance(node, Both):
        return Both(tuple(_resolved(part) for part in node.parts))
    if isinstance(node, Either):
        return Either(tuple(_resolved(part) for part in node.parts))
    name = _field(node.field)
    if node.operator not in OPERATORS[name]:
        raise BadJql(f"The operator '{node.operator}' is not supported by the '{node.field}' field.")
    for value in node.values:
        if value.function and (name not in ("reporter", "creator") or value.text.lower() != "currentuser"):
            raise BadJql(f"Unable to find JQL function '{value.text}()'.")
    return Clause(name, node.operator, node.values)


def clauses(node: Node | None) -> list[Clause]:
    """Every clause of the tree."""
    if node is None:
        return []
    if isinstance(node, Clause):
        return [node]
    return [clause for part in node.parts for clause in clauses(part)]


def holds(node: Node | None, clause_holds: Callable[[Clause], bool]) -> bool:
    """Whether the tree is true, given the truth of its clauses."""
    if node is None:
        return True
    if isinstance(node, Clause):
        return clause_holds(node)
    if isinstance(node, Both):
        return all(holds(part, clause_holds) for part in node.parts)
    return any(holds(part, clause_holds) for part in node.parts)


_PERIOD: Final = re.compile(r"(?P<sign>[+-]?)(?P<parts>(?:\d+[wdhm]?\s*)+)$")
_UNIT_SECONDS: Final = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "": 60}  # no unit means minutes


def relative_seconds(text: str) -> int | None:
    """`-7d` -> -604800; None when the text is no period."""
    match = _PERIOD.match(text.strip())
    if match is None:
        return None
    total = sum(int(n) * _UNIT_SECONDS[unit] for n, unit in re.findall(r"(\d+)([wdhm]?)", match["parts"]))
    return -total if match["sign"] == "-" else total
