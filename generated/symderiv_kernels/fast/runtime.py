"""What the compiled right-hand sides beside this file share, and numba's language does not have.

Written by hand, and the only file that touches numba's internals: views of vectors, arrays on the
stack, a promise about the argument that is written to, and roots by vector instructions.

numba's files of compiled code do not notice when a function imported from another file changes.
Whoever compiles something with these functions and keeps it therefore makes ``DIGEST`` part of what
it is kept by: a variable of the enclosing function that the compiled one mentions is.
"""

import hashlib
from pathlib import Path

from numba import njit
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np import arrayobj

#: A number that changes with the text of this file.
DIGEST = int(hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:15], 16)

_NUMBER_BYTES = 8
# A whole line of the cache, which is what the widest vector instructions want.
_ALIGNMENT = 64
_LANES = 8


def _array_type(shape, number=types.float64):
    return types.Array(number, len(shape), "C")


def _array_at(context, builder, address, shape, sizes, number=types.float64):
    """An array that begins at an address, as compiled code has it."""
    bytes_of = number.size if isinstance(number, types.Record) else _NUMBER_BYTES
    item = context.get_constant(types.intp, bytes_of)
    array = arrayobj.make_array(_array_type(shape, number))(context, builder)
    parts = cgutils.unpack_tuple(builder, sizes)
    lengths = [context.cast(builder, n, t, types.intp) for n, t in zip(parts, shape, strict=True)]
    steps = [item]
    for length in lengths[:0:-1]:
        steps.insert(0, builder.mul(steps[0], length))
    arrayobj.populate_array(
        array, data=address, shape=lengths, strides=steps, itemsize=item, meminfo=None
    )
    return array._getvalue()


@intrinsic
def view(typing_context, vector, start, shape):
    """The numbers of an array from ``start`` on as an array of that shape, not copied.

    Nothing is checked, and the array that is given must outlive the other.
    """

    def lowered(context, builder, signature, arguments):
        vector, start, sizes = arguments
        numbers = arrayobj.make_array(signature.args[0])(context, builder, vector).data
        place = builder.gep(numbers, [start])
        return _array_at(context, builder, place, shape, sizes, signature.args[0].dtype)

    return _array_type(shape, vector.dtype)(vector, types.intp, shape), lowered


@intrinsic(prefer_literal=True)
def stack_array(typing_context, count, shape):
    """An array on the stack, of a number of floats known at compile time, not initialised.

    It lives until the function returns that asks for it.
    """
    if not isinstance(count, types.IntegerLiteral):
        return None
    number = count.literal_value

    def lowered(context, builder, signature, arguments):
        address = cgutils.alloca_once(builder, context.get_data_type(types.float64), number)
        address.align = _ALIGNMENT
        return _array_at(context, builder, address, signature.args[1], arguments[1])

    return _array_type(shape)(count, shape), lowered


@intrinsic
def derivative_apart(typing_context):
    """Tell the compiler that the argument ``derivative`` of the function overlaps with no other
    array, so that it may read others and write there many numbers at a time.
    """

    def lowered(context, builder, signature, arguments):
        for argument in builder.function.args:
            if argument.name.startswith("arg.derivative.") and argument.type == numbers:
                argument.add_attribute("noalias")
        return context.get_dummy_value()

    numbers = cgutils.ir.DoubleType().as_pointer()
    return types.void(), lowered


@intrinsic
def _eight_inverse_roots(typing_context, values, first):
    """Replace eight numbers of an array by their inverse square roots.

    Explicit instructions: a loop of so few turns is unrolled before the compiler looks for them.
    """

    def lowered(context, builder, signature, arguments):
        ir = cgutils.ir
        eight = ir.VectorType(ir.DoubleType(), _LANES)
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.bitcast(builder.gep(array.data, [arguments[1]]), eight.as_pointer())
        kind = ir.FunctionType(eight, [eight])
        root = cgutils.get_or_insert_function(builder.module, kind, "llvm.sqrt.v8f64")
        roots = builder.call(root, [builder.load(place, align=_NUMBER_BYTES)])
        inverse = builder.fdiv(ir.Constant(eight, [1.0] * _LANES), roots)
        builder.store(inverse, place, align=_NUMBER_BYTES)
        return context.get_dummy_value()

    return types.none(values, types.intp), lowered


@njit(cache=True, error_model="numpy", fastmath={"contract"}, no_cfunc_wrapper=True)
def to_inverse_roots(values, count):
    """Replace the first numbers of an array, in eights, by their inverse square roots.

    The array must have room for a multiple of 8 numbers; 0 gives infinity, a negative number NaN.
    """
    for first in range(0, count, _LANES):
        _eight_inverse_roots(values, first)
