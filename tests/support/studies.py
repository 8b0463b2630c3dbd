"""Studies as the texts that users write, from the tables of keys."""

import json
from typing import Any


def toml(**tables: dict[str, Any]) -> str:
    """The text of a study, a line for every key, in the order in which they are given."""
    lines = []
    for name, keys in tables.items():
        lines.append(f"[{name}]")
        lines += [f"{key} = {_value(value)}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, float):
        return repr(value).replace("e-0", "e-")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value)


#: The study of a moment that commands are tried with.
SMALL_STUDY = toml(
    network={"activation": "erf", "students": 2, "teachers": 2},
    data={"model": "power-law", "dimension": 64, "distinct_eigenvalues": 1, "exponent": 1.0},
    training={"learning_rate": 0.5},
    initial={"student_std": 0.1},
    simulation={"runs": 3},
    time={"end": 20.0, "points": 40},
)
