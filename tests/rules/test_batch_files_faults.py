"""Batch files with faults: each is named with its line and column, all together, with the way out."""

from typing import Literal

import pytest

from hub.batching import Rejected, checked_batch
from hub.cli.reading.batch_file import BatchFile, everything_wrong, read_batch_file
from protocol.errors import Fault


def told(batch: BatchFile) -> list[tuple[int, int, str]]:
    return [(finding.position.line, finding.position.column, finding.what) for finding in batch.findings]


def judged(text: str) -> list[tuple[int, str, str | None]]:
    """Line, text and hint of what the hub's rule refuses in a file whose form is good."""
    batch = read_batch_file(text.encode(), "yaml")
    assert batch.findings == ()
    answer = checked_batch(batch.commands, ["блокирует начало", "связанные"])
    assert isinstance(answer, Rejected)
    found = batch.located(wrong.fault("en") for wrong in answer.faults)
    return [(finding.position.line, finding.what, finding.hint) for finding in found]


def test_a_doubled_name_is_refused_with_both_lines() -> None:
    batch = read_batch_file(b"commands:\n- type: refresh\n  jql: a\n  jql: b\n", "yaml")
    assert told(batch) == [(4, 3, "jql stands here and in line 3")]


def test_a_doubled_name_is_refused_in_json_too() -> None:
    batch = read_batch_file(b'{"commands": [{"type": "refresh",\n "jql": "a", "jql": "b"}]}', "json")
    assert told(batch) == [(2, 14, "jql stands here and in line 2")]


def test_a_misspelt_name_at_the_top_gets_the_nearest_right_one() -> None:
    batch = read_batch_file(b"titel: x\ncommands:\n- {type: refresh, jql: x}", "yaml")
    assert [(finding.position.line, finding.hint) for finding in batch.findings] == [(1, "did you mean title?")]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "the file is empty"),
        ("# nothing\n", 1, "the file is empty"),
        ("just a text", 1, "a batch is a mapping or a list of commands"),
        ("title: x\n", 1, "the file has no commands"),
        ("commands: x", 1, "commands must be a list"),
        ("commands: []", 1, "the list of commands is empty"),
        ("commands:\n- ensure_fields\n", 2, "a command is a mapping"),
        ("commands:\n- ensure_fields: {type: refresh, key: A-1}\n", 2, "the type of the command stands twice"),
        ("commands:\n- !!python/object:os.system {}\n", 2, "the tag !!python/object:os.system is not allowed"),
        ("commands:\n- {type: !mine x}\n", 2, "the tag !mine is not allowed"),
        ("commands:\n- {? [a] : x, type: refresh}\n", 2, "a name must be a plain text"),
        ("commands:\n- {<<: x, type: refresh}\n", 2, "<< takes a mapping"),
        ("a: &a [*a]", 1, "nested more than 32 deep"),
        ("--- a\n--- b\n", 2, "but found another document, expected a single document in the stream"),
        (
            "- type: refresh\n\tjql: x",
            2,
            "found a tab character that violates indentation, while scanning a plain scalar",
        ),
        ("commands:\n- type: \x07", 2, "a character that YAML does not allow"),
    ],
)
def test_a_bad_form_is_told_with_its_line(text: str, line: int, what: str) -> None:
    batch = read_batch_file(text.encode(), "yaml")
    assert (batch.findings[0].position.line, batch.findings[0].what) == (line, what)


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ('{"commands": [\n  {"type": "refresh",}]}', (2, 22), "expected a name in double quotes"),
        ("[1, 2", (1, 6), "expected ,"),
        ("[NaN]", (1, 2), "not JSON from here on"),
        ('["a\nb"]', (1, 2), "not JSON from here on"),
        ("[1e999]", (1, 2), "1e999 is beyond every number"),
        ("[] []", (1, 4), "the document ended before this"),
        ('{"a" 1}', (1, 6), "expected :"),
        ("[}", (1, 2), "expected a value"),
        ("[" * 50, (1, 34), "nested more than 32 deep"),
    ],
)
def test_broken_json_is_told_with_its_place(text: str, place: tuple[int, int], what: str) -> None:
    assert told(read_batch_file(text.encode(), "json")) == [(*place, what)]


def test_a_few_lines_of_aliases_cannot_unfold_without_end() -> None:
    text = "a: &b0 [x,x,x,x,x,x,x,x,x,x]\n"
    text += "".join(f"b{n}: &b{n} [{','.join([f'*b{n - 1}'] * 10)}]\n" for n in range(1, 9))
    batch = read_batch_file(f"{text}commands: *b8".encode(), "yaml")
    assert batch.findings[-1].what == "more than 200000 values, aliases followed"


def test_a_file_of_another_encoding_says_so() -> None:
    batch = read_batch_file("title: Отчёт".encode("cp1251"), "yaml")
    assert [(finding.what, finding.hint) for finding in batch.findings] == [("not UTF-8", "save the file as UTF-8")]


def test_a_file_that_is_far_too_large_is_not_parsed() -> None:
    batch = read_batch_file(b"#" * (4 * 1024 * 1024 + 1), "yaml")
    assert batch.findings[0].what == "larger than 4 MiB"


def test_csv_names_the_cell_that_has_no_column_and_the_quote_that_does_not_fit() -> None:
    assert told(read_batch_file(b"type,key\nrefresh,A-1,x\n", "csv")) == [
        (2, 13, "more cells than the header has names")
    ]
    assert told(read_batch_file(b'type,key\nrefresh,"A"1\n', "csv")) == [(2, 9, "a quote that does not fit")]


def test_the_four_faults_of_one_file_come_together_each_with_its_line() -> None:
    """Issue text: a wrong type, an unknown field, a duplicate summary, a temporary key without its definition."""
    found = judged(
        "commands:\n"
        "- {type: ensure_isue, temp_key: new:1, summary: x}\n"
        "- type: ensure_fields\n"
        "  key: AURORA-1533\n"
        "  sumary: y\n"
        "- {type: ensure_issue, temp_key: new:2, summary: Отчёт}\n"
        "- type: ensure_issue\n"
        "  temp_key: new:3\n"
        '  summary: " Отчёт "\n'
        "- ensure_link: {source: new:9, target: AURORA-1, link_type: связанные}\n"
    )
    assert [(line, what.partition(":")[0]) for line, what, _ in found] == [
        (2, "type"),
        (5, "sumary"),
        (9, "summary"),
        (10, "source"),
    ]
    hints = [hint or "" for _, _, hint in found]
    assert "ensure_issue" in hints[0]
    assert "summary" in hints[1]
    assert "«Отчёт»" in found[2][1]
    assert "new:9" in found[3][1]


@pytest.mark.parametrize(
    ("written", "kind"), [("2026", "a number"), ("1.5", "a number"), ("yes", "yes or no"), ("off", "yes or no")]
)
def test_a_text_that_yaml_reads_as_something_else_must_be_put_in_quotes(written: str, kind: str) -> None:
    found = judged(f"- type: ensure_issue\n  temp_key: new:1\n  summary: {written}\n")
    assert found == [(3, f"{written} is read as {kind}, a text is needed", f'put it in quotes: "{written}"')]


def test_each_number_in_a_list_of_texts_is_told_once() -> None:
    found = judged("- type: ensure_issue\n  temp_key: new:1\n  summary: x\n  labels:\n  - ok\n  - 2026\n  - on\n")
    assert [(line, hint) for line, _, hint in found] == [(6, 'put it in quotes: "2026"'), (7, 'put it in quotes: "on"')]


def test_a_list_within_a_list_is_a_fault_of_its_own_whatever_stands_in_it() -> None:
    text = '{"title": "t", "commands": [{"type": "ensure_fields", "key": "A1-1", "labels_add": [[1, "2"]]}]}'
    found = everything_wrong(read_batch_file(text.encode(), "json"))
    assert [(finding.field, finding.what) for finding in found] == [
        ("commands[0].labels_add[0]", "labels_add[0]: must be a text")
    ]


def test_a_type_that_is_no_text_is_a_fault_of_that_command() -> None:
    found = everything_wrong(read_batch_file(b'{"title": "t", "commands": [{"type": [1]}]}', "json"))
    assert [finding.field for finding in found] == ["commands[0].type"]


def test_a_number_where_a_text_or_a_list_may_stand_is_one_fault() -> None:
    found = judged(
        "- {type: ensure_status, key: AURORA-1, target: 5}\n- {type: ensure_sprint, key: AURORA-1, sprint: 7}\n"
    )
    assert [(line, hint) for line, _, hint in found] == [(1, 'put it in quotes: "5"'), (2, 'put it in quotes: "7"')]


def test_a_wrong_number_where_a_number_belongs_is_not_sent_into_quotes() -> None:
    found = judged("- {type: ensure_sprint, key: AURORA-1, sprint: {id: -5}}\n- {type: refresh, jqk: 5}\n")
    assert not [hint for _, _, hint in found if hint and "quotes" in hint]


def test_a_fault_without_a_place_of_its_own_stands_at_what_holds_it() -> None:
    batch = read_batch_file(b"title: x\ncommands:\n- type: ensure_fields\n  duedate: 2026-01-01\n", "yaml")
    faults = [Fault(field="commands[0].key", detail="is missing"), Fault(field="author", detail="is empty")]
    assert [(finding.position.line, finding.what) for finding in batch.located(faults)] == [
        (1, "author: is empty"),
        (3, "key: is missing"),
    ]


def test_a_fault_of_a_whole_command_stands_at_its_start() -> None:
    found = judged("commands:\n\n- {type: ensure_link, source: AURORA-1, target: AURORA-1, link_type: связанные}\n")
    assert found == [(3, "an issue cannot be linked to itself", None)]


def test_faults_of_form_and_of_content_come_together() -> None:
    text = "commands:\n- {type: refresh, jql: a, jql: b}\n- nothing\n- {type: ensure_feilds, key: A-1, duedate: x}\n"
    found = everything_wrong(read_batch_file(text.encode(), "yaml"))
    assert [finding.position.line for finding in found] == [2, 3, 4]


def test_what_follows_from_a_bad_form_is_not_said_again() -> None:
    text = "commands:\n- ensure_fields:\n    type: refresh\n    keys: 5\n- {type: refresh, jql: a, jql: b}\n"
    found = everything_wrong(read_batch_file(text.encode(), "yaml"))
    assert [finding.position.line for finding in found] == [2, 5]


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_an_empty_mapping_has_no_commands(form: Literal["yaml", "json"]) -> None:
    (finding,) = read_batch_file(b"{}", form).findings
    assert finding.what == "the file has no commands"
