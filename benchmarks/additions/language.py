"""A language of exports: C++, whose printer is that of C with other linkage."""

from benchmarks.additions.addition import Addition, Edit

LANGUAGE = Addition(
    row="language of exports",
    what="C++",
    goal=3,
    edits=(
        Edit(
            "symderiv/foundation/languages.py",
            '    "julia": ExportLanguage(',
            '    "c++": ExportLanguage("cpp", ("// ", ""), "cpp.print_cpp"),\n'
            '    "julia": ExportLanguage(',
        ),
    ),
    made={
        "codegen/symderiv_codegen/printers/languages/cpp.py": '''"""Programs as C++."""

from __future__ import annotations

from symderiv_codegen.ir.program import Program
from symderiv_codegen.printers.languages.c import CModule
from symderiv_codegen.printers.formulas import Example


class CppModule(CModule):
    """One C++ file of a program, whose functions C may call."""

    def module(self, example: Example | None = None) -> str:
        head, separator, body = super().module(example).partition("#include <stddef.h>\\n")
        functions, main, rest = body.partition("\\n#ifdef EXAMPLE\\n")
        return f'{head}{separator}\\nextern "C" {{\\n{functions}\\n}}\\n{main}{rest}'


def print_cpp(program: Program, example: Example | None = None) -> str:
    """The program as the text of a C++ file; see :func:`symderiv_codegen.print_c`."""
    return CppModule(program).module(example)
'''
    },
    check=r"""
import shutil, subprocess, sys, tempfile
from pathlib import Path
import symderiv as sd
from symderiv.foundation.seals import is_sealed

problem = sd.Problem("erf", students=2, teachers=1, learning_rate=0.5)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "dynamics.cpp")
    problem.export("c++", path)
    assert is_sealed(path.read_bytes())
    if shutil.which("g++"):
        command = ["g++", "-DEXAMPLE", str(path), "-o", str(path.with_suffix(""))]
        subprocess.run(command, check=True)
        printed = subprocess.run([path.with_suffix("")], capture_output=True, text=True).stdout
        assert printed.split()[0] == "0.0000"
assert 'extern "C"' in problem.system.export("c++")
listed = subprocess.run(
    [sys.executable, "-m", "symderiv", "export", "--help"], capture_output=True, text=True
).stdout
assert "c++" in listed
""",
    asking=("tests/unit/codegen/test_exports.py", "tests/unit/test_import_directions.py"),
)
