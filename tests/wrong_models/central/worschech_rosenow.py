"""Scaling laws with power-law spectra: the error of the linear network as a power of time."""

from wrong_models.trial import Central, WrongModel

_POWER = "(2 * eta * lambda_plus * alpha) ** (-beta / (1 + beta))"
_LAST = "2 * eta * lambda_plus * alpha / L ** (beta + 1)"
_FIRST = " - Gamma(beta / (1 + beta), 2 * eta * lambda_plus * alpha)"


def _power(words: str, exponent: str) -> WrongModel:
    return WrongModel(words, {_POWER: f"(2 * eta * lambda_plus * alpha) ** ({exponent})"})


CENTRAL = (
    Central(
        "worschech-rosenow-2024",
        "9",
        "For linear activations the generalisation error has a closed form that shows in which "
        "regime it falls like a power of time.",
        (
            _power("an error that falls like the spectrum", "-beta"),
            _power("the exponent of the teacher's part", "-1 / (1 + beta)"),
            _power("the exponent of features of size, not of time", "-beta / (2 + beta)"),
            _power("the error's root", "-beta / (2 * (1 + beta))"),
            WrongModel(
                "one eigenvalue: exponential decay",
                {_POWER: "exp(-2 * eta * lambda_plus * alpha)"},
            ),
            WrongModel("infinitely many eigenvalues", {f", {_LAST}": ""}),
            WrongModel("no largest eigenvalue", {_FIRST: ""}),
            WrongModel("the last eigenvalue like 1/L", {"L ** (beta + 1)": "L"}),
            WrongModel("students that start at zero", {"1 + sigma_J ** 2": "1"}),
            WrongModel("weights that decay, not their squares", {"2 * eta": "eta"}),
            WrongModel("no density of eigenvalues", {" / (1 + beta) * (Gamma": " * (Gamma"}),
            WrongModel("a loss without its half", {"/ (2 * L)": "/ L"}),
            WrongModel("isotropic inputs", {"lambda_plus": "1"}),
            WrongModel("another spectrum, beta doubled", {"beta": "2 * beta"}),
        ),
    ),
)
