"""``make random-systems``: random statements, their rates beside means over drawn examples.

``--prove`` proves short runs of the same statements, ``--integrate`` compares rates of smooth units
with one quadrature over all fields.
"""

import argparse
import random
import sys
import time
from typing import Any

import numpy as np
from flint import ctx
from scipy import stats
from support.campaign import counted

import symderiv as sd
from random_systems.integrated import integrated
from random_systems.plain import Plain
from random_systems.statements import Speaker
from symderiv.enclosures.check_enclosures import check
from symderiv.foundation.errors import NotYetError
from symderiv.statement.register import LearningTime

_REPEATS, _POINTS, _CHANCE = 12, 2**11, 1e-5
_NEAR = 1e-12


def order_of(seed: int) -> str:
    """Return whether steps of the problem of a seed are small."""
    return random.Random(-seed).choice(("full", "full", "full", "small-learning-rate"))


def tried(seed: int, change: float = 1.0) -> str:
    """State and derive the problem of a seed, and compare; ``change`` is a factor of the rates.

    Returns:
        "agrees", or "refused: …" or "wrong: …".
    """
    order = order_of(seed)
    P = sd.System(order)
    try:
        Speaker(P, seed)
        times = {"alpha": 0.7} if P.statement.symbols.of(LearningTime) else {}
        plain = Plain(1, 0, seed)
        Speaker(plain, seed)
        found = P.rates(plain.state(), **times)
    except sd.NotClosed as refused:
        return f"refused: {str(refused).splitlines()[0]}"
    except Exception as error:
        return f"wrong: {error!r}"
    rates = {name: change * np.asarray(rate) for name, rate in found.rates.items()} | {
        "seen": found.observables["seen"]
    }
    # what deviates by chance does not with other and more points
    apart = _apart(rates, order, seed, _POINTS)
    again = _apart(rates, order, seed, 32 * _POINTS) if apart else {}
    return f"wrong: {again}" if again.keys() & apart.keys() else "agrees"


def proved(seed: int) -> str:
    """State the problem of a seed and prove a short run; the separate program checks the proof.

    Balls and doubles have the equations in common, not how they are evaluated or integrated.

    Returns:
        "proved: …", the largest relative distance of the compiled run from the balls; "refused: …"
        or "wrong: …".
    """
    P, plain = sd.System(order_of(seed)), Plain(1, 0, seed)
    try:
        Speaker(P, seed)
        Speaker(plain, seed)
        run = P.solve(alpha=[0.1], initial=plain.state(), certify=True)
        with ctx.workprec(ctx.prec):
            steps = check(run.certificate())
    except (sd.NotClosed, NotYetError, sd.InputError) as refused:
        return f"refused: {str(refused).splitlines()[0]}"
    except Exception as error:
        return f"wrong: {error!r}"
    good = run.error < _NEAR and steps == run.enclosure.steps
    return f"{'proved' if good else 'wrong'}: {run.error:.1e}"


def _apart(rates: dict[str, Any], order: str, seed: int, points: int) -> dict[str, str]:
    repeats = []
    for repeat in range(_REPEATS):
        plain = Plain(points, points + repeat, seed)
        Speaker(plain, seed)
        repeats.append(plain.rates(order))
    assert repeats[0].keys() == rates.keys()
    scale = 1 + max(float(np.max(np.abs(rate))) for rate in rates.values())
    factor, apart = stats.t.ppf(1 - _CHANCE, _REPEATS - 1), {}
    for name, rate in rates.items():
        each = np.array([found[name] for found in repeats])
        mean, error = each.mean(0), each.std(0, ddof=1) / np.sqrt(_REPEATS)
        if not np.all(np.abs(rate - mean) <= factor * error + 1e-9 * scale):
            apart[name] = f"{rate} derived, {mean} +- {error} sampled"
    return apart


def main() -> None:
    parser = argparse.ArgumentParser(prog="random_systems", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="seed")
    parser.add_argument("--number", type=int, default=200, help="of seeds")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--prove", action="store_true", help="prove runs, instead of rates")
    kinds.add_argument("--integrate", action="store_true", help="smooth units, by quadrature")
    options = parser.parse_args()
    how = proved if options.prove else integrated if options.integrate else tried
    endings = []
    for seed in range(options.first, options.first + options.number):
        start = time.process_time()
        ending = how(seed)
        endings.append(ending.partition(":")[0])
        print(f"{seed}\t{time.process_time() - start:.1f} s\t{ending}", flush=True)
    sys.exit(counted(endings)["wrong"] > 0)


if __name__ == "__main__":
    main()
