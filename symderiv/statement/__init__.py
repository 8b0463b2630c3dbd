"""Learning problems stated line by line: the language, and the statement as data.

Its equations and its experiment are in :mod:`symderiv.system`; the check of generated modules reads
statements too (:mod:`symderiv.checking`).
"""
