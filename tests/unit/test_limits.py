"""Sizes that no memory holds are refused, with the limit named."""

import pytest

from symderiv.foundation import limits
from symderiv.foundation.errors import InputError


def test_what_does_not_fit_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "available_memory", lambda: 2**30)
    limits.check_memory(0.8 * 2**30, "many eigenvalues")
    with pytest.raises(InputError, match="many eigenvalues would take 973 MB") as refused:
        limits.check_memory(0.95 * 2**30, "many eigenvalues", argument="data.dimension")
    assert refused.value.argument == "data.dimension"
    assert "922 MB" in str(refused.value)


def test_small_sizes_are_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "available_memory", lambda: 0)
    limits.check_memory(1e6, "a few numbers")
    with pytest.raises(InputError):
        limits.check_memory(1e9, "many numbers")
