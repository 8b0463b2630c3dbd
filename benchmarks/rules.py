"""Learning rules: the equations against SGD on vectors, at two input dimensions.

python -m benchmarks.rules                  the whole table, about ten minutes on one core
python -m benchmarks.rules --only dropout   the rules with this in their names
python -m benchmarks.rules --results FILE   go on where it was stopped (rule-results.jsonl)

For every number that is reported (Q, R, v, errors, and what a rule adds) and every time,

    |equations - mean over runs| <= 3 standard errors + c/sqrt(N) * scale,

scale being the largest value of that array in the run. The table has the smallest such c, which
must be at most 0.5 for both N: what is left for large N is the equations being right.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import symderiv as sd
from symderiv.foundation.errors import InputError

DIMENSIONS = (1000, 2000)
RUNS = 16
TIMES = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
LARGEST = 0.5

# Students, teachers and overlaps of general position: K != M, T neither 1 nor diagonal.
START = {
    "Q": [[0.7, 0.2, -0.1], [0.2, 0.5, 0.15], [-0.1, 0.15, 0.9]],
    "R": [[0.3, -0.1], [0.1, 0.2], [-0.2, 0.25]],
    "T": [[1.4, 0.3], [0.3, 0.8]],
}
COMMON: dict[str, Any] = {
    "students": 3,
    "teachers": 2,
    "student_weights": [0.7, -0.5, 0.4],
    "teacher_weights": [0.9, -0.6],
    "learning_rate": 0.6,
}
SINGLE_START = {"Q": [[0.6]], "R": [[0.2]], "T": [[1.3]]}
SINGLE = {
    "students": 1,
    "teachers": 1,
    "student_weights": [0.8],
    "teacher_weights": [1.2],
    "learning_rate": 0.6,
}
ONE_TEACHER = {"Q": START["Q"], "R": [row[:1] for row in START["R"]], "T": [[1.4]]}
ONE = {"teachers": 1, "teacher_weights": [1.0]}
SPECTRUM = {"student_std": 0.7, "seed": 5, "learning_rate": 0.4}
SIGNS = {"target": "sign"}
# means by quadrature take long
PAIR_START = {"Q": [[0.7, 0.2], [0.2, 0.5]], "R": [[0.3], [0.1]], "T": [[1.4]]}
TWO_START = {
    "Q": [[0.7, 0.2], [0.2, 0.5]],
    "R": [[0.3, -0.1], [0.1, 0.2]],
    "T": [[1.4, 0.3], [0.3, 0.8]],
}
TWO = {"students": 2, "student_weights": [0.7, -0.5]}
PAIR: dict[str, Any] = {
    "students": 2,
    "teachers": 1,
    "student_weights": [0.7, -0.5],
    "teacher_weights": [0.9],
    "student_biases": [0.3, -0.2],
    "teacher_biases": [0.4],
    "train_biases": True,
    "bias_learning_rate": 0.5,
    "learning_rate": 0.4,
}


BIASED: dict[str, Any] = {
    "student_biases": [0.4],
    "teacher_biases": [-0.5],
    "train_biases": True,
    "label_flip": 0.1,
}


@dataclass(frozen=True)
class Rule:
    """A line of the table: a problem by its arguments, and where it starts.

    Attributes:
        start: Q, R and T of isotropic inputs; None for drawn vectors on a power-law spectrum.
        runs: of SGD.
        manifold: inputs are a hidden manifold in place of the power-law spectrum.
    """

    name: str
    arguments: dict[str, Any]
    activation: str = "erf"
    start: dict[str, Any] | None = None
    runs: int = RUNS
    manifold: bool = False

    def problem(self, N: int) -> sd.Problem:
        """The problem at an input dimension."""
        own = {**(COMMON if self.start is not SINGLE_START else SINGLE), **self.arguments}
        if self.start is None:
            own = {**own, **SPECTRUM, **self.arguments}
            inputs: Any = sd.PowerLaw(4, exponent=0.5, dimension=N)
            if self.manifold:
                inputs = sd.HiddenManifold("sign", dimension=N, latent_dimension=N // 2)
        else:
            inputs = sd.Isotropic(N)
        return sd.Problem(self.activation, inputs=inputs, **own)

    def digest(self, N: int) -> str:
        """Of all that its line depends on besides the program."""
        told = [self.activation, self.arguments, self.start, self.manifold, COMMON, SINGLE, N]
        told += [self.runs, TIMES]
        return hashlib.sha256(repr(told).encode()).hexdigest()[:16]


def _rule(name: str, activation: str = "erf", **arguments: Any) -> Rule:
    return Rule(name, arguments, activation, START)


def _single(name: str, activation: str = "erf", **arguments: Any) -> Rule:
    return Rule(name, arguments, activation, SINGLE_START)


def _spectrum(name: str, activation: str = "erf", **arguments: Any) -> Rule:
    return Rule(name, arguments, activation, None)


SWITCH = [{"until": 2.5, "teachers": [0]}, {"teachers": [1]}]
REPLAY = [
    {"until": 2.0, "teachers": [0]},
    {"until": 2.0, "teachers": [1]},
    {"mixture": {"0": 0.3, "1": 0.7}},
]
# other eigenvalues in the same eigenspaces; the study's are 4 of a power law with exponent 0.5
CURRICULUM = [
    {"until": 1.5, "teachers": [0, 1], "head": "shared", "data": {"model": "isotropic"}},
    {
        "until": 3.0,
        "teachers": [0, 1],
        "head": "shared",
        "data": {"model": "spectrum", "eigenvalues": [0.4, 1.8, 0.7, 1.1]},
    },
    {"teachers": [0, 1], "head": "shared"},
]
CHANGES = [
    {"until": 2.5, "teachers": [0], "data": {"model": "spectrum", "eigenvalues": [0.5, 1, 2, 0.5]}},
    {"teachers": [1]},
]
BOTH: dict[str, Any] = {"train_second_layer": True, "second_layer_learning_rate": 0.5}

RULES = (
    _rule("flips", label_flip=0.15),
    _rule("flips, label noise, relu", "relu", label_flip=0.1, label_noise=0.3, learning_rate=0.3),
    _rule("dropout", keep=0.7),
    _rule("dropout, both layers", keep=0.8, **BOTH),
    _rule("dropout, relu", "relu", keep=0.8, learning_rate=0.3),
    _rule("dropout and flips", keep=0.8, label_flip=0.1),
    _rule("input noise", input_noise=0.6),
    _rule("update noise", update_noise=0.4),
    _rule("update noise, batches, momentum", update_noise=0.5, batch=3, momentum=0.4,
          learning_rate=0.9),
    _rule("update noise, decay, flips", update_noise=0.4, weight_decay=0.3, label_flip=0.1),
    _rule("update noise, momentum 1/N", update_noise=0.8, momentum_rate=3.0, learning_rate=1.5),
    _rule("update noise, batches of N/2", update_noise=0.3, batch_ratio=0.5),
    _rule("update noise, sphere", update_noise=0.4, normalise="sphere"),
    _single("update noise, logistic loss", loss="logistic", update_noise=0.4, **SIGNS),
    _spectrum("update noise, power-law spectrum", update_noise=0.4),
    Rule("sign of one teacher", {**ONE, **SIGNS}, start=ONE_TEACHER),
    Rule("hinge loss, sign of two teachers", {**TWO, **SIGNS, "loss": "hinge"}, "erf", TWO_START),
    _single("logistic loss", loss="logistic", **SIGNS),
    _single("logistic loss, label noise", loss="logistic", label_noise=0.3, **SIGNS),
    _single("logistic loss, flips", loss="logistic", label_flip=0.1, **SIGNS),
    _single("logistic loss, dropout", loss="logistic", **SIGNS, keep=0.7, train_second_layer=True),
    _single("exponential loss, dropout, flips", loss="exponential", **SIGNS, keep=0.6, **BIASED),
    _single("Huber loss, trained biases", loss="huber", **BIASED),
    Rule(
        "logistic loss, two students, dropout",
        {**PAIR, "loss": "logistic", **SIGNS, "keep": 0.7, "train_second_layer": True},
        "erf",
        PAIR_START,
    ),
    _single("exponential loss", loss="exponential", learning_rate=0.3, **SIGNS),
    _single("hinge loss", loss="hinge", **SIGNS),
    _single("Huber loss", loss="huber", teacher_weights=[2.5]),
    _single("quartic loss", loss="(s-t)**2/2 + (s-t)**4/4", learning_rate=0.2),
    _rule("batches of 4", batch=4, learning_rate=2.0),
    _rule("batches of N/2", batch_ratio=0.5),
    _rule("momentum", momentum=0.7, learning_rate=0.2),
    _rule("momentum, rate 1/N", momentum_rate=3.0, learning_rate=1.5),
    _rule("momentum 1/N, label noise", momentum_rate=3.0, learning_rate=1.5, label_noise=0.4),
    _rule("input noise and momentum", input_noise=0.5, momentum=0.5, learning_rate=0.3),
    _rule("momentum 1/N, all weights", momentum_rate=3.0, learning_rate=1.5,
          student_biases=[0.3, -0.2, 0.1], teacher_biases=[0.4, -0.5], train_biases=True,
          bias_learning_rate=1.2, train_second_layer=True, second_layer_learning_rate=1.2),
    _single("momentum 1/N, logistic loss", loss="logistic", momentum_rate=3.0, **SIGNS),
    _rule("batches of N/2, input noise", batch_ratio=0.5, input_noise=0.5),
    _rule("batches of N/2, trained biases", batch_ratio=0.5, student_biases=[0.3, -0.2, 0.1],
          teacher_biases=[0.4, -0.5], train_biases=True),
    _single("batches of N/2, hinge loss", loss="hinge", batch_ratio=0.5, **SIGNS),
    _rule("batches of N/2, schedule", batch_ratio=0.5, schedule="1/(1 + alpha)"),
    _rule("momentum 1/N, batches of 3", momentum_rate=6.0, batch=3, learning_rate=6.0,
          update_noise=0.5, **BOTH),
    _rule("sphere, batches of 3, momentum", normalise="sphere", batch=3, momentum=0.4),
    _rule("normalised gradient, batches of 3", normalise="gradient", batch=3, learning_rate=0.9),
    _rule("normalised gradient, input noise", normalise="gradient", learning_rate=0.3,
          input_noise=0.5),
    _single("normalised gradient, logistic loss", loss="logistic", normalise="gradient",
            learning_rate=0.3, **SIGNS),
    _rule("sphere, input noise, trained biases", normalise="sphere", input_noise=0.5,
          student_biases=[0.3, -0.2, 0.1], teacher_biases=[0.4, -0.5], train_biases=True),
    _spectrum("sphere, input noise, power-law spectrum", normalise="sphere", input_noise=0.5),
    _single("sphere, logistic loss", loss="logistic", normalise="sphere", **SIGNS),
    _rule("normalised gradient", normalise="gradient", learning_rate=0.3),
    _rule("sphere", normalise="sphere"),
    _rule("schedule, table", schedule={"times": [0.0, 2.0], "rates": [1.0, 0.2]}),
    _rule("schedule, power law", schedule={"power": 0.7, "after": 1.0}),
    _rule("schedule, formula", schedule="1/(1 + alpha)", **BOTH),
    _rule("biases", student_biases=[0.3, -0.2, 0.1], teacher_biases=[0.4, -0.5]),
    _rule(
        "trained biases",
        student_biases=[0.3, -0.2, 0.1],
        teacher_biases=[0.4, -0.5],
        train_biases=True,
        bias_learning_rate=0.8,
    ),
    Rule("trained biases, relu", PAIR, "relu", PAIR_START),
    Rule("trained biases, softplus", PAIR, "softplus", PAIR_START),
    _spectrum(
        "biases, power-law spectrum",
        student_biases=[0.3, -0.2, 0.1],
        teacher_biases=[0.4, -0.5],
        train_biases=True,
    ),
    _spectrum("dropout, power-law spectrum", keep=0.8),
    _spectrum("momentum 1/N, power-law spectrum", momentum_rate=3.0, learning_rate=1.0),
    _spectrum("sphere, power-law spectrum", normalise="sphere"),
    Rule("hidden manifold, both layers", BOTH, manifold=True),
    Rule("hidden manifold, both layers, relu", BOTH, "relu", manifold=True),
    _rule("a switch of tasks", tasks=SWITCH, **BOTH),
    _rule("replay", tasks=REPLAY, **BOTH),
    _rule("tasks and dropout", tasks=SWITCH, keep=0.8, **BOTH),
    _rule("tasks, flips, schedule", tasks=SWITCH, label_flip=0.1, schedule="1/(1 + alpha)"),
    _spectrum("curriculum", tasks=CURRICULUM),
    _spectrum("curriculum, two teachers, both layers", tasks=CHANGES, **BOTH),
    # overlaps of velocities scatter: errors of means over 16 runs are not known well enough
    replace(_spectrum("curriculum, momentum 1/N, flips", tasks=CURRICULUM, momentum_rate=3.0,
                      learning_rate=1.0, label_flip=0.1), runs=64),
    _rule("dropout, momentum, weight decay", keep=0.8, momentum=0.5, learning_rate=0.3,
          weight_decay=0.2),
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What came out for a rule at an input dimension.

    Attributes:
        status: "compared", or "not solved" with the reason.
        constant: c; ``at``: the number that needs it.
        deviation: largest deviation in standard errors.
        moved: how far the error went, in standard errors of its end.
    """

    name: str
    dimension: int
    digest: str
    status: str
    constant: float = 0.0
    at: str = ""
    deviation: float = 0.0
    moved: float = 0.0
    seconds: float = 0.0


def compared(
    rule: Rule, N: int, runs: int | None = None, times: tuple[float, ...] = TIMES
) -> Outcome:
    """One line of the table."""
    begun = time.process_time()
    problem = rule.problem(N)
    try:
        curve = problem.solve(alpha=list(times), initial=rule.start)
    except InputError as refusal:
        return Outcome(rule.name, N, rule.digest(N), f"not solved: {refusal}")
    sgd = problem.simulate(runs=runs or rule.runs, alpha=list(times), initial=rule.start)
    if not (curve.succeeded and sgd.succeeded):
        reason = f"ended early: {curve.message}; {sgd.message}"
        return Outcome(rule.name, N, rule.digest(N), reason)
    found = agreement(curve, sgd)
    change = abs(curve.generalization_error[-1] - curve.generalization_error[0])
    moved = change / float(sgd.standard_error("generalization_error")[-1])
    seconds = time.process_time() - begun
    return Outcome(
        rule.name, N, rule.digest(N), "compared", *found, moved=float(moved), seconds=seconds
    )


def agreement(curve: Any, sgd: Any) -> tuple[float, str, float]:
    """The least c, the number that needs it, the largest deviation in standard errors.

    Args:
        curve, sgd: a trajectory and a simulation at the same times.
    """
    worst, at, largest = 0.0, "", 0.0
    for name in ("generalization_error", "Q", "R", "v", *sgd.further):
        if name == "mean_loss" or (name == "v" and "heads" in sgd.further):
            continue  # equations have no mean loss; v is that of head 0, which is among the heads
        expected = np.asarray(getattr(curve, name))
        found, error = sgd.mean(name), sgd.standard_error(name)
        off = np.abs(found - expected)
        scale = float(np.max(np.abs(expected)))
        constant = (off - 3.0 * error) * math.sqrt(sgd.dimension) / scale
        place = np.unravel_index(int(np.argmax(constant)), constant.shape)
        if constant[place] > worst:
            worst = float(constant[place])
            at = f"{name}{list(map(int, place[1:])) or ''} at {sgd.alpha[place[0]]:g}"
        with np.errstate(divide="ignore", invalid="ignore"):
            # what all runs share, as at the start, has no error to speak of
            shared = error <= 1e-3 / math.sqrt(sgd.dimension) * scale
            largest = max(largest, float(np.max(np.where(shared, 0.0, off / error))))
    return worst, at, largest


def outcomes(rules: list[Rule], results: Path) -> Iterator[Outcome]:
    """The lines of the table; those in the file of results are not made again."""
    known = {}
    if results.exists():
        for line in results.read_text(encoding="utf-8").splitlines():
            try:
                found = Outcome(**json.loads(line))
            except (ValueError, TypeError):
                continue  # a line that was being written
            known[found.digest, found.name] = found
    for N in DIMENSIONS:
        for rule in rules:
            outcome = known.get((rule.digest(N), rule.name))
            if outcome is None or outcome.status != "compared":
                outcome = compared(rule, N)
                with results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(outcome)) + "\n")
            yield outcome


def table(found: list[Outcome]) -> str:
    """Markdown: a line per rule."""
    columns = " | ".join(f"c, N = {N}" for N in DIMENSIONS)
    lines = [f"| rule | {columns} | at | largest deviation | CPU s |", "|---|" + "---|" * 5]
    for name in dict.fromkeys(each.name for each in found):
        own = [each for each in found if each.name == name]
        if any(each.status != "compared" for each in own):
            reason = next(each.status for each in own if each.status != "compared")
            lines.append(f"| {name} | {reason} | | | | |")
            continue
        worst = max(own, key=lambda each: each.constant)
        constants = " | ".join(f"{each.constant:.2f}" for each in own)
        deviation = max(each.deviation for each in own)
        seconds = sum(each.seconds for each in own)
        lines.append(f"| {name} | {constants} | {worst.at} | {deviation:.1f} | {seconds:.1f} |")
    done = [each for each in found if each.status == "compared"]
    largest = max((each.constant for each in done), default=0.0)
    lines += [
        "",
        f"{len(done)} of {len(found)} compared, {RUNS} runs or more each; largest c {largest:.2f} "
        f"(must be <= {LARGEST}); {sum(each.seconds for each in done):.0f} CPU s",
    ]
    return "\n".join(lines)


def main() -> int:
    """Make the table; 0 when every rule that is solved is within the bound."""
    parser = argparse.ArgumentParser(prog="benchmarks.rules", description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("rule-results.jsonl"))
    parser.add_argument("--only", default="", help="rules with this in their names")
    options = parser.parse_args()
    found = []
    for each in outcomes([rule for rule in RULES if options.only in rule.name], options.results):
        print(
            f"{each.name}, N = {each.dimension}: {each.status}, c = {each.constant:.2f} "
            f"({each.at}) [{each.seconds:.1f} CPU s]",
            file=sys.stderr,
            flush=True,
        )
        found.append(each)
    print(table(found))
    return 0 if all(each.constant <= LARGEST for each in found) else 1


if __name__ == "__main__":
    sys.exit(main())
