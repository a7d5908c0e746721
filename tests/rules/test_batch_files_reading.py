"""Batch files: what is read out of YAML, JSON and CSV, and where each thing stands."""

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hub.batching import Accepted, checked_batch
from hub.cli.reading import yaml_tree
from hub.cli.reading.batch_file import BatchFile, form_of, read_batch_file
from protocol.commands import COMMAND_TYPES

EXAMPLES = Path(__file__).parents[2] / "examples" / "batches"


def yaml_batch(text: str) -> BatchFile:
    return read_batch_file(text.encode(), "yaml")


def test_the_demo_batch_is_accepted_and_holds_every_type_of_command() -> None:
    batch = read_batch_file((EXAMPLES / "demo.yaml").read_bytes(), "yaml")
    assert batch.findings == ()
    answer = checked_batch(batch.commands, ["блокирует начало", "связанные"])
    assert isinstance(answer, Accepted)
    assert {command.type for command in answer.commands} == set(COMMAND_TYPES)


def test_a_date_without_quotes_stays_the_text_it_is() -> None:
    batch = yaml_batch("commands:\n- {type: ensure_fields, key: AURORA-1533, duedate: 2026-10-23}")
    assert batch.commands[0]["duedate"] == "2026-10-23"


def test_a_time_without_quotes_is_no_number_of_seconds() -> None:
    assert yaml_batch("- {type: ensure_fields, summary: 12:30}").commands[0]["summary"] == "12:30"


def test_the_short_form_says_the_same_as_the_flat_one() -> None:
    short = yaml_batch("commands:\n- ensure_fields: {key: AURORA-1533, duedate: 2026-10-23}")
    flat = yaml_batch("commands:\n- {type: ensure_fields, key: AURORA-1533, duedate: 2026-10-23}")
    assert short.commands == flat.commands
    assert short.findings == ()


def test_a_list_at_the_top_is_a_batch_without_a_title() -> None:
    batch = yaml_batch("- {type: refresh, keys: [AURORA-1]}")
    assert (batch.title, len(batch.commands)) == (None, 1)


def test_null_and_nothing_both_clear_a_field() -> None:
    assert yaml_batch("- {type: ensure_fields, duedate: null, assignee: }").commands[0] == {
        "type": "ensure_fields",
        "duedate": None,
        "assignee": None,
    }


def test_anchors_and_merges_are_followed_and_own_names_win() -> None:
    batch = yaml_batch(
        "- &a {type: ensure_fields, key: A-1, summary: x}\n- {<<: *a, key: A-2}\n- {<<: [*a], summary: y}"
    )
    assert [command["key"] for command in batch.commands] == ["A-1", "A-2", "A-1"]
    assert [command["summary"] for command in batch.commands] == ["x", "x", "y"]


def test_json_keeps_characters_beyond_the_basic_plane_that_were_written_as_escapes() -> None:
    batch = read_batch_file(b'{"commands": [{"type": "ensure_issue", "summary": "\\ud83d\\udccc"}]}', "json")
    assert batch.commands[0]["summary"] == "📌"


def test_json_may_be_indented_with_tabs() -> None:
    batch = read_batch_file(b'{\n\t"commands": [\n\t\t{"type": "refresh", "jql": "x"}\n\t]\n}', "json")
    assert batch.findings == ()
    assert batch.positions["commands[0].jql"].line == 3


def test_csv_leaves_out_empty_cells_and_divides_lists() -> None:
    text = (
        "type,temp_key,summary,labels,key,target,replace,duedate\r\n"
        'ensure_issue,new:1,"Отчёт, ""сводный""",перенос|стенд,,,,2026-10-23\r\n'
        ",,,,,,,\r\n"
        "ensure_status,,,,AURORA-1,Разработка | Готово,,\r\n"
        "ensure_status,,,,AURORA-2,Готово,,\r\n"
        "ensure_link,,,,,AURORA-3,yes,\r\n"
        "ensure_fields,,,,AURORA-4,,,null"
    )
    batch = read_batch_file(b"\xef\xbb\xbf" + text.encode(), "csv")
    assert batch.findings == ()
    assert batch.commands == (
        {
            "type": "ensure_issue",
            "temp_key": "new:1",
            "summary": 'Отчёт, "сводный"',
            "labels": ["перенос", "стенд"],
            "duedate": "2026-10-23",
        },
        {"type": "ensure_status", "key": "AURORA-1", "target": ["Разработка", "Готово"]},
        {"type": "ensure_status", "key": "AURORA-2", "target": "Готово"},
        {"type": "ensure_link", "target": "AURORA-3", "replace": True},
        {"type": "ensure_fields", "key": "AURORA-4", "duedate": None},
    )


def test_csv_with_semicolons_and_line_breaks_in_cells_keeps_its_lines() -> None:
    batch = read_batch_file('type;key;body\nensure_comment;A-1;"раз\nдва"\nensure_comment;A-2;три\n'.encode(), "csv")
    assert [command["body"] for command in batch.commands] == ["раз\nдва", "три"]
    assert (batch.positions["commands[1].body"].line, batch.positions["commands[1].body"].column) == (4, 20)


def test_the_ending_of_a_name_says_its_form() -> None:
    assert [form_of(name) for name in ("a.yaml", "b.YML", "c.json", "d.csv", "e.txt")] == [
        "yaml",
        "yaml",
        "json",
        "csv",
        None,
    ]


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\ufeff\ufffe\uffff\x85"))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
commands = st.lists(st.dictionaries(texts, values, min_size=2, max_size=4), min_size=1, max_size=4)


@given(commands)
def test_whatever_yaml_can_say_is_read_as_it_was_meant(wanted: list[dict[str, object]]) -> None:
    batch = yaml_batch(yaml.safe_dump({"commands": wanted}, allow_unicode=True))
    assert batch.findings == ()
    assert list(batch.commands) == wanted


@given(commands, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_whatever_json_can_say_is_read_as_it_was_meant(
    wanted: list[dict[str, object]], indent: int | str | None, ascii_only: bool
) -> None:
    text = json.dumps({"commands": wanted}, ensure_ascii=ascii_only, indent=indent)
    batch = read_batch_file(text.encode(), "json")
    assert batch.findings == ()
    assert list(batch.commands) == wanted


@given(commands)
def test_the_place_of_every_name_in_json_is_where_the_name_stands(wanted: list[dict[str, object]]) -> None:
    text = json.dumps({"commands": wanted}, ensure_ascii=False, indent=2)
    batch = read_batch_file(text.encode(), "json")
    lines = text.split("\n")
    for index, command in enumerate(wanted):
        for name in command:
            place = batch.positions[f"commands[{index}].{name}"]
            written = json.dumps(name, ensure_ascii=False)
            assert lines[place.line - 1].startswith(written, place.column - 1)


@given(st.binary(max_size=200), st.sampled_from(["yaml", "json", "csv"]))
def test_no_bytes_make_the_reader_fall_over(data: bytes, form: str) -> None:
    batch = read_batch_file(data, form)  # type: ignore[arg-type]  # sampled from the forms
    assert batch.findings or batch.commands or batch.title is not None or batch.author is not None


@given(st.text("{}[]:,\"'-&*!|>#%@` \n\tab1~<=?.", max_size=60), st.sampled_from(["yaml", "json", "csv"]))
def test_no_marks_make_the_reader_fall_over(text: str, form: str) -> None:
    read_batch_file(text.encode(), form)  # type: ignore[arg-type]  # sampled from the forms


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="there is only one parser to compare")
@pytest.mark.parametrize(
    "text", [(EXAMPLES / "demo.yaml").read_text(encoding="utf-8"), "a: [", "[" * 3_000, "- {a: b, a: c}"]
)
def test_both_parsers_of_yaml_see_the_same(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = yaml_batch(text)
    monkeypatch.setattr(yaml_tree, "_LOADER", yaml.SafeLoader)
    slow = yaml_batch(text)
    assert (slow.commands, slow.positions) == (fast.commands, fast.positions)
    assert len(slow.findings) == len(fast.findings)


def test_a_misspelt_column_of_types_gets_the_right_name_once_and_not_a_fault_for_every_row() -> None:
    (found,) = read_batch_file(b"key,tpe,summary\nA-1,ensure_fields,x\nA-2,ensure_fields,y\n", "csv").findings
    assert (found.position.line, found.position.column, found.what) == (
        1,
        5,
        "unknown name tpe, and no column is named type",
    )
    assert found.hint == "did you mean type?"
