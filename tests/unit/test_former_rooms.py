"""Imports that the manual showed under the rooms' former names still work, and say where to go."""

import importlib
import sys

import pytest

from symderiv.foundation.former_rooms import FORMER_ROOMS


@pytest.mark.parametrize(
    ("former", "name", "home"),
    [
        ("symderiv.data", "estimate_generator", "symderiv.inputs"),
        ("symderiv.dynamics", "solve_moments", "symderiv.integrate.flows.moment_check"),
        ("symderiv.dynamics", "load_study", "symderiv.problem.study"),
        ("symderiv.dynamics", "with_sampler", "symderiv.experiment.studies.simulating"),
        ("symderiv.expressions", "activation", "symderiv.formula"),
        ("symderiv.questions", "mean", "symderiv.api.questions"),
        ("symderiv.verification.claim", "Point", "symderiv_ledger.claims.claim"),
    ],
)
def test_a_former_room_hands_on_its_names(former: str, name: str, home: str) -> None:
    for each in [each for each in sys.modules if each in FORMER_ROOMS]:
        del sys.modules[each]
    with pytest.warns(DeprecationWarning, match="will go"):
        found = importlib.import_module(former)
    assert getattr(found, name) is getattr(importlib.import_module(home), name)
    with pytest.raises(AttributeError, match=former):
        _ = found.never_there


def test_every_home_of_a_former_room_exists() -> None:
    for homes in FORMER_ROOMS.values():
        for home in homes:
            importlib.import_module(home)
