"""What ``symderiv linear`` prints for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_COLUMNS = (
    ("alpha", "α"),
    ("generalization_error", "ε_g"),
    ("small_learning_rate", "η → 0"),
    ("integral_approximation", "integral"),
    ("integral_error_bound", "± at most"),
    ("finite_dimension", "SGD at N"),
)


def linear_lines(record: dict[str, Any], inputs: str, trained: int) -> Iterator[str]:
    """The lines of the summary and the table.

    Args:
        record: what ``--json`` prints.
        inputs: the inputs in words.
        trained: the number of trained directions.
    """
    rates = record["rates"]
    yield _line("inputs", inputs)
    yield _line("trained", f"{trained} directions; stable for η < {record['stability_limit']:.6g}")
    one = record.get("stability_limit_one_coordinate")
    if one is not None:
        yield _line("if L = N", f"SGD is stable for η < {one:.6g} only (see --dimension)")
    yield _line("rates", f"{len(rates)} per unit of α, {_short(rates[0])} to {_short(rates[-1])}")
    if float(record["final_error"]):
        final = _short(record["final_error"])
        yield _line("final error", f"{final}, what frozen directions and their noise leave")
    ends = record["window"]
    if ends is not None:
        if ends["lower"] < ends["upper"]:
            yield _line("power law", f"between α = {ends['lower']:.4g} and {ends['upper']:.4g}")
        else:
            yield _line("power law", "at no α: the spectrum is too short")
    yield _line("method", _method(record))
    if "relative_error_bound" in record:
        yield _line(
            "certified",
            f"ε_g, η → 0, rates and weights to {record['relative_error_bound']} of themselves, "
            f"with balls of {record['arithmetic']}",
        )
    if "finite_dimension" in record:
        yield _line(
            "finite N",
            f"exact mean of SGD, stable for η < {record['finite_stability_limit']:.6g}; departs "
            f"from the limit N → ∞ by up to {record['departure']:.2g} of it",
        )
    for warning in record.get("warnings", ()):
        yield _line("warning", warning)
    yield ""
    columns = [(key, title) for key, title in _COLUMNS if record.get(key) is not None]
    cells = [[title, *(_short(value) for value in record[key])] for key, title in columns]
    widths = [max(map(len, column)) for column in cells]
    for row in zip(*cells, strict=True):
        yield "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))


def _method(record: dict[str, Any]) -> str:
    if "agreement_digits" not in record:
        return f"{record['method']}, double precision"
    text = (
        f"{record['method']}, computed with {record['digits_used']} digits; a second computation "
        f"with more agrees in {record['agreement_digits']}"
    )
    difference = record["difference_from_secular"]
    return text if difference is None else f"{text}; {difference:.1e} from the secular equation"


def _line(label: str, text: str) -> str:
    return f"{label:<12}{text}"


def _short(value: Any) -> str:
    return str(value) if isinstance(value, str) else f"{value:.6g}"
