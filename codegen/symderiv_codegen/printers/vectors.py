"""Explicit vector instructions, where a loop has so few turns that it is unrolled before the
compiler looks for them.
"""

from __future__ import annotations

INVERSE_ROOTS = '''
@intrinsic
def _eight_inverse_roots(typing_context, values, first):
    """Replace eight numbers of an array by their inverse square roots."""

    def evaluate(context, builder, signature, arguments):
        ir = cgutils.ir
        eight = ir.VectorType(ir.DoubleType(), 8)
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.bitcast(builder.gep(array.data, [arguments[1]]), eight.as_pointer())
        kind = ir.FunctionType(eight, [eight])
        root = cgutils.get_or_insert_function(builder.module, kind, "llvm.sqrt.v8f64")
        roots = builder.call(root, [builder.load(place, align=8)])
        inverse = builder.fdiv(ir.Constant(eight, [1.0] * 8), roots)
        builder.store(inverse, place, align=8)
        return context.get_dummy_value()

    return types.none(values, types.intp), evaluate


{decorator}
def _inverse_roots(values, count):
    """Replace the first numbers of an array, in eights, by their inverse square roots."""
    for first in range(0, count, 8):
        _eight_inverse_roots(values, first)
'''
