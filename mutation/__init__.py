"""Mutation testing of the engine: small changes of the source that the tests should notice.

``python -m mutation`` (``make mutants``) changes one place of a room at a time, runs the tests that
reach it and says which changes nothing noticed. Results are lines of a JSON file; a run that was
stopped goes on where it ended.

Kept libraries were looked at first. mutmut 3 (BSD-3) dispatches inside each function and therefore
leaves decorated functions alone, which here are the compiled ones, properties and cached ones; it
knows no random sample. cosmic-ray (MIT) and mutatest (MIT, made for Python 3.8, not kept up) start
a whole test command for each change, several seconds of imports for SymPy, numba and SciPy each
time, and know nothing of what compiled code keeps on disk, so a change of a compiled function would
go unnoticed because the old machine code is loaded. ``coverage`` (Apache-2.0) measures which lines
a test reaches; the rest is small enough to be here.

* :mod:`mutation.operators`: the changes, and what is left out.
* :mod:`mutation.rooms`: files and tests of each room.
* :mod:`mutation.snapshot`: the copy of the project that is changed.
* :mod:`mutation.needs`: which modules a change of a file can touch.
* :mod:`mutation.reach`: which tests reach a place.
* :mod:`mutation.together`: the same for files whose tests share what takes seconds to derive.
* :mod:`mutation.trial`: one change under test, in a forked process.
* :mod:`mutation.record`: kept results, proved equivalents and the table.
"""
