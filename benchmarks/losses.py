"""Losses that are no quadratic forms: time and error of the right-hand side.

python -m benchmarks.losses                   the whole table, about three CPU minutes
python -m benchmarks.losses --only logistic   the cases with this in their names, or of this name

Times are the least of repeats, of the compiled right-hand side for isotropic inputs. Errors are the
largest difference, at random states, between the means of the readable module and the same with a
much finer rule; that both are the means of the rule is what the check of generated modules looks
at.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import symderiv as sd
from benchmarks.kernel_limits import calls_of, packed, seconds_per_call
from symderiv.lowering.means.force_error import LARGEST_VARIANCE, ForceRule, finer
from symderiv.lowering.means.uncompiled import uncompiled
from symderiv.problem.rule_of import rule_of
from symderiv.storage.study_kernel import kernel_for

NUMBERS = {"label_noise": 0.0, "keep": 1.0, "evaluation_scale": 1.0, "lattice_shift": 0.0}


@dataclass(frozen=True)
class Case:
    """A problem and its numbers of units."""

    name: str
    activation: str
    arguments: dict[str, Any]
    K: int = 1
    M: int = 1

    @property
    def problem(self) -> sd.Problem:
        """With isotropic inputs, all units of variance one."""
        return sd.Problem(
            self.activation,
            students=self.K,
            teachers=self.M,
            inputs=sd.Isotropic(1000),
            learning_rate=0.5,
            **self.arguments,
        )


SIGN = {"target": "sign"}
CASES = (
    Case("logistic, erf", "erf", {"loss": "logistic"}),
    Case("logistic, erf, signs", "erf", {"loss": "logistic", **SIGN}),
    Case("logistic, erf, signs, flips", "erf", {"loss": "logistic", "label_flip": 0.1, **SIGN}),
    Case("logistic, erf, signs, noise", "erf", {"loss": "logistic", "label_noise": 0.3, **SIGN}),
    Case("logistic, erf, noise", "erf", {"loss": "logistic", "label_noise": 0.3}),
    Case("logistic, erf, K = 2", "erf", {"loss": "logistic"}, K=2),
    Case("logistic, erf, K = 2, signs", "erf", {"loss": "logistic", **SIGN}, K=2),
    Case("logistic, linear, signs, K = M = 3", "linear", {"loss": "logistic", **SIGN}, K=3, M=3),
    Case("exponential, linear, signs", "linear", {"loss": "exponential", **SIGN}),
    Case("hinge, erf, signs", "erf", {"loss": "hinge", **SIGN}),
    Case("hinge, relu, signs", "relu", {"loss": "hinge", "teacher_activation": "linear", **SIGN}),
    Case("Huber, erf", "erf", {"loss": "huber"}),
    Case("logistic, linear", "linear", {"loss": "logistic"}),
)


def error_of_units(case: Case, module: SimpleNamespace, count: int) -> float:
    """Largest difference from a finer rule, any numbers of units."""
    rng = np.random.default_rng(11)
    rule = ForceRule(tuple(module.FORCE_STEPS), tuple(module.FORCE_PANELS))
    worst = 0.0
    for _ in range(count):
        size = case.K + case.M
        rows = rng.normal(size=(size, size)) / math.sqrt(size)
        C = rows @ rows.T
        C *= min(1.0, LARGEST_VARIANCE / C.diagonal().max())  # errors are stated for these
        weights = (np.full(case.K, case.K**-0.5), np.full(case.M, case.M**-0.5))
        found = []
        for numbers in (finer(rule), rule):
            module.FORCE_STEPS[:], module.FORCE_PANELS[:] = numbers.steps, numbers.panels
            A, B = np.zeros((case.K, case.K)), np.zeros((case.K, case.M))
            dv, Gamma = np.zeros(case.K), np.zeros((case.K, case.K))
            fields = C[: case.K, : case.K], C[: case.K, case.K :], C[case.K :, case.K :]
            known = dict(zip(("Q", "R", "T"), map(np.array, fields), strict=True))
            known |= {"v": weights[0], "v_teacher": weights[1], **NUMBERS}
            known["label_flip"] = 0.1 if "label_flip" in case.arguments else 0.0
            known |= {"student_biases": np.zeros(case.K), "teacher_biases": np.zeros(case.M)}
            outputs = A, B, dv, Gamma, np.zeros(case.K)
            names = list(signature(module.mean_forces).parameters)[: -len(outputs)]
            error = module.mean_forces(*(known[name] for name in names), *outputs)
            along = np.hstack([A, B]) @ C
            found.append(np.concatenate([along.ravel(), dv, Gamma.ravel(), [error]]))
        worst = max(worst, float(np.abs(found[0] - found[1]).max()))
    return worst


def microseconds(case: Case, kernel: Any) -> float:
    """Least time of a right-hand side, output weights fixed, with terms of second order."""
    training = case.problem._study.training
    rhs = kernel.right_hand_side_for(case.K, case.M)
    C = np.full((case.K + case.M,) * 2, 0.5) + 0.5 * np.eye(case.K + case.M)
    values = {
        "student_overlap": C[: case.K, : case.K, None],
        "cross_overlap": C[: case.K, case.K :, None],
        "v": np.full(case.K, case.K**-0.5),
        "eigenvalue": 1.0,
        "weight": 1.0,
        "teacher_overlap": C[case.K :, case.K :, None],
        "T": C[case.K :, case.K :],
        "v_teacher": np.full(case.M, case.M**-0.5),
        "learning_rate": 0.5,
        "full_order": 1.0,
        "label_noise": training.label_noise,
        "label_flip": training.label_flip,
    }
    calls = calls_of(rhs, *packed(kernel.module.LAYOUT, case.K, case.M, values))
    # many calls where they are short
    times = max(1, min(200, int(2e-3 / seconds_per_call(1, calls, 1))))
    return 1e6 * seconds_per_call(times, calls)


def main() -> int:
    """Make the table; 0 when no error is above what its module states."""
    parser = argparse.ArgumentParser(prog="benchmarks.losses", description=__doc__)
    parser.add_argument("--only", default="", help="cases with this in their names")
    options = parser.parse_args()
    print("| case | variables' rule | µs | stated error | largest found |\n|---|---|---|---|---|")
    held = True
    same = [each for each in CASES if each.name == options.only]
    for case in same or [each for each in CASES if options.only in each.name]:
        study = case.problem._study
        kernel = kernel_for(study, rule=rule_of(study).rule)
        module = uncompiled(Path(kernel.path).read_text(encoding="utf-8"))
        one = case.K == case.M == 1
        found, stated = error_of_units(case, module, 3), float(module.ACTIVATION_ERROR)
        held = held and (found <= stated or not one)
        how = f"step {module.FORCE_STEPS[0]:g}"
        if module.KINKED or module.SIGN_TARGET:
            how = f"panel {module.FORCE_PANELS[0]:g}"
        time_ = microseconds(case, kernel)
        print(f"| {case.name} | {how} | {time_:.1f} | {stated:.1e} | {found:.1e} |", flush=True)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
