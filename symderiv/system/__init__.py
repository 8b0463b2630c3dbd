"""Learning problems stated line by line: the language, its derivation and its experiment.

A statement has two readings. The derivation (``stated_motion``, ``averages``, ``slot_means``,
``closed_motion``) gives the equations of the order parameters in the limit N → ∞; the experiment
(``step_kernel``, ``system_sgd``) runs the stated steps at finite N.
"""
