"""A start given by order parameters: of all coordinates together, or per eigenvalue of the inputs.

A total is divided as for vectors that are statistically alike in all coordinates, so that J·J/N,
J·B/N and B·B/N are the same in every eigenspace: with ρ the mean eigenvalue, Q_k = Q/ρ, r_k = ρ_k
R/ρ and t_k = ρ_k² T/ρ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symderiv.foundation.errors import InputError, ShapeError
from symderiv.foundation.nearest import did_you_mean
from symderiv.foundation.packing import families_of, order_name
from symderiv.inputs import DataModel
from symderiv.problem.given_weights import real_array
from symderiv.problem.initial import Initial, initial, start_from
from symderiv.problem.state import State, first_outside
from symderiv.problem.study import Study

_PLAIN = {"Q": ("student_overlap", "JJ"), "R": ("cross_overlap", "JB")}


@dataclass(frozen=True)
class AddedField:
    """A field that a rule adds to the state.

    Attributes:
        packed: its name in the vectors of solver modules.
        families: the families of vectors whose overlaps it holds per eigenvalue, as ("U",
            "J"); () where it holds one number per student.
    """

    packed: str
    families: tuple[str, ...]


def added_fields(study: Study) -> dict[str, AddedField]:
    """Return the order parameters that a study's rule has in addition to Q, R and v, by name."""
    if not study.rule_keys:
        return {}
    # imported here: the arrays of a rule need SymPy, plain descent does not
    from symderiv.problem.rule_of import added_arrays

    return {
        order_name(field.name): AddedField(
            field.name, families_of(field.name) if "L" in field.shape else ()
        )
        for field in added_arrays(study)
    }


def start_of_overlaps(study: Study, given: Mapping[str, Any]) -> Initial:
    """Return the start of a study whose order parameters are given.

    Args:
        study: the study.
        given: ``Q`` (K, K) and ``R`` (K, M), or (L, K, K) and (L, K, M) per eigenvalue, as a
            ``State`` holds them; ``T`` (M, M) or (L, M, M), and ``v`` (K,), unless they are the
            study's own; and the order parameters that the rule adds, by default those of vectors at
            rest.

    Raises:
        InputError: one is missing, unknown, of another shape, or overlaps of no vectors.
    """
    added = added_fields(study)
    known = ("Q", "R", "T", "v", *added)
    for name in given:
        if name not in known:
            raise InputError(
                f"is not one of {', '.join(known)}{did_you_mean(str(name), known)}",
                argument=str(name),
            )
    for name in ("Q", "R"):
        if name not in given:
            raise InputError(
                f"is missing; order parameters are {', '.join(known)}: give at least Q and R",
                argument=name,
            )
    data = study.data_model
    if data is None:
        raise InputError(
            "is missing; order parameters belong to inputs, so give both", argument="inputs"
        )
    state = _state(study, data, given)
    further = {
        field.packed: _field(study, data, name, field.families, given[name])
        for name, field in added.items()
        if name in given
    }
    _check_families(state, added, given, further)
    start = start_from(study, state)
    # the eigenvalue's index comes last in packed vectors
    moved = {
        name: np.moveaxis(array, 0, -1) if array.ndim == 3 else array
        for name, array in further.items()
    }
    return Initial(replace(start.state, further=moved), None, data, start.warnings, moved)


def _state(study: Study, data: DataModel, given: Mapping[str, Any]) -> State:
    """Return the state of plain descent."""
    component = data.average()
    teachers, T = _teachers(study, data, given)
    try:
        return State(
            eigenvalue=component.eigenvalue,
            weight=component.weight,
            student_overlap=_field(study, data, "Q", ("J", "J"), given["Q"]),
            cross_overlap=_field(study, data, "R", ("J", "B"), given["R"]),
            teacher_overlap=teachers,
            teacher_covariance=T,
            student_weights=real_array("v", given.get("v", study.student_weights), (study.K,)),
            teacher_weights=study.teacher_weights,
        )
    except InputError as error:
        raise error.renamed(_OF_STATE.get(error.argument or "", error.argument)) from None


_OF_STATE = {
    "student_overlap": "Q",
    "cross_overlap": "R",
    "teacher_overlap": "T",
    "teacher_covariance": "T",
    "student_weights": "v",
}


def _teachers(
    study: Study, data: DataModel, given: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Return t_k (L, M, M) and T (M, M)."""
    if "T" not in given:
        stated = data.dimension is not None and "data" in study.model_fields_set
        if study.initial.draw == "sampled" and not stated:
            raise InputError(
                f"is missing; give it (numpy.eye({study.M}) for orthogonal teachers of length 1), "
                "or give inputs a dimension, for which teachers are drawn",
                argument="T",
            )
        drawn = initial(study).state
        return drawn.teacher_overlap, drawn.T
    component, latent = data.average(), data.latent
    rho, weight = component.eigenvalue, component.weight
    overlaps = _shaped("T", given["T"], (study.M, study.M), rho.size)
    if overlaps.ndim == 2:
        share, total = rho**2, float(weight @ rho)
        if latent is not None:
            share, total = latent.share, 1.0 if latent.variance is None else total
        return (share / total)[:, None, None] * overlaps, overlaps
    if latent is not None:
        raise InputError(
            "teachers act on more than the inputs, so that overlaps per eigenvalue do not fix "
            f"their covariance; give T with shape {(study.M, study.M)}, or a State",
            argument="T",
        )
    alive = rho > 0.0
    return overlaps, np.einsum("k,kij->ij", weight[alive] / rho[alive], overlaps[alive])


def _field(
    study: Study, data: DataModel, name: str, families: tuple[str, ...], values: Any
) -> np.ndarray:
    """Return overlaps per eigenvalue (L, …) of two families of vectors, or numbers of students."""
    K, M = study.K, study.M
    if not families:
        return real_array(name, values, (K,))
    component = data.average()
    rho, mean = component.eigenvalue, float(component.weight @ component.eigenvalue)
    shape = K, M if families[1] == "B" else K
    shaped = _shaped(name, values, shape, rho.size)
    if shaped.ndim == 3:
        return shaped
    if families[1] != "B":
        return np.tile(shaped / mean, (rho.size, 1, 1))
    if data.latent is not None and np.any(shaped) and rho.size > 1:
        raise InputError(
            "a total does not say how students and teachers of latent coordinates overlap per "
            f"eigenvalue; give the shape {(rho.size, *shape)}, a State, or weights J and B",
            argument=name,
        )
    divided: np.ndarray = (rho / mean)[:, None, None] * shaped
    return divided


def _shaped(name: str, values: Any, shape: tuple[int, int], L: int) -> np.ndarray:
    """Return an array checked to hold one total, or one block for each eigenvalue."""
    array = real_array(name, values)
    if array.shape not in (shape, (L, *shape)):
        raise ShapeError(
            f"has shape {array.shape}, expected {shape}, or {(L, *shape)} per eigenvalue",
            argument=name,
        )
    return array


def _check_families(
    state: State,
    added: Mapping[str, AddedField],
    given: Mapping[str, Any],
    further: Mapping[str, np.ndarray],
) -> None:
    """Refuse overlaps of a rule's own vectors that are incomplete, or that no vectors can have.

    Raises:
        InputError: with the name of the first one.
    """
    own = {name: field for name, field in added.items() if field.families}
    present = [name for name in own if name in given]
    if not present:
        return
    for name in own:
        if name not in given:
            raise InputError(f"is missing; give all of {', '.join(own)}", argument=name)
    blocks = {field.families: further[field.packed] for field in own.values()}
    blocks |= {
        ("J", "J"): state.student_overlap,
        ("J", "B"): state.cross_overlap,
        ("B", "B"): state.teacher_overlap,
    }
    blocks |= {
        (second, first): np.swapaxes(block, 1, 2)
        for (first, second), block in blocks.items()
        if first != second
    }
    families = sorted({family for pair in blocks for family in pair})
    gram = np.block([[blocks[first, second] for second in families] for first in families])
    scale = np.max(np.abs(gram))
    outside = first_outside(gram)
    if outside is None and np.max(np.abs(gram - np.swapaxes(gram, 1, 2))) > 1e-7 * scale:
        raise InputError(
            f"{', '.join(own)} have a matrix that is not symmetric", argument=present[0]
        )
    if outside is not None:
        raise InputError(
            f"{', '.join(own)} at eigenvalue {outside + 1} of {state.L} are not overlaps of any "
            "vectors with these Q, R and T (the matrix is not positive semi-definite)",
            argument=present[0],
        )
