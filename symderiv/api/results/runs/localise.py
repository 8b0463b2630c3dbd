"""Receptive fields of networks that learn two classes of inputs on a ring."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack

import numpy as np
from symderiv_models.localisation.receptive import (
    LOCALISED,
    centre,
    is_localised,
    participation_ratio,
    width,
)

from symderiv.api.results.answer import Answer
from symderiv.foundation.documents.document import Part, Summary, Tabular
from symderiv.foundation.drawing import drawing, drawn
from symderiv.foundation.errors import InputError, ToleranceError, check_one_of, errors_about
from symderiv.foundation.limits import check_memory
from symderiv.foundation.named_arguments import public, taking
from symderiv.foundation.outputs import Output, as_output
from symderiv.foundation.progress import Progress, Tell, progress_bar
from symderiv.inputs.ring import Floats, gaussian_kernel
from symderiv.inputs.ring_inputs import (
    GaussianRing,
    NonlinearProcess,
    Pulses,
    RingInputs,
    check_sites,
    two_lengths,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from symderiv_models.localisation.training import Learner

    from symderiv.api.arguments.taken_keys import LocaliseKeys

# Largest relative change of participation ratios over the last quarter of the time at rest.
_SETTLED = 0.05
# Number of times during learning at which fields are kept.
_POINTS = 40


class Localisation(Answer):
    """Receptive fields of a network whose output is the mean of K units, over runs.

    Attributes:
        participation_ratio: Σ w⁴/(Σ w²)²: ``mean`` and ``standard_error`` over runs of the mean
            over units, and all values, ``runs`` (runs × units). It is 1/D for D equal weights,
            1.5/D for a wave and 1 for a single site.
        centre, width: the centre of w² on the ring and its circular standard deviation, in sites
            (runs × units).
        outcomes: the number of localised fields of each run, whose participation ratio is above
            ``threshold`` = 9/D, and the numbers of runs in which all, some or none of the units
            are localised.
        converged: True if the flow is at rest, or if participation ratios change by less than 5 %
            over the last quarter of the time.
        loss: mean loss at the end, ½ (f − y)² or the cross-entropy, per run.
        time: times (n,); ``weights``: fields along learning (n, runs, K, D); ``biases``.
    """

    _title = "Receptive fields"
    _first = ("inputs", "method", "participation_ratio", "outcomes", "converged", "loss")

    def __init__(
        self, record: dict[str, Any], time: Floats, weights: Floats, biases: Floats
    ) -> None:
        super().__init__(record, _shown(record))
        self.time, self.weights, self.biases = time, weights, biases

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the receptive fields at the end, shifted to a common centre if they have one."""
        return drawn("symderiv_models.localisation_plots.field_axes", self, ax)

    def animate(self, output: Output | str | PathLike[str]) -> None:
        """Write the fields of the first run in time as an animation: a page that needs no other
        file.

        Raises:
            InputError: nothing may be written there.
        """
        target = as_output(output, "html")
        target.write_text(drawing("symderiv_models.localisation_plots").animation(self))


@dataclass(frozen=True)
class FieldLearning:
    """A way to learn receptive fields.

    Args:
        units: hidden units, K.
        activation: a name or a formula in x.
        loss: ½ (f − y)², or the cross-entropy, whose outputs must lie in (0, 1).
        biases: train biases that begin at 0.
        method: ``"sgd"`` uses every example once. ``"flow"`` is the gradient flow of the mean loss:
            exact for Gaussian inputs, and on ``sample`` examples of each run for others. Without
            biases and with the squared loss it is followed to its steady state. The flow of ReLU
            with biases is closed too. The flow of smooth activations without closed means, of
            smooth activations with biases, and of the cross-entropy uses quadrature, for at most
            two units.
        runs: number of seeds for initial weights and data; the flow needs at least 1.
        steps: the number of steps of gradient descent.
        batch: number of examples of a step, half of them of each label.
        learning_rate: the learning rate of a step; time is the number of steps times it.
        initial_std: standard deviation of initial weights.
        sample: number of examples of each run for a flow that is not exact.
        seed: the seed of the first run.

    Raises:
        InputError: a number is out of range, or a word is not known.
    """

    units: int = 1
    activation: str = "relu"
    loss: Literal["squared", "cross-entropy"] = "squared"
    biases: bool = False
    method: Literal["flow", "sgd"] = "sgd"
    runs: int = 8
    steps: int = 3000
    batch: int = 200
    learning_rate: float = 0.1
    initial_std: float = 0.01
    sample: int = 4000
    seed: int = 0

    def __post_init__(self) -> None:
        from symderiv_models.localisation.training import LOSSES

        least_of = {"units": 1, "runs": 1, "steps": 1, "batch": 2, "sample": 2, "seed": 0}
        for name, least in least_of.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(f"{value!r} is not a whole number >= {least}", argument=name)
        for name in ("learning_rate", "initial_std"):
            number = getattr(self, name)
            if not (math.isfinite(number) and number > 0.0):
                raise InputError(f"{number!r} is not a positive number", argument=name)
        if self.batch % 2:
            raise InputError(
                f"{self.batch} is odd, but half of a batch has each label; give an even number",
                argument="batch",
            )
        for name, known in (("loss", LOSSES), ("method", ("flow", "sgd"))):
            word = getattr(self, name)
            check_one_of(name, word, known)

    def learner(self, inputs: RingInputs) -> Learner:
        """Return the learner with these settings and inputs."""
        from symderiv_models.localisation.training import Learner

        from symderiv.formula import activation

        with errors_about("activation"):
            activation(self.activation)
        return Learner(
            *(inputs, self.units, self.activation, self.loss, self.biases),
            *(self.learning_rate, self.batch, self.initial_std),
        )


@public
@taking(FieldLearning)
def localise(
    *,
    lengths: Sequence[Any],
    gain: float | None = None,
    inputs: Literal["nlgp", "single-pulse", "gaussian"] = "nlgp",
    sites: int = 40,
    convention: str = "erf(u/sqrt(2))",
    progress: Progress = None,
    **keys: Unpack[LocaliseKeys],
) -> Localisation:
    """Compute receptive fields of K units that learn two classes of inputs on a ring.

    The output is f(x) = (1/K) Σ g(w_k·x + b_k), the label 1 for inputs of the first length and 0
    for those of the second; inputs have unit variance.

    Args:
        lengths: correlation lengths ξ of label 1 and label 0 in sites, in exp(−d²/ξ²) of the
            Gaussian beneath; for single pulses their lengths, ``(least, most)`` or numbers.
        gain: the gain of nonlinear Gaussian processes, > 0, ``inf`` for signs. With
            ``inputs="gaussian"`` the surrogate has the covariance of that process; without a gain
            it has the covariance exp(−d²/ξ²).
        inputs: nonlinear Gaussian processes, single pulses, or the Gaussian surrogate.
        sites: the number D of sites on the ring, at least 2.
        [taken]
        convention: the function of g z, see :class:`symderiv.NLGP`.
        progress: None shows a bar on a terminal or in a notebook, True shows it always, False
            never; a function is called with the task and the fraction that is done.

    Raises:
        InputError: an argument is not acceptable, or there is no exact flow with these.
        ToleranceError: the weights ran away, or the flow could not be followed.

    >>> import symderiv as sd
    >>> found = sd.localise(gain=3, lengths=(2, 1), inputs="gaussian", method="flow", runs=1)
    >>> round(found.participation_ratio["mean"], 4)
    0.025
    """
    learning = FieldLearning(**keys)
    learner = learning.learner(_inputs(inputs, gain, lengths, sites, convention))
    with progress_bar(progress) as tell:
        fields = _learnt(learner, learning, tell)
    record = {
        "inputs": _words(inputs, gain, lengths),
        "sites": sites,
        "units": learning.units,
        "activation": learning.activation,
        "method": f"{learning.method}: {fields.measured}",
        **_measures(fields.weights[-1]),
        "converged": fields.at_rest,
        "loss": fields.loss.tolist(),
        "warnings": _warnings(fields.weights[-1], fields.at_rest),
    }
    return Localisation(record, fields.time, fields.weights, fields.biases)


class _LearntFields(NamedTuple):
    """Fields during learning, the final loss of every run, and how learning ended."""

    time: Floats
    weights: Floats
    biases: Floats
    loss: Floats
    at_rest: bool
    measured: str


def _learnt(learner: Learner, learning: FieldLearning, tell: Tell) -> _LearntFields:
    """Return the fields, learnt by the method asked for."""
    sites, runs, seed, steps = learner.inputs.sites, learning.runs, learning.seed, learning.steps
    examples = max(learner.batch, learning.sample if learning.method == "flow" else 0)
    check_memory(
        8.0 * runs * sites * (3 * examples + 2 * _POINTS * learner.units),
        f"{runs} runs with {examples} examples of {sites} sites",
        argument="runs",
    )
    if learning.method == "sgd":
        learnt = learner.sgd(steps, runs, seed, points=_POINTS, tell=tell)
        return _sampled(learnt, steps, learner.batch)
    if isinstance(learner.inputs, GaussianRing):
        exact = _exact if learner.has_closed_flow else _exact_fields
        return exact(learner, runs, seed, tell)
    flow = learner.sampled_flow
    learnt = flow(steps, runs, seed, sample=learning.sample, points=_POINTS, tell=tell)
    return _sampled(learnt, steps, learning.sample)


def _sampled(learnt: Any, steps: int, examples: int) -> _LearntFields:
    """Return the record of fields that were learnt from examples."""
    return _LearntFields(
        *(learnt.time, learnt.weights, learnt.biases, learnt.loss[-1]),
        at_rest=_settled(learnt.time, learnt.weights),
        measured=f"{steps} steps of {examples} examples",
    )


def _inputs(
    kind: str, gain: float | None, lengths: Sequence[Any], sites: int, convention: str
) -> RingInputs:
    if kind == "single-pulse":
        if gain is not None:
            raise InputError("single pulses have no gain; leave it out", argument="gain")
        return Pulses(lengths=tuple(lengths), sites=sites)
    if kind == "nlgp":
        if gain is None:
            raise InputError("is missing; give the gain of the nonlinear process", argument="gain")
        return NonlinearProcess(gain, tuple(lengths), sites, convention)
    check_one_of("inputs", kind, ("nlgp", "single-pulse", "gaussian"))
    if gain is not None:
        return NonlinearProcess(gain, tuple(lengths), sites, convention).surrogate()

    check_sites(sites)
    first, second = (tuple(gaussian_kernel(sites, each)) for each in two_lengths(lengths))
    return GaussianRing((first, second))


def _exact(learner: Any, runs: int, seed: int, tell: Tell) -> _LearntFields:
    """Return the closed flow of Gaussian inputs without biases, followed to its steady state."""
    from symderiv_models.localisation.flow import PopulationFlow

    flow = PopulationFlow(learner.inputs, learner.units, learner.activation)
    times = _flow_times()
    paths, losses, at_rest = [], [], True
    for index, start in enumerate(learner.initial(runs, seed)):
        path = flow.run(start, times).weights
        try:
            largest = float(np.max(np.abs(flow.rate(start))))
            path[-1], _ = flow.steady_state(path[-1], largest=largest)
        except ToleranceError:
            at_rest = False
        paths.append(path)
        losses.append(flow.loss(path[-1]))
        tell("Flowing", (index + 1) / runs)
    measured = f"to time {times[-1]:g}, then the steady state"
    weights = np.stack(paths, axis=1)
    biases = np.zeros(weights.shape[:3])
    return _LearntFields(times, weights, biases, np.array(losses), at_rest, measured)


def _exact_fields(learner: Any, runs: int, seed: int, tell: Tell) -> _LearntFields:
    """Return the flow of Gaussian inputs by means over fields, to its steady state or its end."""
    from symderiv_models.localisation.field_flow import FieldFlow, ShiftedReLU, field_means

    means = field_means(learner.activation, learner.loss, learner.units)
    flow = FieldFlow(learner.inputs, means, biases=learner.biases)
    times = _flow_times()
    paths = []
    for index, start in enumerate(learner.initial(runs, seed)):
        paths.append(flow.run(start, np.zeros(learner.units), times))
        tell("Flowing", (index + 1) / runs)
    losses = [flow.loss(each.weights[-1], each.biases[-1]) for each in paths]
    weights = np.stack([each.weights for each in paths], axis=1)
    thresholds = np.stack([each.biases for each in paths], axis=1)
    how = "closed means" if isinstance(means, ShiftedReLU) else "means by quadrature"
    at_rest = all(each.at_rest for each in paths) or _settled(times, weights)
    measured = f"to time {times[-1]:g}, {how}"
    return _LearntFields(times, weights, thresholds, np.array(losses), at_rest, measured)


def _flow_times() -> Floats:
    return np.concatenate([[0.0], np.geomspace(1e-1, 1e4, _POINTS - 1)])


def _measures(weights: Floats) -> dict[str, Any]:
    """Return the measures of the final fields, shape (runs, K, D), for JSON."""
    ratios = participation_ratio(weights)
    of_runs = np.mean(ratios, axis=1)
    count = of_runs.size
    spread = float(np.std(of_runs, ddof=1) / math.sqrt(count)) if count > 1 else None
    local = is_localised(weights)
    every, some = np.all(local, axis=1), np.any(local, axis=1)
    return {
        "participation_ratio": {
            "mean": float(np.mean(of_runs)),
            "standard_error": spread,
            "runs": ratios.tolist(),
        },
        "centre": centre(weights).tolist(),
        "width": width(weights).tolist(),
        "outcomes": {
            "all units localised": int(every.sum()),
            "some units localised": int((some & ~every).sum()),
            "no unit localised": int((~some).sum()),
            "threshold": LOCALISED * 3.0 / weights.shape[-1],
        },
    }


def _settled(time: Floats, weights: Floats) -> bool:
    """Return whether participation ratios have stopped changing."""
    late = participation_ratio(weights[time >= 0.75 * time[-1]])
    change = np.max(late, axis=0) - np.min(late, axis=0)
    return bool(np.all(change <= _SETTLED * late[-1]))


def _warnings(weights: Floats, settled: bool) -> list[str]:
    lines = []
    if not settled:
        lines.append("the fields still change at the end; learn for longer (steps)")
    some = np.any(is_localised(weights), axis=1)
    if 0 < some.sum() < some.size:
        lines.append(
            f"several outcomes: {int(some.sum())} of {some.size} runs localise; the "
            "mean over all runs describes neither kind"
        )
    return lines


def _words(kind: str, gain: float | None, lengths: Sequence[Any]) -> str:
    names = {"nlgp": "nonlinear Gaussian process", "single-pulse": "single pulses"}
    name = names.get(kind, "Gaussian surrogate")
    with_gain = "" if gain is None else f" of gain {gain:g}"
    first, second = (f"{each:g}" if isinstance(each, float) else str(each) for each in lengths)
    return f"{name}{with_gain}, lengths {first} (label 1) and {second} (label 0)"


def _shown(record: dict[str, Any]) -> Part:
    ratio, sites, units = (record[name] for name in ("participation_ratio", "sites", "units"))
    error = f" ± {ratio['standard_error']:.2g}" if ratio["standard_error"] else ""
    outcomes = {name: n for name, n in record["outcomes"].items() if name != "threshold" and n}
    rows = [
        ("inputs", f"{record['inputs']}, {sites} sites on a ring"),
        ("network", f"mean of {units} unit{'s' * (units != 1)}, {record['activation']}"),
        ("method", record["method"]),
        (
            "participation ratio",
            f"{ratio['mean']:.4g}{error}   (1/D = {1 / sites:.3g} flat, {1.5 / sites:.3g} a wave, "
            "1 a single site)",
        ),
        ("runs", ", ".join(f"{n} with {name}" for name, n in outcomes.items())),
        *(("warning", warning) for warning in record["warnings"]),
    ]
    heads = ["run", "unit", "participation ratio", "centre", "width"]
    fields = []
    for run, of_units in enumerate(ratio["runs"]):
        for unit, value in enumerate(of_units):
            place, spread = record["centre"][run][unit], record["width"][run][unit]
            # a field that is the same everywhere has no centre
            where = [f"{place:.2f}", f"{spread:.2f}"] if spread < sites else ["–", "–"]
            fields.append([f"{run}", f"{unit}", f"{value:.4g}", *where])
    return Part("", (Summary(rows=rows), Tabular(heads, fields, sides="rr")))
