"""What one test has derived is there for all others of the session, also of another worker.

Derivations are kept in a folder that the workers share and that is gone with the session, so that
nothing is read from, or left in, the user's cache of derivations.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from symderiv.foundation import derivation_cache

FOLDER = "SYMDERIV_TEST_DERIVATIONS"

#: Where the engine itself keeps a derivation.
USERS_PLACE = derivation_cache._place


def _place(*what: Any) -> Path:
    return Path(os.environ[FOLDER], USERS_PLACE(*what).name)


def share() -> None:
    """Keep this process's derivations in the folder of the session."""
    if FOLDER not in os.environ:
        # workers are started with its name
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="symderiv-derivations-")
        atexit.register(shutil.rmtree, os.environ[FOLDER], ignore_errors=True)
    derivation_cache._place = _place
