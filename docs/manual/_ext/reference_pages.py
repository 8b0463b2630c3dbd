"""The reference: a page per public name and per command, and the keys of the study file.

They are written into ``reference/generated/`` (untracked) before the build: what a docstring, the
command line or the checked tables say, and an example from ``reference/_examples/`` that runs
(``make manual-examples``). A name or command without an example is an error.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from error_pages import error_page, kinds
from public_names import commands, members, names
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from study_reference import rule_keys, study_tables

import symderiv as sd

_EXAMPLES = Path(__file__).parents[1] / "reference" / "_examples"


def write_pages(app: Sphinx, _config: object) -> None:
    folder = Path(app.srcdir) / "reference" / "generated"
    folder.mkdir(exist_ok=True)
    pages = {f"python-{name}.md": _name_page(name) for name in names()}
    pages |= {f"command-{name}.md": _command_page(name, c) for name, c in commands().items()}
    pages |= {f"error-{name}.md": error_page(name) for name in kinds()}
    pages["study-keys.md"] = study_tables()
    # parts of pages, which those include
    pages["rule-keys.txt"] = rule_keys()
    pages["command-list.txt"] = _list(
        {f"symderiv {name}": f"command-{name}" for name in commands()},
        [command.help or "" for command in commands().values()],
    )
    pages["python-list.txt"] = _list(
        {f"sd.{name}": f"python-{name}" for name in names()},
        [inspect.getdoc(getattr(sd, name)) or "" for name in names()],
    )
    pages["error-list.txt"] = _list(
        {name: f"error-{name}" for name in kinds()},
        [inspect.getdoc(found) or "" for found in kinds().values()],
    )
    for file, text in pages.items():
        page = folder / file
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
    for page in folder.iterdir():
        if page.name not in pages:
            page.unlink()


def _list(pages: dict[str, str], texts: list[str]) -> str:
    """Write a table of names with their links and the first sentence about each."""
    rows = [
        f"| [`{name}`](generated/{page}.md) | {_sentence(text)} |"
        for (name, page), text in zip(pages.items(), texts, strict=True)
    ]
    return "\n".join(["| name | what it does |", "|---|---|", *rows]) + "\n"


def _sentence(text: str) -> str:
    words = re.sub(r":math:`([^`]*)`", r"$\1$", inspect.cleandoc(text))
    words = re.sub(r"\[/?[a-z ]+\]|:\w+:", "", words)
    first = " ".join(words.split("\n\n")[0].split())
    first = re.split(r"(?<=[^.]\.) (?=[A-Z])", first)[0].replace("``", "`")
    return re.sub(r"\|", r"\|", first)


def _example(file: str) -> str:
    path = _EXAMPLES / file
    if not path.is_file():
        raise ExtensionError(f"reference/_examples/{file}: there is no example that runs")
    return f"## Example\n\n{path.read_text(encoding='utf-8')}"


def _name_page(name: str) -> str:
    found = getattr(sd, name)
    if inspect.isclass(found):
        listed = ", ".join(members(found))
        directive = f".. autoclass:: symderiv.{name}\n"
        directive += f"   :members: {listed}\n   :inherited-members: BaseModel\n" if listed else ""
    else:
        directive = f".. autofunction:: symderiv.{name}\n"
    return f"# {name}\n\n```{{eval-rst}}\n{directive}```\n\n{_example(f'{name}.md')}"


def _command_page(name: str, command: Any) -> str:
    words = re.sub(r"\[/?[a-z ]+\]", "", inspect.cleandoc(command.help or ""))
    words, _, manual = words.partition("Manual:")
    text, _, call = words.partition("Example:")
    lines = [f"# symderiv {name}", "", *_prose(text)]
    if call.strip():
        lines += ["```text", f"$ {' '.join(call.split())}", "```", ""]
    if manual.strip():
        lines += [f"More: [the page of the manual](../../{manual.strip()}.md).", ""]
    rows = [_option(option) for option in command.params if not getattr(option, "hidden", False)]
    lines += ["| argument or option | meaning |", "|---|---|", *rows, ""]
    return "\n".join(lines) + "\n" + _example(f"command-{name}.md")


def _prose(text: str) -> list[str]:
    """Paragraphs as they are, so that nothing in them is taken for markup."""
    escaped = re.sub(r"([*_<>|\[\]$])", r"\\\1", text)
    return [escaped.strip(), ""]


def _option(option: Any) -> str:
    names = ", ".join(f"`{word}`" for word in (*option.opts, *option.secondary_opts))
    if option.param_type_name == "argument":
        names = f"`{option.metavar or option.name.upper()}`"
    words = " ".join((getattr(option, "help", None) or "").split())
    default = option.default
    shown = isinstance(default, (int, float, str)) and not isinstance(default, bool)
    told = f" Default: `{default}`." if shown and str(default) else ""
    needed = " Required." if option.required else ""
    return f"| {names} | {_prose(words)[0]}{needed}{told} |"


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
