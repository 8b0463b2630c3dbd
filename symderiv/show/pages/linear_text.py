"""Output of ``symderiv linear`` for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from symderiv.foundation.documents.document import Part, Summary, Tabular

_COLUMNS = (
    ("alpha", "α"),
    ("generalization_error", "ε_g"),
    ("small_learning_rate", "η → 0"),
    ("integral_approximation", "integral"),
    ("integral_error_bound", "± at most"),
    ("finite_dimension", "SGD at N"),
)


def linear_document(record: dict[str, Any], inputs: str, trained: int) -> Part:
    """Return the summary and the table.

    Args:
        record: what ``--json`` prints.
        inputs: the inputs in words.
        trained: the number of trained directions.
    """
    columns = [(key, title) for key, title in _COLUMNS if record.get(key) is not None]
    cells = [[_short(value) for value in record[key]] for key, _ in columns]
    rows = tuple(_rows(record, inputs, trained))
    curve = Tabular([title for _, title in columns], list(zip(*cells, strict=True)), sides="rr")
    return Part("", (Summary(rows=rows), curve))


def _rows(record: dict[str, Any], inputs: str, trained: int) -> Iterator[tuple[str, str]]:
    rates = record["rates"]
    yield "inputs", inputs
    yield "trained", f"{trained} directions; stable for η < {record['stability_limit']:.6g}"
    one = record.get("stability_limit_one_coordinate")
    if one is not None:
        yield "if L = N", f"SGD is stable for η < {one:.6g} only (see --dimension)"
    yield "rates", f"{len(rates)} per unit of α, {_short(rates[0])} to {_short(rates[-1])}"
    if float(record["final_error"]):
        final = _short(record["final_error"])
        yield "final error", f"{final}, what frozen directions and their noise leave"
    ends = record["window"]
    if ends is not None:
        if ends["lower"] < ends["upper"]:
            yield "power law", f"between α = {ends['lower']:.4g} and {ends['upper']:.4g}"
        else:
            yield "power law", "at no α: the spectrum is too short"
    yield "method", _method(record)
    if "relative_error_bound" in record:
        yield (
            "certified",
            f"ε_g, η → 0, rates and weights to {record['relative_error_bound']} of themselves, "
            f"with balls of {record['arithmetic']}",
        )
    if "finite_dimension" in record:
        yield (
            "finite N",
            f"exact mean of SGD, stable for η < {record['finite_stability_limit']:.6g}; departs "
            f"from the limit N → ∞ by up to {record['departure']:.2g} of it",
        )
    yield from (("warning", warning) for warning in record.get("warnings", ()))


def _method(record: dict[str, Any]) -> str:
    if "agreement_digits" not in record:
        return f"{record['method']}, double precision"
    text = (
        f"{record['method']}, computed with {record['digits_used']} digits; a second computation "
        f"with more agrees in {record['agreement_digits']}"
    )
    difference = record["difference_from_secular"]
    return text if difference is None else f"{text}; {difference:.1e} from the secular equation"


def _short(value: Any) -> str:
    return str(value) if isinstance(value, str) else f"{value:.6g}"
