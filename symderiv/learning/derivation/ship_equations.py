"""Write the equations that come with the package; ``make kernels`` does it."""

from __future__ import annotations

from symderiv.formula.named_losses import NAMED
from symderiv.foundation.derivation_cache import ship, sources_digest
from symderiv.keys.study_tables import STATED_KEYS
from symderiv.learning.derivation.learning_equations import (
    EQUATION_ROOMS,
    PLAIN_EQUATIONS,
    equations_of_any,
)
from symderiv.learning.rule.learning_rule import PLAIN, LearningRule
from symderiv.learning.rule.loss import loss

#: Plain descent, every rule that differs from it by one key, and the stated keys together.
SHIPPED = (
    PLAIN,
    *(LearningRule(loss=loss(name)) for name in NAMED if name != "squared"),
    LearningRule(target="sign"),
    LearningRule(flips=True),
    LearningRule(dropout=True),
    LearningRule(input_noise=True),
    LearningRule(biases=True),
    LearningRule(biases=True, trained_biases=True),
    LearningRule(update_noise=True),
    LearningRule(momentum=True),
    LearningRule(normalise="gradient"),
    LearningRule(normalise="sphere"),
    LearningRule(batches=True),
    *(LearningRule(stated=(key, *others)) for key, others in STATED_KEYS.items()),
    LearningRule(
        stated=tuple(name for key, others in STATED_KEYS.items() for name in (key, *others))
    ),
)

if __name__ == "__main__":
    sources = sources_digest(*EQUATION_ROOMS)
    ship(PLAIN_EQUATIONS, sources, *((equations_of_any, (rule,)) for rule in SHIPPED))
