r"""The derivation of an expectation as steps: each rule in general form, with one application.

Equal applications are grouped: a step shows a representative one and says how often the rule was
used.
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy as sp

from symderiv.foundation.documents.written_derivation import Step
from symderiv.gaussian.rules import Moment, Witness
from symderiv.gaussian.setup import GaussianProblem
from symderiv.gaussian.signs import FormUse, FormUses
from symderiv.gaussian.terms.covariance import Conditions, Gaussian
from symderiv.gaussian.terms.weights import IMAGINARY, Entry, Weight
from symderiv.gaussian.terms.working_terms import TermKey, Terms, write_term

_SHOWN_TERMS = 6
_SHOWN_PARTS = 3
_SHOWN_DEFINITIONS = 6
_SHOWN_OPERATIONS = 1200

_STATEMENTS = {
    "Stein": (
        r"Stein: a power is removed by integrating by parts, $\mathbb{E}[z_i F] = \mu_i"
        r"\mathbb{E}[F] + \sum_j C_{ij} \mathbb{E}[\partial_j F]$, with"
        r" $\partial_s \operatorname{sgn}(s) = 2\delta(s)$"
    ),
    "delta": (
        r"A delta function fixes its variable: $\mathbb{E}[\delta(t)\,G] = p(t=0)\,"
        r"\mathbb{E}[G \mid t=0]$ with $p(t=0) = e^{-\mu_t^2/(2C_{tt})}/\sqrt{2\pi C_{tt}}$,"
        r" conditional covariance $C_{ij \mid t} = C_{ij} - C_{it}C_{jt}/C_{tt}$ and mean"
        r" $\mu_{i \mid t} = \mu_i - C_{it}\mu_t/C_{tt}$"
    ),
    "delta derivative": (
        r"Derivatives of delta functions, Stein read backwards:"
        r" $t\,\delta^{(k-1)}(t) = -(k-1)\,\delta^{(k-2)}(t)$ gives $\mathbb{E}[\delta^{(k)}(t) G]"
        r" = -\big((k-1)\mathbb{E}[\delta^{(k-2)}(t) G] + \mu_t \mathbb{E}[\delta^{(k-1)}(t) G] +"
        r" \sum_j C_{tj} \mathbb{E}[\delta^{(k-1)}(t)\,\partial_j G]\big)/C_{tt}$"
    ),
    "power at zero": (
        r"A power meets a delta function of the same variable:"
        r" $x^p \delta^{(k)}(x) = (-1)^p \frac{k!}{(k-p)!}\, \delta^{(k-p)}(x)$, zero for $p > k$"
    ),
    "sign at zero": (
        r"$\operatorname{sgn}(s)\,\delta(s) = 0$, because $(\operatorname{sgn}^2)' = 0$"
    ),
    "collinear signs": (
        r"Signs of proportional variables merge: $\operatorname{sgn}(s)\operatorname{sgn}(cs) ="
        r" \operatorname{sgn}(c)$, and with thresholds $\operatorname{sgn}(s)"
        r"\operatorname{sgn}(s+d) = 1 + \operatorname{sgn}(d)\,(\operatorname{sgn}(s) -"
        r" \operatorname{sgn}(s+d))$"
    ),
    "certain sign": (
        r"A variable without fluctuations has a certain sign, with $\operatorname{sgn}(0) = 0$"
    ),
    "parity": (r"An odd product of centred variables has expectation zero (reflection $z \to -z$)"),
}

_ORDER = (
    *("sign at zero", "power at zero", "certain sign", "collinear signs", "parity", "Stein"),
    *("delta derivative", "delta"),
)

_FORMS = {
    "error function": (
        r"One sign: $\mathbb{E}[\operatorname{sgn}(s)] = \operatorname{erf}(\mu_s/\sqrt{2C_{ss}})$;"
        r" an imaginary mean (from $\sin$, $\cos$) gives $i\,\operatorname{erfi}$",
        r"\mathbb{E}\left[\operatorname{sgn}(s)\right]",
        r"\operatorname{erf}\left(\frac{\mu_s}{\sqrt{2 C_{ss}}}\right)",
    ),
    "arcsine": (
        r"Two signs, by Price: $\partial_{C_{12}} \mathbb{E}[\operatorname{sgn}(s_1)"
        r"\operatorname{sgn}(s_2)] = 4\,\mathbb{E}[\delta(s_1)\delta(s_2)] ="
        r" \frac{2}{\pi}(C_{11}C_{22}-C_{12}^2)^{-1/2}$, integrated from $C_{12}=0$, where the"
        r" mean is zero",
        r"\mathbb{E}\left[\operatorname{sgn}(s_1)\operatorname{sgn}(s_2)\right]",
        r"\frac{2}{\pi} \arcsin\left(\frac{C_{12}}{\sqrt{C_{11} C_{22}}}\right)",
    ),
    "Owen's T": (
        r"Two signs with means $h_i = \mu_i/\sqrt{C_{ii}}$: the same integral over $C_{12}$ keeps a"
        r" Gaussian factor and is Owen's $T(h,a) = \frac{1}{2\pi}\int_0^a"
        r" \frac{e^{-h^2(1+x^2)/2}}{1+x^2}dx$, with"
        r" $a_{ij} = (h_j - \rho h_i)/(h_i\sqrt{1-\rho^2})$",
        r"\mathbb{E}\left[\operatorname{sgn}(s_1)\operatorname{sgn}(s_2)\right]",
        r"\operatorname{sgn}(h_1 h_2) - 4\,T(h_1, a_{12}) - 4\,T(h_2, a_{21})",
    ),
    "orthant": (
        r"Four signs: by Price and conditioning $\partial_{\rho_{12}} S_4 ="
        r" \frac{4}{\pi^2}(1-\rho_{12}^2)^{-1/2} \arcsin \rho_{34 \mid 12}$; one integral is left"
        r" (Plackett) and kept as the function $S_4$ of the six correlations",
        r"\mathbb{E}\left[\operatorname{sgn}(s_1)\operatorname{sgn}(s_2)"
        r"\operatorname{sgn}(s_3)\operatorname{sgn}(s_4)\right]",
        r"S_4(\rho_{12}, \rho_{13}, \rho_{14}, \rho_{23}, \rho_{24}, \rho_{34})",
    ),
}


class Narrator:
    """Records applications of rules and writes them as steps.

    Args:
        problem: Variables and terms.
        integrand: The integrand as it was given.
        terms: Its normal form.
    """

    def __init__(self, problem: GaussianProblem, integrand: sp.Expr, terms: Terms) -> None:
        self.problem = problem
        self.integrand = integrand
        self.terms = terms
        self.statement = rf"\mathbb{{E}}\left[{sp.latex(integrand)}\right]"
        self._count: dict[str, int] = {}
        self._shown: dict[str, tuple[Gaussian, Moment, list[tuple[Weight, Moment]]]] = {}

    def witness(self, gaussian: Gaussian) -> Witness:
        """Return the callback with which :class:`rules.Moments` reports applications of rules."""

        def told(rule: str, before: Moment, parts: list[tuple[Weight, Moment]]) -> None:
            self._count[rule] = self._count.get(rule, 0) + 1
            shown = self._shown.get(rule)
            if shown is None or len(shown[2]) < len(parts) <= _SHOWN_PARTS:
                self._shown[rule] = (gaussian, before, parts)

        return told

    def steps(
        self,
        value: sp.Expr,
        definitions: Iterable[tuple[sp.Symbol, sp.Expr]],
        forms: FormUses,
    ) -> tuple[Step, ...]:
        """Return all steps from the question to the closed form."""
        steps = [
            Step(
                "definition",
                "The expectation of a product of functions of Gaussian fields, "
                "with covariance $C$ and mean $\\mu$",
                "",
                self.statement,
            )
        ]
        steps += self._reading()
        steps += self._variables()
        steps += [self._rule(name) for name in _ORDER if name in self._count]
        steps += [self._form(kind, forms[kind]) for kind in _FORMS if kind in forms]
        steps += self._definitions(list(definitions))
        steps.append(Step("result", "All terms added", self.statement, _short(value)))
        return tuple(steps)

    @staticmethod
    def _times(count: int) -> str:
        return "" if count == 1 else f" (used {count} times)"

    # -- reading ---------------------------------------------------------------------------

    def _reading(self) -> list[Step]:
        e = self.integrand
        reasons = []
        if e.has(sp.Heaviside):
            reasons.append(r"$\theta(x) = (1+\operatorname{sgn} x)/2$")
        if e.has(sp.Abs):
            reasons.append(r"$|x| = x \operatorname{sgn} x$")
        if e.has(sp.Max, sp.Min):
            reasons.append(r"$\max(a,b) = a\,\theta(a-b) + b\,\theta(b-a)$")
        if e.has(sp.sin, sp.cos):
            reasons.append(r"$\cos x \pm i \sin x = e^{\pm i x}$")
        if any(key.signs for key in self.terms):
            reasons.append(r"$\operatorname{sgn}^2 = 1$")
        shown = list(self.terms.items())[:_SHOWN_TERMS]
        fields = self.problem.fields
        after = " + ".join(self._term(key, c, fields) for key, c in shown).replace("+ -", "- ")
        if len(self.terms) > len(shown):
            after += r" + \dots"
        if not reasons and (len(self.terms) < 2 or sp.expand(e) == e):
            return []
        text = f"Written as a sum of {len(self.terms)} products"
        if reasons:
            text += " with " + ", ".join(reasons)
        return [Step("normal form", text, sp.latex(e), after or "0")]

    @staticmethod
    def _term(key: TermKey, coefficient: sp.Expr, fields: tuple[sp.Symbol, ...]) -> str:
        return str(sp.latex(write_term(key, coefficient, fields)))

    def _variables(self) -> list[Step]:
        erf_variables: list[int] = []
        tilt_variables: list[int] = []
        for term in self.problem.terms:
            tilt_variables += [t for t in term.tilts if t not in tilt_variables]
            erf_variables += [
                s
                for s in term.signs
                if self.problem.variables[s].noise != 0 and s not in erf_variables
            ]
        steps = []
        if erf_variables:
            steps.append(
                Step(
                    "erf as a sign",
                    r"The error function is the mean sign of one more Gaussian,"
                    r" $\operatorname{erf}(\alpha z + \beta) = \mathbb{E}_\omega \operatorname{sgn}"
                    r"(\sqrt{2}(\alpha z + \beta) - \omega)$, $\omega \sim N(0,1)$ independent;"
                    r" divided by $\sqrt{2}\alpha$ it is the field plus noise of variance"
                    r" $1/(2\alpha^2)$",
                    "",
                    self._definition_list(erf_variables),
                )
            )
        if tilt_variables:
            steps.append(
                Step(
                    "tilt",
                    r"A Gaussian factor is the density of the field plus noise at zero, so it acts"
                    r" like conditioning: $e^{-a z^2/2} = \sqrt{2\pi/a}\;\mathbb{E}_\omega\,"
                    r"\delta(z + \omega/\sqrt{a})$, hence $\mathbb{E}[e^{-a z^2/2} F] ="
                    r" e^{-a\mu_z^2/(2(1+aC_{zz}))}(1+aC_{zz})^{-1/2}\,\mathbb{E}'[F]$ with"
                    r" $C'_{ij} = C_{ij} - C_{iz}C_{jz}/(C_{zz}+1/a)$",
                    "",
                    self._definition_list(tilt_variables),
                )
            )
        shifts = {t.shift for t in self.problem.terms}
        if any(b != 0 for s in shifts for b in (*s.real, *s.imaginary)):
            steps.append(
                Step(
                    "exponential shift",
                    r"A factor $e^{b z}$ ($b$ may be imaginary) shifts the means by $C b$:"
                    r" $\mathbb{E}[e^{b\cdot z} F] = e^{b\cdot\mu + b\cdot C b/2}\,\mathbb{E}'[F]$,"
                    r" $\mu' = \mu + C b$",
                    r"\mathbb{E}\left[e^{b \cdot z} F(z)\right]",
                    r"e^{b\cdot\mu + \frac{1}{2} b\cdot C b}\;\mathbb{E}\left[F(z + C b)\right]",
                )
            )
        return steps

    def _definition_list(self, indices: Iterable[int]) -> str:
        parts = []
        for i in indices:
            v = self.problem.variables[i]
            form = sp.latex(v.form.expression(self.problem.fields))
            noise = rf"\operatorname{{Var}}(\omega) = {sp.latex(v.noise)}"
            parts.append(rf"{v.latex} = {form} + \omega,\ {noise}")
        return r";\quad ".join(parts)

    # -- rules -----------------------------------------------------------------------------

    def _rule(self, name: str) -> Step:
        gaussian, before, parts = self._shown[name]
        text = _STATEMENTS[name] + self._times(self._count[name])
        terms = []
        for weight, moment in parts:
            factor = self._weight(weight, gaussian)
            density = self._density(name, before, moment, gaussian)
            terms.append(f"{factor}{density}{self._moment(moment, gaussian)}")
        after = " + ".join(terms).replace("+ -", "- ") or "0"
        return Step(name, text, self._moment(before, gaussian), after)

    def _form(self, kind: str, use: FormUse) -> Step:
        text, before, after = _FORMS[kind]
        moment = (use.given, (), use.signs, ())
        general = f"; in general ${before} = {after}$"
        return Step(
            kind,
            text + general + self._times(use.count),
            self._moment(moment, use.gaussian),
            _short(use.value),
        )

    @staticmethod
    def _definitions(definitions: list[tuple[sp.Symbol, sp.Expr]]) -> list[Step]:
        """Return a step with the first few names of conditional covariances (if folded)."""
        if not definitions:
            return []
        shown = definitions[:_SHOWN_DEFINITIONS]
        after = r";\quad ".join(f"{sp.latex(s)} = {sp.latex(e)}" for s, e in shown)
        if len(definitions) > len(shown):
            after += r";\quad \dots"
        text = "Conditional covariances get names, each from earlier ones"
        return [Step("conditional covariances", text, "", after)]

    def _density(self, rule: str, before: Moment, after: Moment, g: Gaussian) -> str:
        if rule != "delta":
            return ""
        (new,) = set(after[0]) - set(before[0])
        given = self._given(before[0], g)
        return rf"p\left({g.variables[new].latex} = 0{given}\right)\,"

    @staticmethod
    def _given(given: Conditions, g: Gaussian) -> str:
        names = " = ".join(g.variables[i].latex for i in given)
        return rf" \mid {names} = 0" if names else ""

    def _moment(self, moment: Moment, g: Gaussian) -> str:
        given, powers, signs, deltas = moment
        inside = []
        for i, p in powers:
            name = g.variables[i].latex
            inside.append(name if p == 1 else f"{name}^{{{p}}}")
        inside += [rf"\operatorname{{sgn}}({g.variables[i].latex})" for i in signs]
        for i, k in deltas:
            mark = "'" * k if k < 4 else f"^{{({k})}}"
            inside.append(rf"\delta{mark}({g.variables[i].latex})")
        body = r"\,".join(inside) or "1"
        return rf"\mathbb{{E}}\left[{body}{self._given(given, g)}\right]"

    def _weight(self, weight: Weight, g: Gaussian) -> str:
        """Return the LaTeX of the weight in front of a moment; empty for one."""
        terms = []
        for monomial, c in weight.items():
            factors = [self._entry(e, p, g) for e, p in monomial]
            number = (
                ""
                if abs(c) == 1 and factors
                else sp.latex(sp.Rational(abs(c).numerator, abs(c).denominator))
            )
            terms.append(("-" if c < 0 else "") + r"\,".join([*filter(None, [number]), *factors]))
        text = " + ".join(terms).replace("+ -", "- ")
        if text in ("1", ""):
            return ""
        return (rf"\left({text}\right)" if len(terms) > 1 else text) + r"\,"

    def _entry(self, entry: Entry, power: int, g: Gaussian) -> str:
        if entry == IMAGINARY:
            return "i"
        if entry[0] == "s":
            return r"\operatorname{sgn}(d)"
        given = entry[1]
        assert isinstance(given, tuple)
        i, j = int(str(entry[2])), int(str(entry[3]))
        condition = ",".join(g.variables[k].latex for k in given)
        condition = rf" \mid {condition}" if condition else ""
        if entry[0] == "c":
            symbol = rf"C_{{{g.variables[i].latex} {g.variables[j].latex}{condition}}}"
        else:
            part = r"\mu''" if j else r"\mu"
            symbol = rf"{part}_{{{g.variables[i].latex}{condition}}}"
        return symbol if power == 1 else f"{symbol}^{{{power}}}"


def _short(value: sp.Expr) -> str:
    """Return the LaTeX of a value, or of very long sums only their size."""
    operations = sp.count_ops(value)
    if operations > _SHOWN_OPERATIONS:
        count = len(sp.Add.make_args(value))
        return rf"\text{{a sum of {count} terms with {operations} operations}}"
    return str(sp.latex(value))
