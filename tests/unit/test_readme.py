"""What the README and the manual say is so; a part of their examples is run, another every day."""

import ast
import builtins
import json
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from manual_pages.pages import MANUAL, TOP, Page, blocks_of, pages
from manual_pages.running import run_page, sessions
from pydantic import TypeAdapter
from support.commands import symderiv as run

import symderiv
from symderiv.problem.input_models import Data
from symderiv.problem.study import parse_study

README = (TOP / "README.md").read_text(encoding="utf-8")
PAGES = pages()
LONGEST = 150
# Of those that compile and simulate nothing, one a day; `make manual-examples` runs all pages.
QUICK = (
    *("how-to/check-a-formula.md", "how-to/completion.md", "how-to/files.md"),
    *("how-to/gaussian-means.md", "how-to/initial-state.md", "how-to/limits.md"),
    *("how-to/paper-to-check.md", "how-to/trouble.md"),
)


@pytest.mark.days(len(QUICK))
@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name in QUICK], ids=lambda page: page.name
)
def test_a_quick_page_prints_what_it_shows(
    page: Page, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    faults = {block.line: found for block, _, found in run_page(page, tmp_path) if found}
    assert not faults


def test_the_quick_pages_are_there() -> None:
    assert set(QUICK) <= {page.name for page in PAGES}


def _faults(text: str, folder: Path) -> list[str]:
    """What is wrong with a page of this text, one string for each block."""
    page = Page(folder / "page.md", blocks_of(text))
    return ["; ".join(found) for _, _, found in run_page(page, folder)]


def test_what_a_page_does_not_print_as_it_says_is_told(tmp_path: Path) -> None:
    text = (
        "```text\nnot run\n```\n```toml\n# a.toml\nx = 1\n```\n"
        "```python\nprint(1 + 1)  # 2\nprint(2)  # 3\n```\n"
        "```pycon\n>>> 1 + 1\n3\n```\n"
        "```console\n$ symderiv --version\nsymderiv 99\nsymder...\n```\n"
        "```console\n$ python -c 'print(open(\"a.toml\").read())'\nx = 1\n```\n"
    )
    faults = _faults(text, tmp_path)
    assert faults[:3] == ["", "", "not printed: 3"]
    assert "Expected:\n    3\nGot:\n    2" in faults[3]
    assert faults[4:] == ["symderiv --version: not printed: symderiv 99", ""]
    assert tomllib.loads((tmp_path / "a.toml").read_text()) == {"x": 1}


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ("```python\n1 / 0\n```", "ZeroDivisionError"),
        ("```{code-cell}\n:tags: [hide-input]\n1 / 0\n```", "ZeroDivisionError"),
        ("```python\nraise SystemExit(1)\n```", "SystemExit"),
        ("```python\nimport warnings\nwarnings.warn('odd')\n```", "UserWarning: odd"),
        ("```pycon\n>>> 1 / 0\n```", "ZeroDivisionError"),
        ("```toml\nx = \n```", "TOMLDecodeError"),
        ("```console\n$ python -c 'import nothing'\n```", "ends with exit code 1"),
        ("```console\n$ symderiv solve no.toml\n```", "ends with exit code 2"),
        ("```console\n$ no-such-program\n```", "ends with exit code 127"),
        ("```console\n$ echo symderiv: error: no\nsymderiv: error: no\n```", "exit code 0"),
    ],
)
def test_an_error_of_any_kind_of_block_is_told(block: str, told: str, tmp_path: Path) -> None:
    (fault,) = _faults(f"{block}\n", tmp_path)
    assert told in fault


def test_what_commands_write_to_a_home_goes_to_an_empty_one(tmp_path: Path) -> None:
    assert _faults("```console\n$ mkdir -p ~/a; echo 1 > ~/a/b\n```\n", tmp_path) == [""]
    assert (tmp_path / ".home" / "a" / "b").is_file()


def test_the_front_page_is_short_and_links_to_what_is_there() -> None:
    assert len(README.splitlines()) <= LONGEST
    targets = [t for t in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in t]
    assert len(targets) > 20
    assert not [target for target in targets if not (TOP / target).is_file()]


def _called(console: str) -> list[str]:
    return [command.split()[1] for command, _ in sessions(console)]


def test_twelve_tasks_take_at_most_eight_lines_each() -> None:
    text = (MANUAL / "tasks.md").read_text(encoding="utf-8")
    tasks = re.split(r"^## \d+\. ", text, flags=re.M)[1:]
    assert len(tasks) == 12
    for task in tasks:
        blocks = [b for b in blocks_of(task) if b.language in ("{code-cell}", "console")]
        commands = [c for b in blocks for c, _ in sessions(b.text)]
        code = "".join(b.text for b in blocks if b.language == "{code-cell}").splitlines()
        assert 1 <= len(commands) + len([line for line in code if line.strip()]) <= 8, task
        assert _unknown("\n".join(code)) <= {"np", "sd"}, task


def _unknown(code: str) -> set[str]:
    """Find the names that a block takes from elsewhere: none, if it runs alone."""
    used = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)]
    read = {node.id for node in used if isinstance(node.ctx, ast.Load)}
    made = {node.id for node in used if isinstance(node.ctx, ast.Store)}
    tree = list(ast.walk(ast.parse(code)))
    made |= {a.name for node in tree if isinstance(node, ast.ImportFrom) for a in node.names}
    made |= {node.arg for node in tree if isinstance(node, ast.arg)}
    return read - made - set(dir(builtins))


def test_the_page_on_trouble_explains_twenty_messages() -> None:
    (page,) = (page for page in PAGES if page.name == "how-to/trouble.md")
    told = re.findall(
        r"^(?:symderiv: error|symderiv\.\S+Error): .*$",
        "\n".join(block.text for block in page.blocks if block.language in ("pycon", "console")),
        re.M,
    )
    assert len(set(told)) >= 20


def test_every_how_to_stands_in_one_group() -> None:
    index = (MANUAL / "how-to" / "index.md").read_text(encoding="utf-8")
    trees = re.findall(r"```\{toctree\}\n(.*?)```", index, re.S)
    listed = [line for tree in trees for line in tree.split() if re.fullmatch(r"[a-z-]+", line)]
    there = {path.stem for path in (MANUAL / "how-to").glob("*.md")} - {"index"}
    assert sorted(listed) == sorted(there)


def test_the_counts_of_claims_are_those_of_the_ledger() -> None:
    claims = json.loads((TOP / "docs" / "ledger.json").read_text(encoding="utf-8"))["claims"]
    verdicts = Counter(claim["verdict"] for claim in claims)
    decided = len(claims) - verdicts["definition"] - verdicts["not-checkable"]
    tried = [claim["mutants"] for claim in claims if claim["mutants"]]
    said = {
        f"{decided} claims of",
        f"{verdicts['definition']} definitions and {verdicts['not-checkable']} claims that cannot",
        f"Of {_spaced(sum(m['wanted'] for m in tried))} small wrong variants",
        f"{_spaced(sum(m['caught'] for m in tried))} are rejected",
    }
    words = " ".join(README.split())
    assert not {each for each in said if each not in words}
    table = (MANUAL / "papers.md").read_text(encoding="utf-8")
    for paper in {claim["paper"] for claim in claims}:
        of_paper = [c["mutants"] for c in claims if c["paper"] == paper and c["mutants"]]
        caught, wanted = (_spaced(sum(m[key] for m in of_paper)) for key in ("caught", "wanted"))
        assert f"| {caught} of {wanted} |" in table, paper


def _spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def test_every_command_has_help_with_an_example_its_page_and_json() -> None:
    sys.path.insert(0, str(MANUAL / "_ext"))
    try:
        import public_names
    finally:
        sys.path.pop(0)
    for name, command in public_names.commands().items():
        words = command.help or ""
        assert f"symderiv {name}" in re.split(r"Examples?:", words, maxsplit=1)[1], name
        page = re.search(r"Manual:\s*(\S+)", words)
        assert page, name
        assert (MANUAL / f"{page[1]}.md").is_file(), name
        options = {word for option in command.params for word in option.opts}
        assert ("--json" in options) == (name != "schema"), name


def test_every_public_name_member_and_command_has_an_example_that_runs() -> None:
    """Of what the reference has pages for; ``make manual-examples`` runs them all."""
    sys.path.insert(0, str(MANUAL / "_ext"))
    try:
        import public_names
    finally:
        sys.path.pop(0)
    shown = {page.path.stem: page for page in PAGES if page.name.startswith("reference/_examples")}

    def code(name: str, language: str) -> str:
        blocks = shown[name].blocks if name in shown else ()
        return "".join(block.text for block in blocks if block.language == language)

    missing = []
    for name in public_names.names():
        text = code(name, "python")
        missing += [name] if not re.search(rf"\bsd\.{name}\b", text) else []
        own = public_names.members(getattr(symderiv, name))
        missing += [f"{name}.{each}" for each in own if not re.search(rf"\.{each}\b", text)]
    commands = public_names.commands()
    missing += [c for c in commands if c not in _called(code(f"command-{c}", "console"))]
    assert len(commands) > 12
    assert not missing


def test_the_manuals_study_files_are_accepted() -> None:
    (page,) = (page for page in PAGES if page.name == "how-to/structured-inputs.md")
    (reference,) = blocks_of((MANUAL / "reference" / "study-file.md").read_text(encoding="utf-8"))
    assert parse_study(reference.text).network.students == 2
    # tables of data models, whose files do not exist
    tables = [block.text for block in page.blocks if block.language == "toml"]
    models = [TypeAdapter(Data).validate_python(tomllib.loads(t)["data"]).model for t in tables]
    expected = {"hidden-manifold", "generator", "gaussian-mixture", "nlgp", "single-pulse"}
    assert set(models) == expected


def test_every_command_that_the_manual_names_exists() -> None:
    consoles = [b.text for page in PAGES for b in page.blocks if b.language == "console"]
    told = [each for text in consoles for each in sessions(text)]
    words = [command.split() for command, lines in told if "No such command" not in str(lines)]
    named = {command[1] for command in words if command[0] == "symderiv"} - {"--version"}
    named |= set(re.findall(r"`symderiv ([a-z-]+)[ `]", README))
    assert {"expect", "solve", "plateau"} <= named
    result = run("--help")
    assert result.returncode == 0
    for name in named:
        assert name in result.stdout, name
