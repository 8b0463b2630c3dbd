"""Change the engine in many places, one at a time, and say which changes no test notices.

python -m mutation run --room data      try a sample of a room: its own tests first, then survivors
                                        also with tests/values and tests/golden; goes on where it
                                        was stopped
python -m mutation again --room data    try its survivors again, with new tests, and changes that
                                        only a test that is gone noticed
python -m mutation summary              the table by room
python -m mutation survivors            what nothing noticed
python -m mutation moved                results follow code to other files, and go where it is gone
"""

from __future__ import annotations

import argparse
import hashlib
from collections import Counter
from pathlib import Path
from typing import Final

from mutation.moved import follow
from mutation.operators import Mutant, is_change, mutants
from mutation.process import cpu_seconds, warm_up
from mutation.reach import Reach, measure
from mutation.record import Record, noticed_by_none_left, survivors_text, table, unnoticed
from mutation.rooms import COMMON, ROOMS, Room
from mutation.snapshot import Snapshot, sources_digest
from mutation.trial import Outcome, try_all

_PROJECT: Final = Path(__file__).resolve().parent.parent
_WHAT: Final = ("run", "again", "summary", "survivors", "moved")


def main() -> None:
    """See above."""
    words = _words()
    folder = Path(words.folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    # absolute: trials have another working directory
    record = Record(Path(words.results).resolve())
    if words.what == "survivors":
        print(survivors_text(record, words.room))
        return
    if words.what == "moved":
        _moved(record)
    elif words.what != "summary":
        warm_up()
        snapshot = Snapshot(folder / (words.snapshot or sources_digest(_PROJECT)))
        snapshot.make(_PROJECT)
        snapshot.refresh_tests(_PROJECT)
        for room in [ROOMS[words.room]] if words.room else ROOMS.values():
            if words.what == "run":
                _run(snapshot, room, _reach(snapshot, room, room.tests, words), record, words)
            if words.what == "again" or not words.near:
                tests = room.tests if words.near else (*room.tests, *COMMON)
                reach = _reach(snapshot, room, tests, words)
                _again(snapshot, room, reach, record, words)
    print(table(record))


def _words() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m mutation", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("what", choices=_WHAT)
    parser.add_argument("--room", default="", choices=("", *ROOMS), help="default: all")
    parser.add_argument("--sample", type=int, default=120, help="changes for each room")
    parser.add_argument("--seed", default="1", help="of the sample; larger ones contain smaller")
    parser.add_argument("--seconds", type=float, default=20, help="of tests for each change")
    parser.add_argument("--folder", default="build/mutants", help="for copies and compiled code")
    parser.add_argument("--results", default="build/mutants/results.jsonl")
    parser.add_argument("--snapshot", default="", help="an older copy to go on with")
    parser.add_argument("--near", action="store_true", help="the room's own tests only")
    parser.add_argument("--minutes", type=float, default=1e9, help="of CPU time, then stop")
    parser.add_argument("--within", default="", help="words in names of files, by commas: of these")
    parser.add_argument("--only", default="", help="identities of mutants, separated by commas")
    return parser.parse_args()


def _moved(record: Record) -> None:
    rooms = {file: room.name for room in ROOMS.values() for file in room.files(_PROJECT)}
    moved, lost = follow(record.path, rooms, lambda file: (_PROJECT / file).read_text("utf-8"))
    print(f"{moved} results moved with their code, {len(lost)} left out whose place is gone:")
    for file, count in sorted(Counter(lost).items()):
        print(f"    {count:4} {file}")


def _reach(
    snapshot: Snapshot, room: Room, tests: tuple[str, ...], words: argparse.Namespace
) -> Reach:
    def spent() -> bool:
        return cpu_seconds() > 60 * words.minutes

    kept = snapshot.folder / "reach.jsonl"
    found = measure(snapshot, tests, kept, spent, without=room.unasked, together=room.together)
    reach = Reach(snapshot, found)
    for test in reach.unasked:
        print(f"not asked: {test}", flush=True)
    return reach


def _sample(snapshot: Snapshot, room: Room, size: int, seed: str) -> list[Mutant]:
    """Mutants of a room in an order that only the seed and each mutant's identity decide."""

    def rank(mutant: Mutant) -> str:
        return hashlib.sha256(f"{seed}/{mutant.identity}".encode()).hexdigest()

    every = [m for f in room.files(snapshot.top) for m in mutants(f, snapshot.read(f))]
    chosen: list[Mutant] = []
    for mutant in sorted(every, key=rank):
        if len(chosen) == size:
            break
        if is_change(snapshot.read(mutant.file), mutant):
            chosen.append(mutant)
    print(f"{room.name}: {len(chosen)} of {len(every)} changes, seed {seed}", flush=True)
    return chosen


def _run(
    snapshot: Snapshot, room: Room, reach: Reach, record: Record, words: argparse.Namespace
) -> None:
    if words.only:
        left = _named(snapshot, room, set(words.only.split(",")))
    else:
        known = record.read()
        chosen = _sample(snapshot, room, words.sample, words.seed)
        left = [m for m in chosen if m.identity not in known and _within(m, words)]
    _try(snapshot, room, sorted(left, key=lambda m: m.file), reach, record, words)


def _named(snapshot: Snapshot, room: Room, identities: set[str]) -> list[Mutant]:
    every = [m for f in room.files(snapshot.top) for m in mutants(f, snapshot.read(f))]
    return [m for m in every if m.identity in identities]


def _within(mutant: Mutant, words: argparse.Namespace) -> bool:
    return any(word in mutant.file for word in words.within.split(","))


def _again(
    snapshot: Snapshot, room: Room, reach: Reach, record: Record, words: argparse.Namespace
) -> None:
    open_ones = [*unnoticed(record, room.name), *noticed_by_none_left(record, room.name, _PROJECT)]
    wanted = {e["id"] for e in open_ones}
    if words.only:
        wanted &= set(words.only.split(","))
    left = [m for m in _named(snapshot, room, wanted) if _within(m, words)]
    _try(snapshot, room, left, reach, record, words)


def _try(
    snapshot: Snapshot,
    room: Room,
    chosen: list[Mutant],
    reach: Reach,
    record: Record,
    words: argparse.Namespace,
) -> None:
    def tell(mutant: Mutant, outcome: Outcome) -> None:
        record.add(room.name, words.seed, mutant, outcome)

    allowed = 60 * words.minutes + record.seconds() - cpu_seconds()

    def spent() -> bool:
        return record.seconds() > allowed

    try_all(snapshot, room, chosen, reach, words.seconds, tell, until=spent)


if __name__ == "__main__":
    main()
