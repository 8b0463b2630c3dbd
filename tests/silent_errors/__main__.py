"""``make silent-errors``: runs the gate and prints the number of silent errors."""

import sys
import time

from silent_errors.gate import run
from silent_errors.table import CASES


def main() -> None:
    """Words after the command select cases that contain one of them."""
    chosen = [
        case
        for case in CASES
        if not sys.argv[1:] or any(word in case.name for word in sys.argv[1:])
    ]
    started = time.process_time()
    silent = failed = known = 0
    for case in chosen:
        at = time.process_time()
        outcome = run(case)
        spent = time.process_time() - at
        wrong = outcome.silent or outcome.failure
        if wrong:
            kind = "silent" if outcome.silent else "failure"
            print(
                f"{kind}: {case.name}: {wrong}" + (f" (known: {case.known})" if case.known else "")
            )
        if spent > 2:
            print(f"slow: {case.name}: {spent:.1f} CPU s", file=sys.stderr)
        known += bool(wrong and case.known)
        silent += bool(outcome.silent)
        failed += bool(outcome.failure)
    print(f"silent errors: {silent} of {len(chosen)}")
    print(
        f"other failures: {failed}; known among both: {known}; "
        f"{time.process_time() - started:.0f} CPU s"
    )
    sys.exit(bool(silent or failed > known))


if __name__ == "__main__":
    main()
