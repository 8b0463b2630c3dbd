"""Errors say what they are about in a field, survive pickling, and can be renamed."""

import inspect
import pickle

import pytest

from symderiv.foundation import errors
from symderiv.foundation.errors import InputError, SymderivError, ToleranceError

CLASSES = [
    c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, SymderivError)
]


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_survives_pickling_with_its_fields(kind: type[SymderivError]) -> None:
    error = kind("is wrong").renamed("covariance", "[0][1]")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert vars(again) == vars(error)
    assert str(again) == str(error) == "covariance[0][1]: is wrong"


def test_renaming_changes_the_name_and_nothing_else() -> None:
    error = ToleranceError("not reached", argument="digits")
    assert str(error.renamed("--digits")) == "--digits: not reached"
    assert str(error) == "digits: not reached"
    assert str(error.renamed(None)) == error.reason == "not reached"


def test_renaming_keeps_the_cause() -> None:
    cause = OSError("disk")
    with pytest.raises(InputError) as caught:
        raise InputError("cannot be read", argument="path") from cause
    assert caught.value.renamed("--path").__cause__ is cause


def test_wrong_input_is_a_value_error_and_a_missed_tolerance_is_none() -> None:
    assert issubclass(InputError, ValueError)
    assert not issubclass(ToleranceError, ValueError)
