"""Random statements of small learning problems, said to a system or to its plain reading alike."""

import random
from typing import Any

import sympy as sp

import symderiv as sd
from random_systems.plain import Plain, function

SMOOTH = ("erf", "erf", "relu", "square", "same", "sin")
ANY = (*SMOOTH, "sign", "step")
LAWS: dict[str, Any] = {"c": {-0.5: sp.Rational(4, 5), 2: sp.Rational(1, 5)}, "n": "gaussian"}
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "spectrum": {"model": sd.Spectrum([2.0, 0.5], weights=[0.25, 0.75])},
    "tokens": {"length": 2, "correlation": [[1, sp.Rational(3, 5)], [sp.Rational(3, 5), 1]]},
    "two": {},
    "spiked": {},
    "episode": {"episode": 2},
    "batch": {"batch_ratio": sp.Rational(3, 2)},
}


class Speaker:
    """Says the problem of a seed."""

    def __init__(self, P: Any, seed: int) -> None:
        self.P, self.source = P, random.Random(seed)
        choice, chance = self.source.choice, self.source.random
        self.kind = choice(list(KINDS))
        x = P.inputs("x", **KINDS[self.kind])
        self.inputs = list(x) if self.kind == "tokens" else [x]
        self.inputs += [P.inputs("z")] if self.kind == "two" else []
        sizes = {"w": choice((None, 1, 2)), "B": choice((None, 2))}
        moving = chance() < 0.2
        family = {n: P.vectors(n, k, fixed=n == "B" and not moving) for n, k in sizes.items()}
        self.w, self.B = (v if sizes[n] else [v] for n, v in family.items())
        self.u = list(P.scalars("u", 2)) if chance() < 0.5 else []
        self.latents = {name: P.latents(name, law) for name, law in LAWS.items()}
        if self.kind == "spiked":
            self.inputs = [x + 1.5 * self.latents["c"] * P.vectors("U", fixed=True)]
        self.vectors = [*self.w, *self.B]
        self.moving = [*self.w, *(self.B if moving else [])]
        self.averages: list[Any] = []
        if chance() < 0.25 and self.kind != "batch":
            P.constrain(family["w"], choice(("sphere", "orthonormal")))
        if chance() < 0.2:
            self.averages.append(P.average(self.whole()))
        apart = self.kind in ("plain", "spectrum", "two")
        every = (self.descend, *([self.rebuild] if apart else []), self.update)
        lines = [line for line in every if chance() < 0.4]
        for line in lines or [self.update]:
            line()
        P.observe(seen=self.whole())
        if self.u and chance() < 0.2:
            self.classify()

    def unit(self, x: Any, functions: tuple[str, ...] = ANY) -> Any:
        choice, argument = self.source.choice, self.source.choice(self.vectors) @ x
        if self.source.random() < 0.2:
            argument = argument + 0.6 * (choice(self.vectors) @ x)
        return function(choice(functions), argument)

    def coefficient(self) -> Any:
        """What does not differ between examples, as a rule."""
        choice = self.source.choice
        found = [1, choice(self.vectors).dot(choice(self.vectors)), self.P.alpha]
        found += [*self.latents.values(), *self.u, *self.averages]
        return choice((-1.2, -0.6, 0.4, 0.8)) * choice([1, 1, *found])

    def force(self, x: Any) -> Any:
        """A polynomial of a few units of which at most two are none."""
        found = self.coefficient() * self.unit(x)
        if self.source.random() < 0.3:
            found = found * self.unit(x, ("same", "sign"))
        if self.source.random() < 0.5:
            found = found + self.coefficient() * self.unit(x)
        return found

    def whole(self) -> Any:
        """A force of all the examples of an episode."""
        return self.summed(self.force(self.source.choice(self.inputs)))

    def summed(self, of_one: Any) -> Any:
        return self.inputs[0].sum(of_one) if self.kind == "episode" else of_one

    def mean(self, of_one: Any) -> Any:
        return self.inputs[0].mean(of_one) if self.kind == "batch" else of_one

    def rates(self) -> dict[Any, Any]:
        rate = self.source.choice([0.5, 0.8, *(0.5 * each for each in self.averages)])
        return {**dict.fromkeys(self.moving, rate), **dict.fromkeys(self.u, 0.4)}

    def descend(self) -> None:
        """Descend squares of errors of a committee as a rule, sometimes other losses."""
        choice, x = self.source.choice, self.source.choice(self.inputs)
        g, t, which = choice(SMOOTH), choice(ANY), choice(("square", "square", "hinge", "product"))
        noise = self.source.choice((0, 0.5)) * self.latents["n"]

        s = sum(a * function(g, w @ x) for a, w in zip(self.u or [1, 1], self.w, strict=False))
        y = function(t, self.B[0] @ x) + noise
        loss = 0.5 * (s - y) ** 2 if which == "square" else -1 * s * y
        if which == "hinge":
            loss = function("relu", 0.5 - function("sign", self.B[0] @ x) * (self.w[0] @ x))
        total = self.summed(loss)
        if self.source.random() < 0.3:
            total = total + 0.25 * self.w[0].dot(choice([self.w[0], *self.B]))
        self.P.descend(self.mean(total), self.rates())

    def classify(self) -> None:
        """Descend a logistic loss, in which output weights and fields are no product."""
        x = self.source.choice(self.inputs)
        g = self.source.choice(("erf", "same", "sin", "relu", "abs", "leaky"))
        s = sum(a * function(g, w @ x) for a, w in zip(self.u, self.w, strict=False))
        loss = function("softplus", -1 * self.latents["c"] * s)
        self.P.descend(self.mean(self.summed(loss)), self.rates())

    def rebuild(self) -> None:
        """Descend what functions times decoders leave of an input."""
        x, g = self.inputs[0], self.source.choice(("erf", "same"))
        rest = x - sum(function(g, w @ x) * w for w in self.w)
        # the plain reading leaves out |x|^2, which nothing changes
        size = rest @ rest if isinstance(self.P, Plain) else sd.norm2(rest)
        self.P.descend(0.5 * size, self.rates())

    def update(self) -> None:
        changes: dict[Any, Any] = {}
        for vector in self.moving:
            x = self.source.choice(self.inputs)
            if self.kind == "episode":
                changes[vector] = self.whole() * self.summed(self.force(x) * x)
                continue
            changes[vector] = self.mean(self.force(x) * x)
            if self.source.random() < 0.3:
                other = self.source.choice(self.vectors)
                changes[vector] = changes[vector] + self.mean(self.force(x) * other)
        changes |= {u: self.mean(self.whole()) for u in self.u}
        self.P.update(changes)
