"""Learning problems as they are said, line by line: the language and the statement as data.

What follows from a statement, and its experiment, are of :mod:`symderiv.system`; the check of
generated modules reads statements too (:mod:`symderiv.lowering`).
"""
