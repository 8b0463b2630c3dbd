"""Functions of solver modules that are the same in all of them, and whose code is shipped.

Means by quadrature call the activations by number, ask where their kinks are, and know nothing else
of them. LLVM would compile them anew for every module, twice for a first run. Here they are
compiled once, with the functions of :data:`OPEN` left undefined, which each module defines when it
is linked. Instructions are those of processors of level 3; others are made of bitcode, as in
:mod:`symderiv.compiled_code.shipped_code`.

A module uses them only if its functions are the same, down to every constant: their symbols contain
a digest of the text. ``python -m symderiv.lowering.means.ship_means`` writes the file.
"""

from __future__ import annotations

import ast
import hashlib
import json
import lzma
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from symderiv.compiled_code.part_code import FILE, PART, made_by, parts
from symderiv.compiled_code.target import level_three, optimised
from symderiv.compiled_code.translation.ir_module import (
    RUNTIME,
    Callee,
    IrModule,
    result_type,
)
from symderiv.compiled_code.translation.ir_values import Kind, UntranslatableError, leaves
from symderiv.compiled_code.translation.module_source import FunctionSource

_ARRAY = ("array", "f", 1, True)

OPEN: Mapping[str, tuple[tuple[Kind, ...], Kind | None]] = MappingProxyType(
    {
        "quadrature_factor": (("i", "f"), "f"),
        "quadrature_factors": (("i", _ARRAY, _ARRAY), None),
        "quadrature_kinks": (("i",), _ARRAY),
        "quadrature_values_and_slopes": (("i", _ARRAY, ("array", "f", 2, True)), None),
    }
)
"""The functions that differ between modules, with kinds of their arguments and results: the
activations by number, at one number and at many, and the places of their kinks."""


@dataclass(frozen=True)
class _Part:
    """A shipped function: symbol, kinds of arguments as text, and kind of the result."""

    symbol: str
    kinds: str
    returns: Kind | None


class PartsModule(IrModule):
    """A module that calls shipped functions if its own ones are the same."""

    def comes(self, source: FunctionSource, kinds: tuple[Kind, ...]) -> bool:
        part = _parts().get((source.node.name, repr(kinds)))
        return part is not None and part.symbol == _symbol(source, kinds)

    def callee(self, source: FunctionSource, kinds: tuple[Kind, ...]) -> Callee:
        if not self.comes(source, kinds):
            return super().callee(source, kinds)
        part = _parts()[source.node.name, repr(kinds)]
        for name in OPEN:
            self._fill(name, source)
        self.once(_declared(part.symbol, kinds, part.returns))
        return Callee(part.symbol, part.returns)

    def _fill(self, name: str, source: FunctionSource) -> None:
        """Define one of the open functions for a shipped function.

        It calls the module's function of this name; if the shipped function uses none, it is never
        called.
        """
        kinds, returns = OPEN[name]
        result, end = result_type(returns), "  unreachable"
        words = ", ".join(f"{word} %{number}" for number, word in enumerate(_words(kinds)))
        try:
            named = source.named_within(name)
        except UntranslatableError:
            if name in self._declared:
                return
        else:
            own = super().callee(named, kinds)
            if own.returns != returns:
                raise UntranslatableError(f"{name} gives {own.returns}")
            end = f"  call void @{own.name}({words})\n  ret void"
            if returns is not None:
                end = f"  %made = call {result} @{own.name}({words})\n  ret {result} %made"
        self._declared[name] = f"define {result} @{name}({words}) {{\n{end}\n}}"


class _OpenModule(IrModule):
    """A module in which the functions of :data:`OPEN` are only declared."""

    def callee(self, source: FunctionSource, kinds: tuple[Kind, ...]) -> Callee:
        name = source.node.name
        if name not in OPEN:
            return super().callee(source, kinds)
        if kinds != OPEN[name][0]:
            raise UntranslatableError(f"{name} of {kinds}")
        self.once(_declared(name, *OPEN[name]))
        return Callee(name, OPEN[name][1])


def _words(kinds: Sequence[Kind]) -> list[str]:
    """Return the types of the machine arguments of a function with these kinds of arguments."""
    return ["ptr", *(word for kind in kinds for word in leaves(kind))]


def _declared(name: str, kinds: Sequence[Kind], returns: Kind | None) -> str:
    return f"declare {result_type(returns)} @{name}({', '.join(_words(kinds))})"


def ship_parts(
    functions: Sequence[tuple[FunctionSource, tuple[Kind, ...]]], translate: Any, path: Path = FILE
) -> None:
    """Write the file of code of these functions.

    Args:
        functions: Functions of modules' texts, as
            :func:`~symderiv.compiled_code.translation.module_source.module_names` gives them, and
            the kinds of their arguments.
        translate: Writes a function, as :class:`IrModule` takes it.
        path: The file that is written.
    """
    from llvmlite import binding

    from symderiv.compiled_code.elf_symbols import imports_of

    module, made_parts = _OpenModule(translate), []
    text_of: dict[str, str] = {}
    for source, kinds in functions:
        made = module.callee(source, kinds)
        text_of[made.name] = symbol = _symbol(source, kinds)
        made_parts.append({"name": source.node.name, "symbol": symbol, "kinds": repr(kinds)})
        made_parts[-1]["returns"] = json.dumps(made.returns)
    text = module.text()
    for name, symbol in text_of.items():
        text = re.sub(rf"define internal (\S+|{{.*?}}) @{name}\(", rf"define \1 @{symbol}(", text)
        text = text.replace(f"@{name}(", f"@{symbol}(")
    llvm = binding.parse_assembly(text)
    target = level_three()
    llvm.data_layout, llvm.triple = str(target.target_data), binding.get_process_triple()
    builder = binding.create_pass_builder(target, optimised())
    builder.getModulePassManager().run(llvm, builder)
    bitcode, instructions = llvm.as_bitcode(), target.emit_object(llvm)
    imports = [name for name in imports_of(instructions, OPEN) or () if name not in OPEN]
    code = lzma.compress(instructions)
    head = {**made_by(), "parts": made_parts, "imports": imports, "object": len(code)}
    path.write_bytes(json.dumps(head).encode() + b"\n" + code + lzma.compress(bitcode))


@cache
def _parts() -> dict[tuple[str, str], _Part]:
    """Return the shipped functions by their names and kinds of arguments."""
    return {
        (each["name"], each["kinds"]): _Part(
            each["symbol"], each["kinds"], json.loads(each["returns"])
        )
        for each in parts()
    }


def _symbol(source: FunctionSource, kinds: tuple[Kind, ...]) -> str:
    """Return the symbol under which a function is shipped.

    It has a digest of its text, its kinds of arguments, and the memory management that callers
    share.
    """
    digest = hashlib.sha256((RUNTIME + repr(kinds)).encode())
    for said in _meaning(source, set()):
        digest.update(said.encode())
    return f"{PART}{source.node.name}_{digest.hexdigest()[:16]}"


@lru_cache(maxsize=256)
def _unparsed(source: FunctionSource) -> str:
    return ast.unparse(source.node)


@lru_cache(maxsize=256)
def _named(source: FunctionSource) -> frozenset[str]:
    # without its own variables, even if builtins have the same name, as _ in a terminal
    names = [node for node in ast.walk(source.node) if isinstance(node, ast.Name)]
    return frozenset(node.id for node in names) - {
        node.id for node in names if isinstance(node.ctx, ast.Store)
    }


def _meaning(source: FunctionSource, seen: set[str]) -> Iterator[str]:
    """Yield all that the code of a function depends on, except for the open functions."""
    yield source.flags + _unparsed(source)
    for name in sorted(_named(source) - seen - set(OPEN)):
        try:
            value = source.named(name)
        except UntranslatableError:
            continue  # a variable of its own
        seen.add(name)
        if isinstance(value, FunctionSource):
            yield name
            yield from _meaning(value, seen)
        elif isinstance(value, np.ndarray):
            yield f"{name} {value.dtype} {value.shape} {value.tobytes().hex()}"
        elif isinstance(value, (int, float, tuple)):
            yield f"{name} {value!r}"
