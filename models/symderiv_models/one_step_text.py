"""Results of one gradient step, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symderiv.foundation.showing import Summary

__all__ = ["MODEL_NAMES", "one_step_summary"]

MODEL_NAMES = {
    "network": "network",
    "conditional_gaussian": "conditional Gaussian map",
    "hermite": "Hermite model",
    "ridge_equations": "equations of ridge",
    "asymptotic": "asymptotic equations",
}


def one_step_summary(title: str, record: Mapping[str, Any]) -> Summary:
    """Return the errors with standard errors, paired differences, and details of the models."""
    keys = record["setting"]
    setting = (
        f"{keys['activation']}, {keys['task']}, n = {keys['n']}, m = {keys['m']}, k = {keys['k']}, "
        f"α = {keys['alpha']:g}, β = {keys['beta']:g}, {keys['trials']} trials"
    )
    rows: list[tuple[str, object]] = [("setting", setting)]
    rows += [
        (MODEL_NAMES[name], _estimate(estimate)) for name, estimate in record["errors"].items()
    ]
    network = record["errors"]["network"]["mean"]
    for name, estimate in record["paired_difference"].items():
        rows.append((f"{MODEL_NAMES[name]} − network", _share(estimate, network)))
    if "degree" in record:
        made = record["coefficients"]
        kind = "certified" if made["certified"] else "estimated"
        parts = [f"degree {record['degree']}, b = {made['b']:.6g}, h = {_short(made['h'])}"]
        rows.append(("Hermite model", f"{parts[0]}, h* = {float(made['remainder']):.6g} ({kind})"))
    if "conditional" in record:
        part = record["conditional"]
        rows.append(
            (
                "covariances given κ",
                f"series to order {part['order']}, the rest independent: "
                f"at most {part['error_bound']:.1g} of the rest's variance",
            )
        )
    return Summary(title, rows)


def _estimate(found: Mapping[str, Any]) -> str:
    if found["standard_error"] is None:
        return f"{found['mean']:.5g}"
    return f"{found['mean']:.5g} ± {found['standard_error']:.1g}"


def _share(found: Mapping[str, Any], whole: float) -> str:
    """Return a difference as a percentage of a whole, with its standard error."""
    text = f"{100 * found['mean'] / whole:+.2f}"
    if found["standard_error"] is not None:
        text += f" ± {100 * found['standard_error'] / whole:.2f}"
    return f"{text} %"


def _short(values: list[str]) -> str:
    return "[" + ", ".join(f"{float(value):.6g}" for value in values) + "]"
