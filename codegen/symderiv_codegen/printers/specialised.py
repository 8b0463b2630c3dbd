"""The flat right-hand side for sizes that are known when it is compiled.

A function ``specialised(K, M)`` of the generated module makes it: loops over units have fixed
lengths, so that the compiler unrolls them, and intermediate arrays lie on the stack. Everything it
computes stands in one function, because what is inlined late is compiled twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from symderiv_codegen.blocks import MOST_PRODUCTS, MOST_UNITS
from symderiv_codegen.layout import INDENT, Bracket, Chain, Text, statement
from symderiv_codegen.loops import Groups, Node, inner, reads
from symderiv_codegen.lower import Body
from symderiv_codegen.printers.module import ModulePrinter, docstring
from symderiv_codegen.program import Array, Procedure, Program

VIEW = '''
def _array_at(context, builder, address, shape, sizes):
    """An array of floats that begins at an address, as compiled code has it."""
    array = arrayobj.make_array(_array_of(shape))(context, builder)
    parts = cgutils.unpack_tuple(builder, sizes)
    lengths = [context.cast(builder, n, t, types.intp) for n, t in zip(parts, shape, strict=True)]
    steps = [context.get_constant(types.intp, 8)]
    for length in lengths[:0:-1]:
        steps.insert(0, builder.mul(steps[0], length))
    arrayobj.populate_array(
        array, data=address, shape=lengths, strides=steps, itemsize=steps[-1], meminfo=None
    )
    return array._getvalue()


def _array_of(shape):
    return types.Array(types.float64, len(shape), "C")


@intrinsic
def _view(typing_context, vector, start, shape):
    """The numbers of a vector from ``start`` on as an array of that shape, not copied."""

    def view(context, builder, signature, arguments):
        vector, start, sizes = arguments
        numbers = arrayobj.make_array(signature.args[0])(context, builder, vector).data
        return _array_at(context, builder, builder.gep(numbers, [start]), shape, sizes)

    return _array_of(shape)(vector, types.intp, shape), view
'''

STACK = '''
@intrinsic(prefer_literal=True)
def _room(typing_context, count, shape):
    """An array on the stack, of a number of floats known at compile time."""
    if not isinstance(count, types.IntegerLiteral):
        return None
    number = count.literal_value

    def allocate(context, builder, signature, arguments):
        address = cgutils.alloca_once(builder, context.get_data_type(types.float64), number)
        # a whole line of the cache, which is what the widest vector instructions want
        address.align = 64
        return _array_at(context, builder, address, signature.args[1], arguments[1])

    return _array_of(shape)(count, shape), allocate


@intrinsic
def _derivative_apart(typing_context):
    """Tell the compiler that the argument ``derivative`` of the function overlaps with no other
    array, so that it may read others and write there many numbers at a time.
    """

    def mark(context, builder, signature, arguments):
        for argument in builder.function.args:
            if argument.name.startswith("arg.derivative.") and argument.type == numbers:
                argument.add_attribute("noalias")
        return context.get_dummy_value()

    numbers = cgutils.ir.DoubleType().as_pointer()
    return types.void(), mark
'''

IMPORTS = (
    "from numba.core import cgutils, types\n"
    "from numba.extending import intrinsic\n"
    "from numba.np import arrayobj\n"
)

APART = "_derivative_apart()"

# Two megabytes, a quarter of the usual stack.
LARGEST_ROOM = 262144


def product(shape: Sequence[str]) -> str:
    """The number of elements of an array."""
    return " * ".join(shape)


def specialised(
    program: Program,
    procedure: Procedure,
    printer: ModulePrinter,
    body: Body,
    views: Sequence[str],
    signature: str,
    packing: Sequence[str],
) -> str:
    """The text of ``specialised`` and of the flat function for sizes known only when it is called.

    Args:
        body: With all calls of procedures inlined.
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
            "derivative is packed like the first vector and must not overlap with any other. alpha "
            "is the time.",
        ]
    )
    lines.append(f"{pad}if ({sizes}) in _SPECIALISED:")
    lines.append(f"{pad * 2}return _SPECIALISED[{sizes}]")
    nodes = body.nodes
    lines += [pad + line for line in _parts(nodes, program.small)]
    rooms = {body.names.take(f"room_{array.name}"): array for array in body.arrays}
    lines += [pad + f"{room} = {product(array.shape)}" for room, array in rooms.items()]
    total = Chain(tuple((" + " if n else "", Text(room)) for n, room in enumerate(rooms)))
    lines.append(statement("room = ", total, INDENT))
    lines.append(f"{pad}if room > {LARGEST_ROOM}:")
    lines.append(
        f'{pad * 2}raise ValueError("the arrays of so many units do not fit on the stack")'
    )
    lines.append("")
    lines += [pad + line for line in signature.split("\n")]
    lines.append(f"{pad}def {flat}({arguments}):")
    text: list[str] = []
    used = set().union(*(reads(node) for node in nodes))
    for position, size in enumerate(program.ranges):
        if size not in program.small:
            text.append(f"{size} = sizes[{position}]")
        elif f"number_{size}" in used:
            text.append(f"number_{size} = min({size}, sizes[{position}])")
    text += views
    text += _carved(rooms)
    lines += [pad * 2 + line for line in text]
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


def _carved(rooms: Mapping[str, Array]) -> list[str]:
    """Arrays on the stack: one piece of memory each, so that they are known not to overlap."""
    lines = []
    for room, array in rooms.items():
        shape = ", ".join(array.shape) if len(array.shape) > 1 else f"{room},"
        lines.append(f"{array.name} = _room({room}, ({shape}))")
    return lines


def _parts(nodes: Sequence[Node], small: Sequence[str]) -> list[str]:
    """In how many parts sums are made, how many rows a group has, and how many groups there are."""
    found = (part for node in nodes for part in inner(node) if isinstance(part, Groups))
    rows = dict.fromkeys(node.size for node in found)
    if not rows:
        return []
    lines = [f"parts = -(-({' + '.join(small)}) // {MOST_UNITS})"]
    for size in small:
        lines.append(f"width_{size} = -(-{size} // parts)")
        lines.append(f"padded_{size} = parts * width_{size}")
    widths = " + ".join(f"width_{size}" for size in small)
    lines.append(f"most = max(1, {MOST_PRODUCTS} // ({widths}))")
    for size in rows:
        lines.append(f"groups_{size} = -(-{size} // most)")
        lines.append(f"rows_{size} = -(-{size} // groups_{size})")
    return lines
