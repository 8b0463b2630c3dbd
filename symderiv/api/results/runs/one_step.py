"""One gradient step on a spiked Gaussian mixture, then ridge regression: network and models."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symderiv_models.one_step.setting import Setting
from symderiv_models.one_step_text import one_step_summary

from symderiv.api.results.answer import Answer
from symderiv.foundation.drawing import drawn
from symderiv.foundation.errors import InputError
from symderiv.foundation.files import read_file
from symderiv.foundation.named_arguments import public_methods
from symderiv.foundation.progress import Progress, progress_bar
from symderiv.foundation.showing import Summary, plain
from symderiv.keys.toml_text import read_toml

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from symderiv_models.one_step.comparison import ModelComparison
    from symderiv_models.one_step.ridge_equations import RidgeErrors


class OneStepErrors(Answer):
    """Errors E(y - ŷ)² of the models, without the factor ½ of some figures.

    Attributes:
        errors, training_errors: for each model the ``mean`` and
            ``standard_error`` over trials.
        paired_difference: for each model but the network, its error minus that of the network on
            the same data: ``mean``, ``standard_error`` and ``relative`` (to the network's error).
        degree: highest degree ℓ of the Hermite model; ``window_degree`` is that of the window of β.
        coefficients: ``b``, ``h`` (h_0 … h_ℓ), ``remainder`` (h*), texts with ``error_bounds``.
        conditional: ``order`` P of the covariances' series and ``error_bound`` of what it leaves
            out, relative to the largest variance beyond that order.
        setting: all keys.
    """

    _title = "One gradient step: E(y − ŷ)², no ½"

    def _summary(self) -> Summary:
        return one_step_summary(self._title, self._record)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the error of each model with its standard error.

        Args:
            ax: Matplotlib axes to draw into; None makes new ones.
        """
        return drawn("symderiv_models.one_step_plots.models_axes", self._record, ax)


@public_methods
class OneStep(Setting):
    """One gradient step on the first layer, and ridge regression of the second layer.

    Inputs come from two components with covariances I + Σ_i θ γ_i γ_iᵀ with θ = n^(β(1-α)); the
    step has the learning rate η = n^(βα). The network, the conditional Gaussian map and the Hermite
    model of arXiv:2503.00856 are compared on the same data. Each trial draws spikes, teacher,
    weights and data.

    Args:
        n: dimension of the inputs.
        m: number of examples of the gradient step, and of fresh examples of the ridge regression;
            n by default.
        k: number of neurons; m by default.
        alpha, beta: exponents in θ and η, 0 to 1.
        ridge: λ > 0.
        activation: a name or a formula in ``x`` that does not jump.
        task: labels max(0, ξ·x), or -1 and 1 by component.
        mixture_weight: probability of the first component.
        alignment: γ_1·γ_2, -1 to 1.
        rank: number of spikes per component.
        spikes: "equal" strengths, or "uniform" ones on (0, n^(β(1-α))) with equal traces.
        mean: ‖μ_1‖; μ_2 = -μ_1.
        trials, seed: number of trials, and the seed of their random numbers.
        degree: highest degree of the Hermite model; by default the one that β needs, at most 4.
        test_samples: number of test examples; 5 m by default.
        models: the models that are compared; "network", "conditional_gaussian" and "hermite" by
            default. "ridge_equations" is the error of ridge regression on the conditional map from
            asymptotic equations, without samples (rank at most 2). "asymptotic" is its average over
            first layers; a trial then draws only the strengths (rank at most 10, mean = 0).

    >>> import symderiv as sd
    >>> sd.OneStep(n=50, beta=0.6, trials=2).hermite_degree
    2
    """

    if not TYPE_CHECKING:  # the fields are the arguments

        def __init__(self, **keys):
            fields = Setting.model_fields
            told = {name: plain(value, finite=False) for name, value in keys.items()}
            # True is no number, though it equals one
            self._fill(
                {
                    name: value
                    for name, value in told.items()
                    if name not in fields or repr(value) != repr(fields[name].default)
                }
            )

        __init__.__pydantic_base_init__ = True

    @classmethod
    def from_toml(cls, source: str | PathLike[str]) -> OneStep:
        """Return the setting that a file, or the text of one, states.

        Args:
            source: the path of a file, or a text of several lines; its keys are the arguments.

        Raises:
            InputError: the file cannot be read, or a key or value is not acceptable.
        """
        inline = isinstance(source, str) and "\n" in source
        name = "" if inline else Path(source).name
        content = b"" if inline else read_file(Path(source))
        try:
            return cls._made(read_toml(str(source) if inline else content.decode("utf-8")))
        except UnicodeDecodeError:
            raise InputError("is not UTF-8 text").inside(name) from None
        except InputError as error:
            raise (error if inline else error.inside(name)) from None

    def quick(self) -> OneStep:
        """Return a version that takes seconds: n at most 200 with its ratios, at most 8 trials."""
        return self._made(self.shortened())

    def asymptotic(self) -> RidgeErrors:
        """Return the error of ridge regression from equations: ``test`` and ``training``.

        Both are E(y - ŷ)². Nothing is drawn: the result is averaged over first layers, spikes and
        teachers, and over "uniform" strengths. Terms of relative order 1/n are left out;
        ``docs/notes/one-step.md`` has the measured differences.

        Raises:
            InputError: components have means, there are more than 10 spikes in each, or the
                activation has no slope.
            ToleranceError: the fixed point was not reached.

        >>> import symderiv as sd
        >>> round(sd.OneStep(n=1000, activation="tanh").asymptotic().test, 4)
        0.0704
        """
        from symderiv_models.one_step.asymptotic import asymptotic_errors

        return asymptotic_errors(self)

    def run(self, progress: Progress = None) -> OneStepErrors:
        """Return all trials.

        Args:
            progress: None shows a bar on a terminal or in a notebook, True shows it always, False
                never; or a function of the task and the fraction that is done.

        Raises:
            InputError: the activation has no slope, or its Gaussian means do not exist.
        """
        from symderiv_models.one_step.comparison import compare

        with progress_bar(progress) as tell:
            return OneStepErrors(_record(compare(self, tell)))


def _record(comparison: ModelComparison) -> dict[str, Any]:
    setting, first = comparison.setting, comparison.trials[0]
    others = [name for name in setting.models if name != "network"]
    network = comparison.error("network").mean
    differences = {}
    for name in others:
        difference = comparison.difference(name)
        differences[name] = {**difference.to_dict(), "relative": difference.mean / network}
    record: dict[str, Any] = {
        "errors": {name: comparison.error(name).to_dict() for name in setting.models},
        "training_errors": {
            name: comparison.error(name, training=True).to_dict() for name in setting.models
        },
        "paired_difference": differences,
        "error": "E(y - yhat)^2, without 1/2",
        "setting": {
            **setting.model_dump(),
            "m": setting.samples,
            "k": setting.neurons,
            "test_samples": setting.tests,
            "degree": setting.hermite_degree,
        },
        "learning_rate": setting.learning_rate,
        "spike": setting.spike,
    }
    if first.hermite is not None:
        record |= _hermite(comparison)
    truncations = [trial.truncation for trial in comparison.trials if trial.truncation is not None]
    if truncations:
        record["conditional"] = {
            "order": max(each.order for each in truncations),
            "error_bound": max(each.error_bound for each in truncations),
        }
    return record


def _hermite(comparison: ModelComparison) -> dict[str, Any]:
    """Return degree and coefficients of the Hermite model, those of the first trial."""
    from symderiv_models.one_step.setting import window_degree

    model = comparison.trials[0].hermite
    assert model is not None
    return {
        "degree": comparison.setting.hermite_degree,
        "window_degree": window_degree(comparison.setting.beta),
        "coefficients": {
            "b": model.scale,
            "h": [value.value for value in model.coefficients],
            "remainder": model.remainder.value,
            "error_bounds": [v.error_bound for v in (*model.coefficients, model.remainder)],
            "certified": model.certified,
        },
    }
