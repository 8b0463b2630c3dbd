"""The public calls of Python and the kinds of their arguments, for :mod:`hostile.wrong_values`.

Kinds are written ``"whole: points digits; flag: force"``; a family is one test.
"""

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import symderiv as sd
from hostile.wrong_values import (
    COVARIANCE,
    START,
    STATE,
    WrongCall,
    moved,
    of_vector,
    problem,
    simulation,
    stated,
    system,
    trajectory,
    updated,
)

Calls = dict[str, WrongCall]
_TIMES = "positive: end; whole: points; choice: spacing; "
_TOLERANCES = "positive: relative_tolerance absolute_tolerance; "
_ASKED = "names: sensitivities; list: events; text: until; "
_SHOWN = "progress: progress; function: notice; "
_RUN = {"end": 1.0, "points": 2}


def _of(call: Callable[..., Any], right: dict[str, Any], kinds: str, **more: Any) -> WrongCall:
    """Return a call with the kinds that a text states."""
    each = [part.partition(":") for part in kinds.split(";") if part.strip()]
    named = {name: kind.strip() for kind, _, names in each for name in names.split()}
    return WrongCall(call, right, named, **more)


def _methods(owner: Callable[[], Any], table: dict[str, tuple[dict[str, Any], str]]) -> Calls:
    """Return calls of methods by their names; what is behind a blank distinguishes two."""

    def call(name: str, /, **arguments: Any) -> Any:
        return getattr(owner(), name)(**arguments)

    return {
        name: _of(partial(call, name.partition(" ")[0]), *settings)
        for name, settings in table.items()
    }


def keys() -> Calls:
    """Return the constructor of problems."""
    kinds = (
        "whole: students teachers seed batch; formula: activation teacher_activation loss;"
        "flag: train_second_layer train_biases; choice: order target normalise teacher draw;"
        "list: inputs tasks; dictionary: time simulation;"
        "positive: learning_rate weight_decay label_noise input_noise update_noise momentum"
        " momentum_rate batch_ratio label_flip dropout student_std second_layer_learning_rate"
    )
    right = {"activation": "erf", "students": 2, "teachers": 2, "learning_rate": 0.5}
    replaced = kinds.replace("activation teacher_", "")
    return {
        "Problem": _of(sd.Problem, right, kinds),
        "replace": _of(lambda **each: problem().replace(**each), {}, replaced),
    }


def runs_of_problems() -> Calls:
    """Return the calls of a problem that integrate or simulate."""
    rates = {"learning_rate": [0.1, 0.2]}
    curves = {"alpha": [0, 1, 2], "generalization_error": [3, 2, 1]}
    started = "checkpoint: checkpoint; path: output; state: initial; choice: method; "
    table = {
        "solve": (
            _RUN,
            _TIMES + _TOLERANCES + _ASKED + _SHOWN + started
            + "number: radius; whole: digits; choice: compression",
        ),
        "solve at times": ({}, "times: alpha"),
        "simulate": (_RUN, _TIMES + _SHOWN + started + "whole: runs workers"),
        "solve into": ({"end": 1e6}, "path: output"),
        "simulate into": ({"end": 500.0}, "path: output"),
        "ensemble": (
            rates | _RUN,
            _TIMES + _TOLERANCES + _SHOWN
            + "whole: threads max_steps; choice: check; list: learning_rate",
        ),
        "ensemble over": (_RUN, "dictionary: over"),
        "sweep": (
            rates | {"output": "s.zarr"},
            _SHOWN + "whole: workers; flag: force fresh; path: output; text: scheduler",
        ),
        "map": (
            {"quantity": "final_error", **rates, "label_noise": [0, 0.1]},
            "choice: quantity; whole: resolution coarse check; positive: change; flag: kinds;"
            "progress: progress; checkpoint: checkpoint",
        ),
        "best": (
            {"between": (0.1, 1), "end": 2.0},
            "name: name; range: between; positive: end; choice: goal; whole: point",
        ),
        "fit": (
            {"curves": curves, "parameters": ["learning_rate"]},
            "dictionary: curves; names: parameters; progress: progress; state: initial",
        ),
        "optimise": (
            {"bounds": (0, 1), "end": 1.0},
            "name: control; range: bounds; positive: end; choice: objective; whole: pieces;"
            "progress: progress; state: initial",
        ),
        "fluctuations": (
            _RUN | {"dimension": 100},
            _TIMES + "whole: dimension; flag: independent_starts; list: events; state: initial",
        ),
        "study": ({}, _SHOWN + "flag: thorough force; function: checkpoints; path: output"),
    }  # fmt: skip
    return _methods(problem, table)


def points_of_problems() -> Calls:
    """Return the calls of a problem that are about one state, or about equations."""
    table = {
        "fixed_points": (
            {},
            "whole: digits starts; flag: unconnected; positive: complete; ranges: follow;"
            "state: initial",
        ),
        "jacobian": ({"state": STATE}, "whole: digits; state: state"),
        "linearise": ({}, "state: state"),
        "rates": (STATE, "matrix: Q R T; number: alpha"),
        "plateau": ({}, "whole: digits; flag: full; exact: T1"),
        "equilibrium": (
            {"alpha": [1.0]},
            "times: alpha; choice: kind constraint prior; progress: progress",
        ),
        "specialisation": ({}, "times: units; progress: progress"),
        "explain": ({"name": "Q"}, "name: name; state: state"),
        "export": (
            {"to": "latex"},
            "choice: to; path: output; flag: force; positive: tolerance; whole: fixed_point",
        ),
        "generate": (
            {"name": "own"}, "word: name; path: output; flag: force; positive: tolerance",
        ),
        "derive": ({}, "positive: tolerance"),
        "to_toml": ({}, "path: path; flag: force"),
        "from_toml": (
            {"source": problem().to_toml()}, "path: source; flag: timed; dictionary: changes"
        ),
    }  # fmt: skip
    rhs = problem().rhs
    several = sd.Problem("erf", students=2, teachers=2)
    return _methods(problem, table) | {
        "late": _of(several.late, {}, "times: alpha; exact: T1 D1"),
        "rhs": _of(lambda y: rhs()(0.0, y), {}, "matrix: y"),
        "rhs.unpack": _of(lambda y: rhs().unpack(y), {}, "matrix: y"),
        "rhs.pack": _of(lambda state: rhs().pack(state), {}, "state: state"),
    }


def systems() -> Calls:
    """Return the calls of a system."""
    start = {"initial": START}
    curves = {"alpha": [0, 1, 2], "error": [3, 2, 1]}
    table = {
        "solve": (
            _RUN | start,
            _TIMES + _TOLERANCES + _ASKED
            + "progress: progress; number: radius eta; whole: digits max_steps; state: initial",
        ),
        "solve at times": (start, "times: alpha"),
        "simulate": (
            {"dimension": 20} | _RUN | start,
            _TIMES + "whole: dimension runs seed; choice: method; number: eta; state: initial",
        ),
        "ensemble": (
            {"eta": [0.1, 0.2]} | _RUN | start,
            _TIMES + _TOLERANCES + "progress: progress; whole: threads max_steps; choice: check;"
            "dictionary: parameters; list: eta; state: initial",
        ),
        "sweep": (
            {"over": {"eta": [0.1]}, "end": 1.0, "output": "s.zarr"} | start,
            _SHOWN + "dictionary: over; whole: workers; flag: force fresh; path: output;"
            "text: scheduler; state: initial; positive: end",
        ),
        "map": (
            {"quantity": "final_error", "over": {"eta": (0.1, 1), "kappa": (0.1, 1)}, "end": 1.0}
            | start,
            "choice: quantity observable; dictionary: over; whole: resolution coarse check;"
            "positive: end change; flag: kinds; progress: progress; state: initial",
        ),
        "best": (
            {"name": "eta", "between": (0.1, 1), "end": 1.0} | start,
            "name: name; range: between; positive: end; choice: goal observable; whole: point;"
            "state: initial",
        ),
        "fit": (
            {"curves": curves, "parameters": ["eta"]} | start,
            "dictionary: curves; names: parameters; positive: relative_tolerance;"
            "progress: progress; state: initial",
        ),
        "optimise": (
            {"control": "eta", "bounds": (0, 1), "end": 1.0} | start,
            "name: control; range: bounds; positive: end; choice: objective observable;"
            "whole: pieces; progress: progress; state: initial",
        ),
        "fluctuations": (
            _RUN | {"dimension": 100} | start,
            _TIMES + "whole: dimension; list: events; number: eta; state: initial",
        ),
        "fixed_points": (start, "whole: starts; flag: unconnected; ranges: follow; state: initial"),
        "jacobian": ({"state": START}, "whole: digits; number: eta; state: state"),
        "linearise": ({"state": START}, "number: eta; state: state"),
        "rates": ({"state": START}, "number: eta; state: state"),
        "precise_rates": ({"state": START, "digits": 20}, "whole: digits; state: state"),
        "plateau": (start, "number: eta; state: initial"),
        "explain": ({"name": "w.w"}, "name: name; state: state"),
    }  # fmt: skip
    return _methods(system, table) | _files_of_systems()


def _files_of_systems() -> Calls:
    table = {
        "export": ({"to": "python"}, "choice: to; path: output; flag: force"),
        "generate": ({"name": "own"}, "word: name; path: output; flag: force"),
        "save": ({"path": "P.toml"}, "path: path; flag: force"),
        "report": (
            {"path": "P.html", "initial": START} | _RUN,
            "path: path; whole: dimension runs seed; flag: force; positive: end",
        ),
    }
    return _methods(system, table)


def statements() -> Calls:
    """Return the lines of a statement, and the arithmetic of vectors."""
    table = {
        "inputs": (
            {"name": "X", "length": 2},
            "word: name; whole: length episode; matrix: correlation; positive: batch_ratio",
        ),
        "vectors": ({"name": "W", "number": 2}, "word: name; whole: number; flag: fixed"),
        "scalars": ({"name": "W"}, "word: name; whole: number"),
        "latents": ({"name": "W"}, "word: name; whole: number; choice: law"),
        "parameter": ({"name": "W"}, "word: name; expression: value"),
        "average": ({}, "expression: expression"),
        "observe": ({}, "expression: shown"),
        "constrain": ({"kind": "sphere"}, "choice: kind; list: inputs"),
    }
    found = {name: _of(stated(name), *settings) for name, settings in table.items()}
    found |= {
        "descend": _of(moved, {}, "expression: loss rate; dictionary: velocity"),
        "update": _of(updated, {}, "expression: change"),
        "System": _of(sd.System, {}, "choice: order"),
        "activation": _of(sd.activation, {}, "formula: text", called={"text": ""}),
        "an activation": _of(
            sd.activation("erf"), {}, "coordinate: value", called={"value": "an activation"}
        ),
        "norm2": _of(sd.norm2, {}, "expression: vector"),
    }
    for sign in ("add", "sub", "matmul"):
        call = of_vector(getattr(operator, sign))
        for number in (None, 2):
            name, where = f"{sign} {number}", {"operand": "the vector w"}
            found[name] = _of(call, {"number": number}, "operand: operand", called=where)
    return found


def inputs() -> Calls:
    """Return the models of inputs, and the setting of one step."""
    ring = {"lengths": [1.0, 0.5], "sites": 8}
    mixture = {"dimension": 10, "probabilities": [0.5, 0.5], "eigenvalues": [[1.0, 2], [2, 1]]}
    return {
        "Isotropic": _of(sd.Isotropic, {}, "whole: dimension"),
        "PowerLaw": _of(
            sd.PowerLaw,
            {"distinct_eigenvalues": 5, "exponent": 1.0},
            "whole: distinct_eigenvalues dimension; number: exponent",
        ),
        "Spectrum": _of(
            sd.Spectrum, {"eigenvalues": [1, 2]}, "list: eigenvalues weights; whole: dimension"
        ),
        "Covariance": _of(
            sd.Covariance,
            {"file": np.eye(2)},
            "whole: distinct_eigenvalues dimension; flag: normalise",
        ),
        "GaussianMixture": _of(
            sd.GaussianMixture, mixture,
            "list: probabilities eigenvalues weights; whole: dimension",
        ),
        "HiddenManifold": _of(
            sd.HiddenManifold,
            {"nonlinearity": "sign", "dimension": 10, "latent_dimension": 5},
            "whole: dimension latent_dimension seed",
        ),
        "NLGP": _of(sd.NLGP, ring | {"gain": 2.0}, "positive: gain; list: lengths; whole: sites"),
        "NLGP.row": _of(
            lambda label: sd.NLGP(2.0, **ring).row(label),
            {},
            "whole: label",
            accepted={"label": (True,)},
        ),
        "SinglePulse": _of(sd.SinglePulse, ring, "list: lengths; whole: sites; flag: complement"),
        "OneStep": _of(
            sd.OneStep,
            {"n": 10, "trials": 1},
            "whole: n m k rank trials seed degree test_samples; formula: activation;"
            "positive: ridge; number: alpha beta mixture_weight alignment mean;"
            "choice: task spikes; names: models",
        ),
        "OneStep.from_toml": _of(sd.OneStep.from_toml, {}, "path: source"),
        "OneStep.run": _of(lambda **each: sd.OneStep(n=10).run(**each), {}, "progress: progress"),
    }  # fmt: skip


def questions() -> Calls:
    """Return the calls about means, formulas and papers."""
    mean = {"expression": "erf(x)*y", "covariance": COVARIANCE}
    two = {"g": "erf", "covariance": COVARIANCE}
    shown = "progress: progress"
    formula = {"what": "i2", "formula": "c12", "activation": "linear"}
    return {
        "mean": _of(sd.mean, mean, "matrix: covariance mean; whole: digits"),
        "i2": _of(sd.i2, two, "formula: g h; matrix: covariance; whole: digits"),
        "i3": _of(sd.i3, two | {"covariance": np.eye(3)}, "formula: g h; whole: digits"),
        "i4": _of(sd.i4, two | {"covariance": np.eye(4)}, "formula: g h k l; whole: digits"),
        "integral": _of(
            sd.integral, {"which": "i2", "activation": "erf", "covariance": COVARIANCE},
            "choice: which; formula: activation; matrix: covariance; whole: digits",
        ),
        "check": _of(
            sd.check, formula, "formula: activation formula; definitions: where macros",
        ),
        "verify": _of(
            sd.verify,
            {"paper": "own.toml", "processes": 1},
            "path: paper; name: equation; choice: verdict; flag: thorough mutants;"
            "whole: processes;" + shown,
        ),
        "impact": _of(
            sd.impact, {"equation": "1", "paper": "own.toml"},
            "name: equation; path: paper",
            called={"equation": ""},
        ),
        "thresholds": _of(sd.thresholds, {}, "formula: target"),
        "event": _of(sd.event, {"what": "Q[1,1]", "below": 0.1}, "number: below"),
        "event above": _of(sd.event, {"what": "Q[1,1]", "above": 0.1}, "number: above"),
        "event of": _of(sd.event, {"below": 0.1}, "text: what"),
        "derive": _of(
            sd.derive, {"activation": "linear"},
            "formula: activation teacher_activation loss; positive: tolerance; path: study",
        ),
        "generate": _of(
            sd.generate, {"activation": "linear", "name": "own"},
            "formula: activation teacher_activation; word: name; path: output study; flag: force",
        ),
        "open": _of(sd.open, {}, "path: path"),
    }  # fmt: skip


def flows() -> Calls:
    """Return the calls about plateaus, late learning, linear networks and localisation."""
    law = {"units": 2, "distinct_eigenvalues": 2, "exponent": 1.0}
    linear = {"distinct_eigenvalues": 4, "exponent": 1.0, "learning_rate": 0.1, "alpha": [1.0]}
    ring = {"lengths": [1.0, 0.5], "gain": 2.0, "sites": 8, "runs": 1, "steps": 2}
    return {
        "late": _of(
            sd.late, law,
            "whole: units distinct_eigenvalues; number: exponent; flag: full; times: alpha;"
            "positive: learning_rate student_std label_noise; exact: T1 D1; formula: activation",
        ),
        "plateau": _of(
            sd.plateau, law,
            "whole: units distinct_eigenvalues digits; exact: learning_rate exponent; flag: full;"
            "formula: activation",
        ),
        "linear": _of(
            sd.linear, linear,
            "whole: distinct_eigenvalues trainable digits working_digits dimension;"
            "number: exponent; positive: learning_rate student_std; times: alpha;"
            "choice: basis method",
        ),
        "localise": _of(
            sd.localise, ring,
            "whole: sites units runs steps batch sample seed; choice: inputs loss method;"
            "formula: activation; positive: gain learning_rate initial_std; flag: biases;"
            "list: lengths; progress: progress",
        ),
    }  # fmt: skip


def results() -> Calls:
    """Return the methods of results."""
    saved = "path: path; flag: force"
    drawn = "names: names; label: label; axes: ax"
    both = {
        "plot": ({}, drawn),
        "save": ({"path": "r.nc"}, saved),
        "to_csv": ({}, saved),
    }
    solved = both | {
        "extend": ({"end": 4.0}, "positive: end; whole: points; progress: progress"),
        "sensitivity": ({"name": "Q", "parameter": "learning_rate"}, "name: parameter"),
    }
    simulated = both | {"mean": ({}, "name: name"), "standard_error": ({}, "name: name")}
    named = {"run": _methods(trajectory, solved), "simulation": _methods(simulation, simulated)}
    found = {"columns": _of(lambda names: [*trajectory().columns(names)], {}, "names: names")}
    found |= {f"{of}.{name}": call for of, calls in named.items() for name, call in calls.items()}
    compared = {"run": trajectory(), "other": simulation()}
    found["compare"] = _of(sd.compare, compared, "names: names; text: run other")
    return found


FAMILIES: dict[str, Callable[[], Calls]] = {
    each.__name__: each
    for each in (
        keys,
        runs_of_problems,
        points_of_problems,
        systems,
        statements,
        inputs,
        questions,
        flows,
        results,
    )
}
