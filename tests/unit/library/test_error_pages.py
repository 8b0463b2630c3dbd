"""The pages of errors in the manual: every kind has one, and what is printed stands there."""

import ast
import re
from pathlib import Path

import pytest
from support.error_pages import error_pages

ROOT = Path(__file__).parents[3]


def test_every_class_of_errors_in_the_sources_has_a_page() -> None:
    known = set(error_pages.kinds())
    for folder in ("symderiv", "ledger/symderiv_ledger", "models/symderiv_models"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            bases = " ".join(re.findall(r"^ *class \w+\(([^)]*)\)", text, re.MULTILINE))
            if known.isdisjoint(re.findall(r"\w+", bases)):
                continue
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    names = {getattr(base, "id", "") for base in node.bases}
                    assert not names & known or node.name in known, (path, node.name)
    for name in known:
        assert not name.startswith("_")
        page = error_pages.error_page(name)
        said = page.split("\n## ")[0].splitlines()[2]
        assert said[0].isupper(), name
        assert said.endswith((".", ",", ":")) or len(said) > 30, name


def test_every_room_with_messages_has_a_heading() -> None:
    headed = {room for rooms in error_pages.TOPICS.values() for room in rooms}
    assert {message.room for message in error_pages.messages()} <= headed


def test_a_message_that_nobody_makes_is_not_known() -> None:
    assert error_pages.known("PAPER: s.toml: network.students: should be an integer; got 2.5")
    assert not error_pages.known("the moon is not full enough")
    assert not error_pages.known("")


@pytest.mark.parametrize("kind", ["InputError", "FormulaError"])
def test_a_page_has_each_message_of_a_topic_once_as_code(kind: str) -> None:
    topics = error_pages.error_page(kind).split("\n## ")[1:]
    said = [[line for line in topic.splitlines() if line.startswith("- ")] for topic in topics]
    assert sum(map(len, said)) > 100
    for lines in said:
        assert len(set(lines)) == len(lines)
        assert all(line.count("``") == 2 for line in lines)
    addresses = re.findall(r"\{#(message-[a-z0-9-]+)\}", error_pages.error_page(kind))
    assert len(addresses) == len(set(addresses)) == sum(map(len, said))
