"""The text of a study, with absolute names of files and with arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from symderiv.foundation.errors import InputError
from symderiv.foundation.outputs import Output
from symderiv.inputs.given import Given
from symderiv.keys.toml_text import to_toml
from symderiv.problem.study import Study

# Largest array in a text, at 20 bytes a number; larger texts are slow and unreadable.
_MOST_INLINE = 10**6
_MOST_BESIDE = 1000

_FILES = (("data", "file"), ("data", "features"), ("initial", "state"))


def whole_text(study: Study, *, equal: bool = False) -> str:
    """Return a text of the study from which an equal study can be read in any folder.

    Args:
        study: the study.
        equal: True gives digests in place of arrays, for texts that are only compared.

    Raises:
        InputError: an array is too large to be written out.
    """
    for key, value in _arrays(study).items():
        if value.numbers > _MOST_INLINE and not equal:
            raise InputError(
                f"an array of {value.numbers} numbers is too large for a text; give a path, and "
                "symderiv writes the array beside the text",
                argument=f"inputs.{key}",
            )
    tables = study.tables(-1 if equal else _MOST_INLINE)
    return to_toml(_located(tables, study))


def saved_text(study: Study, path: Path, *, force: bool = False) -> str:
    """Return :func:`whole_text` and write it to a file, with large arrays in files beside it."""
    target = Output(path, "toml", inputs=study.input_files, force=force)
    tables = _located(study.tables(_MOST_BESIDE), study)
    for key, value in _arrays(study).items():
        if value.numbers > _MOST_BESIDE:
            beside = path.with_name(f"{path.stem}-{key}{value.ending}")
            value.save(Output(beside, value.ending[1:], inputs=study.input_files, force=force))
            tables["data"][key] = beside.name
    text = to_toml(tables)
    target.write_text(text)
    return text


def _arrays(study: Study) -> dict[str, Given]:
    fields = {} if study.data is None else dict(study.data)
    return {key: value for key, value in fields.items() if isinstance(value, Given)}


def _located(tables: dict[str, Any], study: Study) -> dict[str, Any]:
    for table, key in _FILES:
        given = getattr(getattr(study, table), key, None)
        if isinstance(given, str):
            tables[table][key] = str((study.base / given).absolute())
    for name in ("simulation", "time"):
        if name not in study.model_fields_set:
            tables.pop(name, None)
    return tables
