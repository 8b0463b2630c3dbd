"""What runs, learning rules and claims rest on."""

import re
from pathlib import Path
from typing import Any

import pytest
from symderiv_ledger.papers.known_papers import names

import symderiv as sd
from symderiv.api.results.equations.citations import _data, _entries, cited
from symderiv.keys.study_tables import RULE_KEYS, STATED_KEYS

PLAIN = sd.Problem("erf", students=2, teachers=2, learning_rate=0.1)
#: Values of keys of learning rules that are not their defaults.
GIVEN: dict[str, Any] = {
    "network.student_biases": 0.3,
    "network.teacher_biases": 0.3,
    "network.train_biases": True,
    "training.loss": "logistic",
    "training.target": "sign",
    "training.label_flip": 0.1,
    "training.keep": 0.5,
    "training.evaluation_scale": 0.7,
    "training.input_noise": 0.1,
    "training.update_noise": 0.1,
    "training.batch": 5,
    "training.batch_ratio": 0.5,
    "training.momentum": 0.5,
    "training.momentum_rate": 2.0,
    "training.normalise": "gradient",
    "training.schedule": {"power": 0.5, "after": 10.0},
    "training.bias_learning_rate": 0.05,
}
#: Without these a key is refused.
WITH: dict[str, dict[str, Any]] = {
    "training.evaluation_scale": {"keep": 0.5},
    "training.bias_learning_rate": {"train_biases": True},
}


for _key, _others in STATED_KEYS.items():
    for _name in (_key, *_others):
        GIVEN[f"training.{_name}"] = 0.5
        WITH[f"training.{_name}"] = dict.fromkeys((_key, *_others), 0.5)


def _keys_in(data: Any) -> set[str]:
    """Keys of entries anywhere in the data: AuthorYear."""
    if isinstance(data, str):
        return {data} if re.fullmatch(r"[A-Za-z]+\d{4}\w*", data) else set()
    parts = [*data, *data.values()] if isinstance(data, dict) else data
    return {key for part in parts for key in _keys_in(part)}


def test_every_entry_that_is_cited_is_in_the_bibliography() -> None:
    cited_keys = _keys_in(_data())
    assert len(cited_keys) > 20
    assert cited_keys <= _entries().keys()


def test_inputs_activations_and_both_layers_have_their_papers() -> None:
    inputs = sd.PowerLaw(dimension=64, distinct_eigenvalues=4, exponent=1.0)
    problem = sd.Problem("relu", students=2, teachers=2, learning_rate=0.1, inputs=inputs)
    text = problem.cite().to_bibtex()
    found = re.findall(r"^@\w+{(\w+),", text, re.MULTILINE)
    assert found == problem.cite().keys
    assert found[0] == "symderiv"
    assert {"SaadSolla1995", "WorschechRosenow2024", "ChoSaul2009"} <= set(found)
    assert "RieglerBiehl1995" not in found
    both = sd.Problem("erf", students=2, teachers=2, learning_rate=0.1, train_second_layer=True)
    assert both.cite().reasons["RieglerBiehl1995"] == "output weights that are trained"


@pytest.mark.parametrize("key", [f"{t}.{k}" for t, keys in RULE_KEYS.items() for k in keys])
def test_every_key_of_a_learning_rule_has_its_source(key: str) -> None:
    given = {**WITH.get(key, {}), key.partition(".")[2]: GIVEN[key]}
    problem = sd.Problem("erf", students=2, teachers=2, learning_rate=0.1, **given)
    more = set(problem.cite().keys) - set(PLAIN.cite().keys)
    data = _data()
    own = data["keys"].get(key) or data["values"][key][GIVEN[key]]
    assert own.keys() <= more


def test_a_sequence_of_tasks_and_a_sphere_have_theirs() -> None:
    sphere = sd.Problem("erf", students=2, teachers=2, learning_rate=0.1, normalise="sphere")
    assert sphere.cite().reasons["BenArous2021"] == "weights kept on a sphere"
    tasks = [{"until": 5.0, "teachers": [0]}, {"until": 9.0, "teachers": [1]}]
    problem = sd.Problem("erf", students=2, teachers=2, learning_rate=0.1, tasks=tasks)
    assert "LeeGoldtSaxe2021" in problem.cite().keys


@pytest.mark.days(3)
@pytest.mark.parametrize("paper", names())
def test_claims_of_every_paper_have_an_entry_that_bibtex_reads(paper: str) -> None:
    found = cited(paper)
    assert len(found.keys) > 1
    entries = re.findall(r"^@\w+{([^,\s]+),[\s\S]*?^}$", found.to_bibtex(), re.MULTILINE)
    assert entries == found.keys
    assert found.to_bibtex().count("{") == found.to_bibtex().count("}")
    if paper in _data()["papers"]:
        assert found.keys[1] == _data()["papers"][paper]


def test_a_claim_cites_what_it_is_printed_in() -> None:
    found = cited("saad-solla-1995", "I2")
    assert found.reasons == {"SaadSolla1995": "claims on I2"}
    code = cited("public-code", "pyscm, I3")
    (key,) = code.reasons
    assert key == "sgoldt:pyscm"
    assert "710880b7623ddc72c0dcdd4cc750331a8fec7b7c" in code.to_bibtex()
    with pytest.raises(sd.InputError, match="has no claim on I9"):
        cited("saad-solla-1995", "I9")


def test_verdicts_cite_their_papers() -> None:
    assert sd.verify("saad-solla-1995", "I2").cite().keys == ["symderiv", "SaadSolla1995"]


def test_an_equation_needs_a_paper(tmp_path: Path) -> None:
    with pytest.raises(sd.InputError, match="needs the name of a paper"):
        cited(tmp_path / "study.toml", "I2")
