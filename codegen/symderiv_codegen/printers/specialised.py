"""The flat right-hand side for sizes that are known when it is compiled.

A function ``specialised(K, M)`` of the generated module makes it: loops over units have fixed
lengths, so that the compiler unrolls them, and intermediate arrays lie on the stack. Everything it
computes stands in one function, because what is inlined late is compiled twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from symderiv_codegen.layout import INDENT, Bracket, Text, statement
from symderiv_codegen.loops import Node
from symderiv_codegen.printers.module import ModulePrinter, docstring
from symderiv_codegen.program import Array, Procedure, Program

STACK = '''
@intrinsic(prefer_literal=True)
def _stack(typing_context, count):
    """The address of memory on the stack for a number of floats known at compile time."""
    if not isinstance(count, types.IntegerLiteral):
        return None
    number = count.literal_value

    def allocate(context, builder, signature, arguments):
        address = cgutils.alloca_once(builder, context.get_data_type(types.float64), number)
        # a whole line of the cache, which is what the widest vector instructions want
        address.align = 64
        return address

    return types.CPointer(types.float64)(count), allocate
'''

IMPORTS = "from numba.core import cgutils, types\nfrom numba.extending import intrinsic\n"

# Half a megabyte, a sixteenth of the usual stack.
LARGEST_ROOM = 65536


def product(shape: Sequence[str]) -> str:
    """The number of elements of an array."""
    return " * ".join(shape)


def specialised(
    program: Program,
    procedure: Procedure,
    printer: ModulePrinter,
    nodes: Sequence[Node],
    local: Sequence[Array],
    views: Sequence[str],
    signature: str,
    packing: Sequence[str],
) -> str:
    """The text of ``specialised`` and of the flat function for sizes known only when it is called.

    Args:
        nodes: The body with all calls of procedures inlined.
        local: The arrays that it needs besides its arguments.
        views: Lines that unpack the vectors, without indentation.
        signature: The decorator of the flat function.
        packing: Paragraphs that say how the vectors are packed.
    """
    assert program.state is not None
    assert program.parameters is not None
    flat = f"flat_{procedure.name}"
    vectors = [program.state.name, "sizes", program.parameters.name, "derivative"]
    arguments = f"alpha, {', '.join(vectors)}"
    sizes = ", ".join(program.small)
    pad = " " * INDENT
    lines = [f"def specialised({sizes}):"]
    lines += docstring(
        [
            f"{flat} for one set of sizes, compiled for them, with the signature that time "
            "steppers expect.",
            *packing,
            "derivative is packed like the first vector. alpha is the time.",
        ]
    )
    lines.append(f"{pad}if ({sizes}) in _SPECIALISED:")
    lines.append(f"{pad * 2}return _SPECIALISED[{sizes}]")
    room = " + ".join(product(array.shape) for array in local) or "1"
    lines.append(statement("room = ", Text(room), INDENT))
    lines.append(f"{pad}on_stack = room if room <= {LARGEST_ROOM} else 1")
    lines.append("")
    lines += [pad + line for line in signature.split("\n")]
    lines.append(f"{pad}def {flat}({arguments}):")
    body: list[str] = []
    for position, size in enumerate(program.ranges):
        if size not in program.small:
            body.append(f"{size} = sizes[{position}]")
    body += views
    body += [f"if room <= {LARGEST_ROOM}:", f"{pad}work = carray(_stack(on_stack), (room,))"]
    body += ["else:", f"{pad}work = np.empty(room)"]
    body += _carved(local)
    lines += [pad * 2 + line for line in body]
    lines += printer.body(nodes, 2 * INDENT)
    lines += ["", f"{pad}_SPECIALISED[{sizes}] = {flat}", f"{pad}return {flat}"]
    positions = [f"int(sizes[{program.ranges.index(size)}])" for size in program.small]
    lines += ["", "", f"def {flat}({arguments}):"]
    lines += docstring(
        ["The function that ``specialised`` makes for these sizes; to be called from Python."]
    )
    call = Bracket("(", tuple(Text(name) for name in ("alpha", *vectors)))
    lines.append(statement(f"specialised({', '.join(positions)})", call, INDENT))
    return "\n".join(lines)


def _carved(arrays: Sequence[Array]) -> list[str]:
    """Arrays side by side in the work space."""
    lines = ["start = 0"]
    for array in arrays:
        extent = product(array.shape)
        if len(array.shape) == 1:
            lines.append(f"{array.name} = work[start : start + {extent}]")
        else:
            shape = ", ".join(array.shape)
            lines.append(f"{array.name} = view_{len(array.shape)}(work[start:].ctypes, {shape})")
        lines.append(f"start += {extent}")
    return lines[:-1] if arrays else []
