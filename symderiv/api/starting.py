"""Study files from templates, and their schema."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple

from symderiv.api.results.answer import Answer
from symderiv.foundation.errors import InputError, check_one_of
from symderiv.foundation.outputs import Output


class AskedKey(NamedTuple):
    """A key of a study file for which ``symderiv init`` asks, with the words of the question."""

    key: str
    words: str


QUESTIONS: Final = (
    AskedKey("network.activation", "Activation (a name, or a formula in x)"),
    AskedKey("network.students", "Number of students K"),
    AskedKey("network.teachers", "Number of teachers M"),
    AskedKey("data.dimension", "Input dimension N"),
    AskedKey("training.learning_rate", "Learning rate"),
    AskedKey("time.end", "Last time alpha (examples / N)"),
)


def templates() -> dict[str, str]:
    """Return the first line of every study template, by the template's name."""
    folder = resources.files("symderiv.api").joinpath("templates")
    texts = {}
    for file in sorted(folder.iterdir(), key=lambda each: each.name):
        name, _, ending = file.name.rpartition(".")
        if ending == "toml":
            first = file.read_text(encoding="utf-8").partition("\n")[0]
            texts[name] = first.removeprefix("# ")
    return texts


def study_from_template(
    template: str | None = None,
    output: str | PathLike[str] | None = None,
    *,
    ask: Callable[[str, str], str] | None = None,
    force: bool = False,
) -> Answer:
    """Return a commented study file.

    Args:
        template: one of :func:`templates`; two-units when left out.
        output: the file; None writes nothing.
        ask: called with the words of each of :data:`QUESTIONS` and the template's value; returns
            the new value.
        force: replace an existing file, whoever wrote it.

    Raises:
        InputError: there is no such template, the file exists, or an answer is not acceptable.
    """
    from symderiv.problem.study import parse_study

    known = templates()
    template = template or "two-units"
    check_one_of("template", template, known)
    target = None
    if output is not None:
        if Path(output).exists() and not force:
            raise InputError(f"{output}: exists already; choose another name", argument="output")
        target = Output(output, "toml", force=force)
    folder = resources.files("symderiv.api").joinpath("templates")
    text = folder.joinpath(f"{template}.toml").read_text(encoding="utf-8")
    if ask is not None:
        for question in QUESTIONS:
            text = _answered(text, question, ask)
    parse_study(text)
    if target is not None:
        # without a seal, because users edit this file
        target.write_text(text, seal=False)
    record = {"template": template, "path": str(target.path) if target else "", "study": text}
    said = f"{target.path}\n" if target else text
    return Answer(record, said)


def _answered(text: str, question: AskedKey, ask: Callable[[str, str], str]) -> str:
    """Return the text with an answer in place of the template's value; comments stay."""
    table, _, key = question.key.partition(".")
    pattern = rf"(\[{table}\][^\[]*?^{key} = )(\"[^\"\n]*\"|\S+)"
    line = re.search(pattern, text, re.MULTILINE)
    assert line is not None, question.key
    quoted = line[2].startswith('"')
    answer = ask(question.words, line[2].strip('"')).strip()
    if not answer or "\n" in answer or (quoted and ('"' in answer or "\\" in answer)):
        raise InputError(
            f"{answer!r} is not a value of this key; give a value of the same kind "
            "as the default, on one line",
            argument=question.key,
        )
    given = f'"{answer}"' if quoted else answer
    return text[: line.start(2)] + given + text[line.end(2) :]


def study_schema() -> dict[str, Any]:
    """Return the JSON schema of study files, for editors: tables, keys, types, ranges and defaults.

    It is made from the tables that check a study. Conditions between keys are checked when the
    study is read.
    """
    from pydantic.json_schema import GenerateJsonSchema

    from symderiv.problem.study import Study

    class Schema(GenerateJsonSchema):
        def function_plain_schema(self, schema: Any) -> dict[str, Any]:
            """Return the schema of files of arrays: in a study file they are names."""
            return {"type": "string", "description": "a file, relative to the study"}

    tables = Study.model_json_schema(schema_generator=Schema, mode="validation")
    tables["$schema"] = GenerateJsonSchema.schema_dialect
    tables["title"] = "symderiv study"
    tables["properties"]["task"]["description"] = "[[task]]: a sequence of tasks."
    tables["properties"]["sweep"]["description"] = "[sweep]: keys of the study and their values."
    return tables
