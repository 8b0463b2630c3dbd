"""The sources of a run, a problem or a claim, as BibTeX.

The file ``citations.toml`` beside this module assigns entries of the bibliography to input models,
activations, learning rules and papers.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from symderiv.api.results.answer import Answer
from symderiv.foundation.errors import InputError
from symderiv.foundation.nearest import did_you_mean
from symderiv.keys.study_tables import all_records

if TYPE_CHECKING:
    from symderiv_ledger.claims.claim import Claim, Code, Paper

    from symderiv.problem.study import Study


class Citation(Answer):
    """The sources of a run, a problem or claims.

    Attributes:
        keys: the keys of the entries; reasons: by key, the results that rest on it.
        files: the files from which a study was read and takes numbers.
    """

    files: tuple[Path, ...] = ()

    _title = "What the results rest on"
    _first = ("keys",)

    def to_bibtex(self) -> str:
        """Return the entries as BibTeX."""
        return self.to_text()


_OWN: Final = """@software{symderiv,
  author = {{The symderiv developers}},
  title = {symderiv: learning dynamics of two-layer networks, derived and solved},
  version = {VERSION},
  license = {BSD-3-Clause}
}
"""
#: The largest number of claims that are named in a reason.
_SHOWN: Final = 6
#: The entry of a paper that the bibliography lacks: a user's paper, or unpublished notes.
_PAPER: Final = "@misc{KEY,\n  title = {{TITLE}}\n}"
_CODE: Final = """@misc{KEY,
  title = {{ADDRESS}},
  howpublished = {\\url{https://github.com/ADDRESS}},
  note = {commit COMMIT, licence: LICENCE}
}"""


def cited(what: str | PathLike[str], equation: str | None = None) -> Citation:
    """Return the sources of a study, or of the claims of a paper.

    Args:
        what: a study file, or the name of a paper as :func:`symderiv.verify` takes it.
        equation: the equation of the paper, or the name of one claim; all when left out.

    Raises:
        InputError: there is no such file, paper or equation.
    """
    from symderiv_ledger.papers.known_papers import names

    from symderiv.problem.study import load_study

    name = fspath(what)
    if name in names():
        return citation_of_claims([(name, equation)])
    if equation is not None:
        raise InputError("needs the name of a paper", argument="equation")
    if not name.endswith(".toml") and not Path(name).exists():
        raise InputError(
            f"{name!r} is neither a study file nor one of {', '.join(names())}"
            + did_you_mean(name, names())
        )
    study = load_study(name, timed=False)
    citation = citation_of(study)
    citation.files = (Path(name), *study.input_files)
    return citation


def citation_of(study: Study) -> Citation:
    """Return the sources of a study's means, inputs, layers and learning rule, and the program."""
    data = _data()
    reasons: dict[str, str] = {}

    def add(found: Mapping[str, str]) -> None:
        for key, reason in found.items():
            told = reasons.get(key, "").split("; ") if key in reasons else []
            reasons[key] = "; ".join(dict.fromkeys([*told, reason]))

    add(data["always"])
    model = getattr(study.data, "model", "")
    add(dict.fromkeys(data["inputs"].get(model, ()), f"inputs of the model {model}"))
    for name in dict.fromkeys([study.network.activation, study.network.teacher_activation]):
        add(data["activations"].get(name, {}))
    for key, value in _given(study):
        add(data["keys"].get(key, {}))
        add(data["values"].get(key, {}).get(value, {}) if isinstance(value, str) else {})
    known = _entries()
    return _citation({key: (why, known[key]) for key, why in reasons.items()})


def citation_of_claims(chosen: Iterable[tuple[str, str | None]]) -> Citation:
    """Return the sources of claims and of those that they use, directly or not.

    Args:
        chosen: names of papers of the library, each with an equation, the name of a claim, or
            None for all claims.

    Raises:
        InputError: there is no such paper or equation.
    """
    from symderiv_ledger.papers.known_papers import paper

    asked: dict[tuple[str, str], tuple[Paper, Claim]] = {}
    for name, equation in chosen:
        home = paper(name)
        claims_meant = [c for c in home.claims if equation in (None, c.equation, c.name)]
        if not claims_meant:
            raise InputError(f"{name} has no claim on {equation}", argument="equation")
        asked |= {(name, claim.name): (home, claim) for claim in claims_meant}
    sources: dict[str, tuple[str, str, list[str]]] = {}
    told = ((home, claim, "claims on") for home, claim in asked.values())
    for home, claim, why in [*told, *_used(asked)]:
        key, entry = _source(home, claim)
        sources.setdefault(key, (why, entry, []))[2].append(claim.name)
    return _citation(
        {
            key: (f"{why} {_named(dict.fromkeys(claims))}", entry)
            for key, (why, entry, claims) in sources.items()
        }
    )


def _citation(sources: Mapping[str, tuple[str, str]]) -> Citation:
    from symderiv import __version__

    texts = [_OWN.replace("VERSION", __version__)]
    texts += [f"% {why}\n{entry}\n" for why, entry in sources.values()]
    reasons = {key: why for key, (why, _) in sources.items()}
    return Citation({"keys": ["symderiv", *sources], "reasons": reasons}, "\n".join(texts))


def _given(study: Study) -> Iterator[tuple[str, Any]]:
    """Yield keys that are not at their defaults, with their values."""
    for table in ("network", "training"):
        table_given = getattr(study, table)
        for key in table_given.RECORDS:
            if not table_given.at_default(key):
                yield f"{table}.{key}", getattr(table_given, key)
    if study.task:
        yield "task", None


def _named(claims: Iterable[str]) -> str:
    names = list(claims)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _used(claims: Mapping[tuple[str, str], Any]) -> Iterator[tuple[Paper, Claim, str]]:
    """Yield the claims that given ones use, directly or not."""
    from symderiv_ledger.claims.claim_graph import targets
    from symderiv_ledger.papers.known_papers import paper

    seen, ahead = set(claims), list(claims.values())
    while ahead:
        home, claim = ahead.pop(0)
        for use in claim.uses:
            other = paper(use.paper) if use.paper else home
            for target in targets(use, other.claims, but=claim):
                if (other.name, target.name) not in seen:
                    seen.add((other.name, target.name))
                    ahead.append((other, target))
                    yield other, target, "what these claims use:"


def _source(home: Paper, claim: Claim) -> tuple[str, str]:
    """Return key and entry of the source in which a claim is printed."""
    printed = home.printed.get(claim.equation)
    if printed is not None and printed.code is not None:
        return _repository(printed.code)
    key = _data()["papers"].get(home.name)
    if key is not None:
        return key, _entries()[key]
    return home.name, _PAPER.replace("KEY", home.name).replace("TITLE", home.title)


def _repository(code: Code) -> tuple[str, str]:
    key = code.repository.replace("/", ":")
    entry = _CODE.replace("KEY", key).replace("ADDRESS", code.repository)
    return key, entry.replace("COMMIT", code.commit).replace("LICENCE", code.licence)


@cache
def _data() -> dict[str, Any]:
    """Return the sources in ``citations.toml``, and those that the records of keys name."""
    file = resources.files("symderiv.api.results.equations").joinpath("citations.toml")
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    records = {f"{table}.{key}": record for table, key, record in all_records()}
    tables["keys"] |= {key: record.sources for key, record in records.items() if record.sources}
    tables["values"] = {key: each.sources_of for key, each in records.items() if each.sources_of}
    return tables


@cache
def _entries() -> dict[str, str]:
    """Return the entries of the bibliography by their keys."""
    entries = {}
    for entry in re.findall(r"^@[\s\S]*?^}$", _bibliography(), re.MULTILINE):
        entries[entry[entry.index("{") + 1 : entry.index(",")]] = entry
    return entries


def _bibliography() -> str:
    """Find the bibliography beside an installed package, or else in the folder ``docs``."""
    installed = resources.files("symderiv").joinpath("bibliography.bib")
    if installed.is_file():
        return installed.read_text(encoding="utf-8")
    beside = Path(__file__).parents[4] / "docs" / "bibliography.bib"
    return beside.read_text(encoding="utf-8")
