"""Eight numbers as one: what compiled code for several runs at a time works with.

Written by hand, and the only file beside ``fast/runtime.py`` that touches numba's internals. A lane
value holds one double for each of eight runs, in one or two vector registers: arithmetic,
comparisons and elementary functions of it are those of doubles, lane by lane and without branches,
so that the text of a module is the same as for one run. No operation mixes lanes: what a lane
computes does not depend on its neighbours, to the last bit. In memory lanes are neighbours: number i
of run l lies at ``vector[8 * i + l]`` of a vector of doubles.

numba's files of compiled code do not notice when a function imported from another file changes:
whoever keeps compiled code mentions ``DIGEST`` in it.
"""

import hashlib
import math
import operator
from pathlib import Path

from numba import njit
from numba.core import cgutils, types
from numba.core.datamodel import models, register_default
from numba.core.imputils import lower_builtin, lower_cast, lower_getattr
from numba.core.typeconv import Conversion
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer_getattr,
    infer_global,
    signature,
)
from numba.extending import intrinsic, overload

#: A number that changes with the text of this file.
DIGEST = int(hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:15], 16)

#: Runs at a time.
WIDTH = 8

_DOUBLE = cgutils.ir.DoubleType()
_EIGHT = cgutils.ir.VectorType(_DOUBLE, WIDTH)
_FLAGS = cgutils.ir.VectorType(cgutils.ir.IntType(1), WIDTH)
_INDEX = cgutils.ir.IntType(32)
_FLOAT_BYTES = 8
# A whole line of the cache, which is what the widest vector instructions want.
_ALIGNMENT = 64


class LanesType(types.Type):
    """A double for each lane."""

    def __init__(self):
        super().__init__(name="Lanes")

    def can_convert_from(self, typing_context, other):
        """A number is the same in all lanes."""
        return Conversion.safe if isinstance(other, types.Number) else None

    def unify(self, typing_context, other):
        """Sums begin with a plain zero."""
        return self if isinstance(other, types.Number) else None


class FlagsType(types.Type):
    """Whether something holds, for each lane."""

    def __init__(self):
        super().__init__(name="LaneFlags")

    def can_convert_from(self, typing_context, other):
        """What holds for a number holds in all lanes."""
        return Conversion.safe if isinstance(other, types.Boolean) else None

    def unify(self, typing_context, other):
        return self if isinstance(other, types.Boolean) else None


class LaneArrayType(types.Type):
    """An array of lane values; not checked, and no owner of its memory."""

    def __init__(self, ndim):
        self.ndim = ndim
        super().__init__(name=f"LaneArray({ndim})")


LANES, FLAGS = LanesType(), FlagsType()


@register_default(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _EIGHT)


@register_default(FlagsType)
class _FlagsModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _FLAGS)


@register_default(LaneArrayType)
class _LaneArrayModel(models.StructModel):
    def __init__(self, manager, kind):
        members = [
            ("data", types.CPointer(types.float64)),
            ("shape", types.UniTuple(types.intp, kind.ndim)),
        ]
        super().__init__(manager, kind, members)


# Arithmetic.


def _spread(builder, value):
    """The same double in all lanes."""
    first = builder.insert_element(cgutils.ir.Constant(_EIGHT, None), value, _INDEX(0))
    order = cgutils.ir.Constant(cgutils.ir.VectorType(_INDEX, WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(first, cgutils.ir.Constant(_EIGHT, None), order)


def _constant(value):
    return cgutils.ir.Constant(_EIGHT, [value] * WIDTH)


@lower_cast(types.Number, LanesType)
def _from_number(context, builder, from_type, to_type, value):
    return _spread(builder, context.cast(builder, value, from_type, types.float64))


@lower_cast(types.Boolean, FlagsType)
def _from_boolean(context, builder, from_type, to_type, value):
    single = builder.trunc(value, _FLAGS.element) if value.type.width > 1 else value
    first = builder.insert_element(cgutils.ir.Constant(_FLAGS, None), single, _INDEX(0))
    order = cgutils.ir.Constant(cgutils.ir.VectorType(_INDEX, WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(first, cgutils.ir.Constant(_FLAGS, None), order)


def _binary(function, kind, lowered):
    """A function of two lane values, or of one and a number."""

    @infer_global(function)
    class _Typed(AbstractTemplate):
        def generic(self, given, keywords):
            if len(given) == 2 and LANES in given:
                other = given[1] if given[0] == LANES else given[0]
                if other == LANES or isinstance(other, types.Number):
                    return signature(kind, LANES, LANES)
            return None

    @lower_builtin(function, LanesType, LanesType)
    def _lower(context, builder, signature, arguments):
        return lowered(builder, *arguments)


for _functions, _name in (
    ((operator.add, operator.iadd), "fadd"),
    ((operator.sub, operator.isub), "fsub"),
    ((operator.mul, operator.imul), "fmul"),
    ((operator.truediv, operator.itruediv), "fdiv"),
):
    for _function in _functions:
        _binary(_function, LANES, lambda builder, a, b, name=_name: getattr(builder, name)(a, b))

for _function, _name in (
    (operator.lt, "<"),
    (operator.le, "<="),
    (operator.gt, ">"),
    (operator.ge, ">="),
    (operator.eq, "=="),
):
    _binary(_function, FLAGS, lambda builder, a, b, name=_name: builder.fcmp_ordered(name, a, b))
_binary(operator.ne, FLAGS, lambda builder, a, b: builder.fcmp_unordered("!=", a, b))
_binary(min, LANES, lambda builder, a, b: _smaller(builder, "<", a, b))
_binary(max, LANES, lambda builder, a, b: _smaller(builder, ">", a, b))


def _smaller(builder, relation, a, b):
    return builder.select(builder.fcmp_ordered(relation, b, a), b, a)


def _flags(function, name):
    @infer_global(function)
    class _Typed(AbstractTemplate):
        def generic(self, given, keywords):
            if len(given) == 2 and FLAGS in given and set(given) <= {FLAGS, types.boolean}:
                return signature(FLAGS, FLAGS, FLAGS)
            return None

    @lower_builtin(function, FlagsType, FlagsType)
    def _lower(context, builder, signature, arguments):
        return getattr(builder, name)(*arguments)


_flags(operator.and_, "and_")
_flags(operator.or_, "or_")


def _call(builder, name, *values):
    """A vector instruction, or what the compiler makes of it where there is none."""
    kind = cgutils.ir.FunctionType(_EIGHT, [_EIGHT] * len(values))
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{WIDTH}f64")
    return builder.call(function, values)


def _unary(function, lowered):
    @infer_global(function)
    class _Typed(AbstractTemplate):
        def generic(self, given, keywords):
            return signature(LANES, LANES) if given == (LANES,) else None

    @lower_builtin(function, LanesType)
    def _lower(context, builder, signature, arguments):
        return lowered(context, builder, arguments[0])


_unary(operator.neg, lambda context, builder, a: builder.fneg(a))
_unary(operator.pos, lambda context, builder, a: a)
_unary(abs, lambda context, builder, a: _call(builder, "fabs", a))
_unary(math.sqrt, lambda context, builder, a: _call(builder, "sqrt", a))


def _one_by_one(function):
    """A function of the mathematical library, lane after lane."""

    def lowered(context, builder, a):
        kind = signature(types.float64, types.float64)
        known = context.typing_context.resolve_value_type(function)
        known.get_call_type(context.typing_context, (types.float64,), {})
        single = context.get_function(known, kind)
        found = cgutils.ir.Constant(_EIGHT, None)
        for lane in range(WIDTH):
            value = single(builder, [builder.extract_element(a, _INDEX(lane))])
            found = builder.insert_element(found, value, _INDEX(lane))
        return found

    _unary(function, lowered)


for _function in (
    math.acos,
    math.acosh,
    math.asinh,
    math.atanh,
    math.cos,
    math.cosh,
    math.erfc,
    math.log,
    math.log1p,
    math.sin,
    math.sinh,
    math.tan,
    math.tanh,
):
    _one_by_one(_function)


@infer_global(operator.pow)
class _PowerTyped(AbstractTemplate):
    def generic(self, given, keywords):
        if len(given) == 2 and given[0] == LANES and isinstance(given[1], types.Integer):
            return signature(LANES, LANES, types.int32)
        return None


@lower_builtin(operator.pow, LanesType, types.int32)
def _power(context, builder, signature, arguments):
    kind = cgutils.ir.FunctionType(_EIGHT, [_EIGHT, _INDEX])
    name = f"llvm.powi.v{WIDTH}f64.i32"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


_binary(math.copysign, LANES, lambda builder, a, b: _call(builder, "copysign", a, b))


# Choices.


def _kind_of_choice(value, other):
    """The type of a choice between values, numbers, conditions or tuples of them; None for others."""
    if isinstance(value, types.BaseTuple):
        pairs = zip(value.types, other.types, strict=True)
        return types.Tuple([_kind_of_choice(*pair) for pair in pairs])
    if LANES in (value, other):
        return LANES
    if FLAGS in (value, other):
        return FLAGS
    return types.boolean if isinstance(value, types.Boolean) else types.float64


@intrinsic
def chosen(typing_context, condition, value, other):
    """``value`` in the lanes in which the condition holds, ``other`` in the rest; also of one run."""
    if condition != FLAGS and not isinstance(condition, types.Boolean):
        return None

    def select(builder, kind, flags, value, other):
        if isinstance(kind, types.BaseTuple):
            parts = zip(
                kind.types,
                cgutils.unpack_tuple(builder, value),
                cgutils.unpack_tuple(builder, other),
                strict=True,
            )
            return cgutils.pack_array(builder, [select(builder, k, flags, *v) for k, *v in parts])
        return builder.select(flags, value, other)

    def lowered(context, builder, signature, arguments):
        flags, *values = arguments
        if signature.args[0] != FLAGS and flags.type.width > 1:
            flags = builder.trunc(flags, cgutils.ir.IntType(1))
        return select(builder, signature.return_type, flags, *values)

    kind = _kind_of_choice(value, other)
    if condition == FLAGS:
        kind = _of_lanes(kind)
    return kind(condition, kind, kind), lowered


def _of_lanes(kind):
    """The type of the same for several runs."""
    if isinstance(kind, types.BaseTuple):
        return types.Tuple([_of_lanes(each) for each in kind.types])
    return FLAGS if kind in (FLAGS, types.boolean) else LANES


@intrinsic
def any_lane(typing_context, condition):
    """Whether a condition holds in any lane; one that is the same for all runs, whether it holds."""

    def lowered(context, builder, signature, arguments):
        if signature.args[0] != FLAGS:
            return arguments[0]
        bits = builder.bitcast(arguments[0], cgutils.ir.IntType(WIDTH))
        return builder.icmp_unsigned("!=", bits, bits.type(0))

    return types.boolean(FLAGS if condition == FLAGS else types.boolean), lowered


@intrinsic
def negated(typing_context, condition):
    """The lanes in which a condition does not hold."""

    def lowered(context, builder, signature, arguments):
        return builder.not_(arguments[0])

    kind = FLAGS if condition == FLAGS else types.boolean
    return kind(kind), lowered


@intrinsic
def lane_of(typing_context, value, lane):
    """What one of the runs has; of a number, the number."""

    def lowered(context, builder, signature, arguments):
        number = builder.trunc(arguments[1], _INDEX)
        return builder.extract_element(arguments[0], number)

    return types.float64(LANES, types.intp), lowered


@intrinsic
def with_lane(typing_context, value, lane, number):
    """The same with another number for one of the runs."""

    def lowered(context, builder, signature, arguments):
        values, lane, number = arguments
        return builder.insert_element(values, number, builder.trunc(lane, _INDEX))

    return LANES(LANES, types.intp, types.float64), lowered


@intrinsic
def lane_bits(typing_context, condition):
    """A condition as an integer: bit l is that of lane l; of one run the lowest."""

    def lowered(context, builder, signature, arguments):
        bits = arguments[0]
        if signature.args[0] == FLAGS:
            bits = builder.bitcast(bits, cgutils.ir.IntType(WIDTH))
        return builder.zext(bits, cgutils.ir.IntType(64))

    return types.int64(FLAGS if condition == FLAGS else types.boolean), lowered


# Memory.


def _place(builder, data, number):
    first = builder.mul(number, number.type(WIDTH))
    return builder.bitcast(builder.gep(data, [first]), _EIGHT.as_pointer())


def _data(context, builder, kind, vector):
    return context.make_array(kind)(context, builder, vector).data


@intrinsic
def lanes_at(typing_context, vector, number):
    """Lane value ``number`` of a vector of doubles."""

    def lowered(context, builder, signature, arguments):
        data = _data(context, builder, signature.args[0], arguments[0])
        return builder.load(_place(builder, data, arguments[1]), align=_FLOAT_BYTES)

    return LANES(vector, types.intp), lowered


@intrinsic
def put_lanes(typing_context, vector, number, value):
    """Write lane value ``number`` of a vector of doubles."""

    def lowered(context, builder, signature, arguments):
        data = _data(context, builder, signature.args[0], arguments[0])
        builder.store(arguments[2], _place(builder, data, arguments[1]), align=_FLOAT_BYTES)
        return context.get_dummy_value()

    return types.none(vector, types.intp, LANES), lowered


def _lane_array(context, builder, data, shape):
    array = cgutils.create_struct_proxy(LaneArrayType(len(shape.type)))(context, builder)
    array.data, array.shape = data, shape
    return array._getvalue()


@intrinsic
def view(typing_context, vector, start, shape):
    """Lane values of a vector of doubles from number ``start`` on as an array, not copied.

    Nothing is checked, and the vector must outlive the array.
    """

    def lowered(context, builder, signature, arguments):
        vector, start, sizes = arguments
        data = _data(context, builder, signature.args[0], vector)
        place = builder.gep(data, [builder.mul(start, start.type(WIDTH))])
        lengths = context.cast(builder, sizes, signature.args[2], own)
        return _lane_array(context, builder, place, lengths)

    own = types.UniTuple(types.intp, len(shape))
    return LaneArrayType(len(shape))(vector, types.intp, shape), lowered


@intrinsic(prefer_literal=True)
def stack_array(typing_context, count, shape):
    """Lane values on the stack, of a number known at compile time, not initialised.

    They live until the function returns that asks for them.
    """
    if not isinstance(count, types.IntegerLiteral):
        return None
    number = count.literal_value * WIDTH

    def lowered(context, builder, signature, arguments):
        address = cgutils.alloca_once(builder, _DOUBLE, number)
        address.align = _ALIGNMENT
        lengths = context.cast(builder, arguments[1], signature.args[1], own)
        return _lane_array(context, builder, address, lengths)

    own = types.UniTuple(types.intp, len(shape))
    return LaneArrayType(len(shape))(count, shape), lowered


@infer_getattr
class _LaneArrayAttributes(AttributeTemplate):
    key = LaneArrayType

    def resolve_shape(self, kind):
        return types.UniTuple(types.intp, kind.ndim)


@lower_getattr(LaneArrayType, "shape")
def _shape(context, builder, kind, value):
    return cgutils.create_struct_proxy(kind)(context, builder, value).shape


def _index_type(array, index):
    """The type of an index of an array; None for what is none."""
    if array.ndim == 1 and isinstance(index, types.Integer):
        return types.intp
    inner = index.types if isinstance(index, types.BaseTuple) else ()
    if len(inner) == array.ndim and all(isinstance(each, types.Integer) for each in inner):
        return types.UniTuple(types.intp, array.ndim)
    return None


@infer_global(operator.getitem)
class _GetTyped(AbstractTemplate):
    def generic(self, given, keywords):
        if isinstance(given[0], LaneArrayType):
            index = _index_type(*given)
            return None if index is None else signature(LANES, given[0], index)
        return None


@infer_global(operator.setitem)
class _SetTyped(AbstractTemplate):
    def generic(self, given, keywords):
        if isinstance(given[0], LaneArrayType):
            index = _index_type(*given[:2])
            return None if index is None else signature(types.none, given[0], index, LANES)
        return None


def _element(context, builder, signature, arguments):
    kind, index_type = signature.args[:2]
    array = cgutils.create_struct_proxy(kind)(context, builder, arguments[0])
    index = arguments[1]
    if isinstance(index_type, types.BaseTuple):
        parts = cgutils.unpack_tuple(builder, index)
        lengths = cgutils.unpack_tuple(builder, array.shape)
        index = parts[0]
        for part, length in zip(parts[1:], lengths[1:], strict=True):
            index = builder.add(builder.mul(index, length), part)
    return _place(builder, array.data, index)


@lower_builtin(operator.getitem, LaneArrayType, types.Any)
def _get(context, builder, signature, arguments):
    return builder.load(_element(context, builder, signature, arguments), align=_FLOAT_BYTES)


@lower_builtin(operator.setitem, LaneArrayType, types.Any, LanesType)
def _set(context, builder, signature, arguments):
    place = _element(context, builder, signature, arguments)
    builder.store(arguments[2], place, align=_FLOAT_BYTES)
    return context.get_dummy_value()


# For text that is compiled for one run and for eight: how many there are, from a right-hand side,
# whose time is a double or the lanes of a vector, and from a value.


@intrinsic
def zero_of(typing_context, right_hand_side):
    """Zero for the runs of a right-hand side."""

    def lowered(context, builder, signature, arguments):
        return _constant(0.0) if kind == LANES else context.get_constant(kind, 0.0)

    single = right_hand_side.signature.args[0] == types.float64
    kind = types.float64 if single else LANES
    return kind(right_hand_side), lowered


@intrinsic
def width_of(typing_context, like):
    """How many runs there are at a time."""

    def lowered(context, builder, signature, arguments):
        return context.get_constant(types.intp, WIDTH if like == LANES else 1)

    return types.intp(like), lowered


@intrinsic
def derivative_apart(typing_context):
    """Tell the compiler that the argument ``derivative`` of the function overlaps with no other
    array, so that what was read from others need not be read again.
    """

    def lowered(context, builder, signature, arguments):
        for argument in builder.function.args:
            if argument.name.startswith("arg.derivative.") and argument.type == numbers:
                argument.add_attribute("noalias")
        return context.get_dummy_value()

    numbers = _DOUBLE.as_pointer()
    return types.void(), lowered


@intrinsic
def next_of(typing_context, counter):
    """The first of an array of integers, which is increased by one; also between threads."""

    def lowered(context, builder, signature, arguments):
        data = _data(context, builder, signature.args[0], arguments[0])
        return builder.atomic_rmw("add", data, data.type.pointee(1), "monotonic")

    return types.int64(counter), lowered


# Elementary functions without branches.

@intrinsic
def _near_inverse_root(typing_context, value):
    """A first guess of 1/sqrt(value), right to 4 %, from the bits of the number."""

    def lowered(context, builder, signature, arguments):
        whole = cgutils.ir.VectorType(cgutils.ir.IntType(64), WIDTH)
        bits = builder.bitcast(arguments[0], whole)
        half = builder.lshr(bits, cgutils.ir.Constant(whole, [1] * WIDTH))
        magic = cgutils.ir.Constant(whole, [0x5FE6EB50C7B537A9] * WIDTH)
        return builder.bitcast(builder.sub(magic, half), _EIGHT)

    return LANES(LANES), lowered


@njit(error_model="numpy", fastmath={"contract"}, no_cfunc_wrapper=True)
def inverse_root(value):
    """1/sqrt(value) of lane values, with an error below 2 ulp, by Newton's steps: multiplications
    alone, of which processors make many while they make one root.

    Of 0, and of what is too small to have all digits, it is infinite; of negative numbers NaN.
    """
    half = 0.5 * value
    found = _near_inverse_root(value)
    found = found * (1.5 - (half * found) * found)
    found = found * (1.5 - (half * found) * found)
    found = found * (1.5 - (half * found) * found)
    found = found * (1.5 - (half * found) * found)
    found = found + found * (0.5 - (half * found) * found)
    edge = chosen(value >= 0.0, math.copysign(math.inf, value), math.nan)
    return chosen(value >= 1e-307, found, edge)


_ARCSINE = (
    0.16666666666666669,
    0.07499999999998433,
    0.04464285714635543,
    0.030381944138531247,
    0.02237217294214989,
    0.017352392720869973,
    0.013971212973552933,
    0.011479177415184906,
    0.01032281435018578,
    0.005457506718640358,
    0.01740087944269402,
    -0.014851887071247204,
    0.028757851367421566,
)
_HALF_PI = 1.5707963267948966
# What is left of pi/2.
_HALF_PI_REST = 6.123233995736766e-17


@overload(math.asin, jit_options={"error_model": "numpy", "fastmath": {"contract"}})
def _arcsine(x):
    """The arcsine of ``symderiv_codegen/printers/elementary.py``, with an error below 2 ulp."""
    if x != LANES:
        return None

    def arcsine(x):
        size = abs(x)
        large = size > 0.5
        z = chosen(large, 0.5 - 0.5 * size, size * size)
        s = chosen(large, math.sqrt(z), size)
        z2 = z * z
        z4 = z2 * z2
        low = _ARCSINE[0] + _ARCSINE[1] * z + (_ARCSINE[2] + _ARCSINE[3] * z) * z2
        middle = _ARCSINE[4] + _ARCSINE[5] * z + (_ARCSINE[6] + _ARCSINE[7] * z) * z2
        high = _ARCSINE[8] + _ARCSINE[9] * z + (_ARCSINE[10] + _ARCSINE[11] * z) * z2
        p = low + middle * z4 + (high + _ARCSINE[12] * z4) * (z4 * z4)
        rest = s * z * p
        head = chosen(large, _HALF_PI - 2.0 * s, s)
        tail = chosen(large, _HALF_PI_REST - 2.0 * rest, rest)
        return math.copysign(head + tail, x)

    return arcsine


_ARCTANGENT = (
    -0.3333333333333333,
    0.19999999999999798,
    -0.14285714285658574,
    0.11111111105033467,
    -0.09090908747438506,
    0.07692296199967973,
    -0.06666421745351814,
    0.058788929347181634,
    -0.052301889934494805,
    0.04550384655278787,
    -0.034539518756678086,
    0.01625139658592304,
)
# tan(pi/8)
_EIGHTH = 0.4142135623730951
_QUARTER_PI, _QUARTER_PI_REST = 0.7853981633974483, 3.061616997868383e-17


@njit(error_model="numpy", fastmath={"contract"}, no_cfunc_wrapper=True)
def _arctangent_to_one(quotient):
    """The arctangent of lane values between 0 and 1, in two parts; see ``elementary.py``."""
    middle = quotient > _EIGHTH
    t = chosen(middle, (quotient - 1.0) / (quotient + 1.0), quotient)
    z = t * t
    z2 = z * z
    z4 = z2 * z2
    low = _ARCTANGENT[0] + _ARCTANGENT[1] * z + (_ARCTANGENT[2] + _ARCTANGENT[3] * z) * z2
    mid = _ARCTANGENT[4] + _ARCTANGENT[5] * z + (_ARCTANGENT[6] + _ARCTANGENT[7] * z) * z2
    high = _ARCTANGENT[8] + _ARCTANGENT[9] * z
    high += (_ARCTANGENT[10] + _ARCTANGENT[11] * z) * z2
    p = low + mid * z4 + high * (z4 * z4)
    rest = chosen(middle, _QUARTER_PI_REST, 0.0) + t * z * p
    return chosen(middle, _QUARTER_PI, 0.0), t + rest


@overload(math.atan2, jit_options={"error_model": "numpy", "fastmath": {"contract"}})
def _angle(y, x):
    """The angle of a point, with an error below 2 ulp; 0 at the origin."""
    if LANES not in (y, x):
        return None

    def angle(y, x):
        along, across = abs(x), abs(y)
        steep = across > along
        large = chosen(steep, across, along)
        small = chosen(steep, along, across)
        least = large > 0.0
        head, rest = _arctangent_to_one(chosen(least, small, 0.0) / chosen(least, large, 1.0))
        head = chosen(steep, _HALF_PI - head, head)
        rest = chosen(steep, _HALF_PI_REST - rest, rest)
        behind = math.copysign(1.0, x) < 0.0
        head = chosen(behind, 2.0 * _HALF_PI - head, head)
        rest = chosen(behind, 2.0 * _HALF_PI_REST - rest, rest)
        found = math.copysign(head + rest, y)
        return chosen((x == x) & (y == y), found, x + y)

    return angle


@overload(math.atan, jit_options={"error_model": "numpy", "fastmath": {"contract"}})
def _arctangent(x):
    if x != LANES:
        return None
    return lambda x: math.atan2(x, 1.0)


_GROWTH = tuple(1.0 / math.factorial(n) for n in range(14))
_LOG_2, _LOG_2_REST = 0.6931471803691238, 1.9082149292705877e-10


@intrinsic
def _power_of_two(typing_context, exponent):
    """Two to the power of lane values that are whole numbers from -1022 to 1023."""

    def lowered(context, builder, signature, arguments):
        whole = cgutils.ir.VectorType(cgutils.ir.IntType(64), WIDTH)
        number = builder.fptosi(arguments[0], whole)
        number = builder.add(number, cgutils.ir.Constant(whole, [1023] * WIDTH))
        number = builder.shl(number, cgutils.ir.Constant(whole, [52] * WIDTH))
        return builder.bitcast(number, _EIGHT)

    return LANES(LANES), lowered


@intrinsic
def _nearest(typing_context, value):
    """The nearest whole numbers."""

    def lowered(context, builder, signature, arguments):
        return _call(builder, "rint", arguments[0])

    return LANES(LANES), lowered


@overload(math.exp, jit_options={"error_model": "numpy", "fastmath": {"contract"}})
def _exponential(x):
    """The exponential, with an error below 1 ulp: a power of two times Taylor's sum."""
    if x != LANES:
        return None

    def exponential(x):
        inside = min(max(chosen(x == x, x, 0.0), -746.0), 710.0)
        number = _nearest(inside * 1.4426950408889634)
        r = inside - number * _LOG_2
        s = number * _LOG_2_REST
        r = r - s
        r2 = r * r
        r4 = r2 * r2
        low = _GROWTH[2] + _GROWTH[3] * r + (_GROWTH[4] + _GROWTH[5] * r) * r2
        mid = _GROWTH[6] + _GROWTH[7] * r + (_GROWTH[8] + _GROWTH[9] * r) * r2
        high = _GROWTH[10] + _GROWTH[11] * r + (_GROWTH[12] + _GROWTH[13] * r) * r2
        more = r + r2 * (low + mid * r4 + high * (r4 * r4))
        # in two factors, since the second of small results is below the smallest normal number
        half = _nearest(0.5 * number)
        found = (1.0 + more) * _power_of_two(half) * _power_of_two(number - half)
        return chosen(x == x, found, x)

    return exponential


# erf(x)/x over x**2 from 0 to 1, and erfc(x) exp(x**2) over w = (x - 2.4)/(x + 2.4), for x from 1
# to 6, interpolated at Chebyshev's nodes
_ERROR = (
    1.1283791670955126,
    -0.3761263890318375,
    0.11283791670954879,
    -0.026866170645076792,
    0.0052239776248180145,
    -0.000854832698083379,
    0.0001205533111164271,
    -1.4925595266831182e-05,
    1.6461000484121368e-06,
    -1.6350312701054695e-07,
    1.4659775274047436e-08,
    -1.1372848856791674e-09,
    5.957176147748911e-11,
)
_ERROR_TAIL = (
    0.21849873453703333,
    -0.38200915832521254,
    0.25145618150158666,
    -0.11772534067706088,
    0.03272106479219664,
    -0.0006810619568425087,
    -0.0029738439271462485,
    0.0004802808953911787,
    0.00034476092760222273,
    -7.174850960181701e-05,
    -5.592987305987995e-05,
    6.881170263892718e-06,
    1.076183845319032e-05,
    5.785965546997183e-07,
    -1.9823254079388107e-06,
    -5.915143076909253e-07,
    2.5745779518756615e-07,
    1.757311418631767e-07,
)


@njit(error_model="numpy", fastmath={"contract"}, no_cfunc_wrapper=True)
def _polynomial(coefficients, x):
    """A polynomial with its coefficients, the constant first."""
    square = x * x
    found, more = 0.0 * x, 0.0 * x
    for n in range(len(coefficients) - 1, -1, -1):
        if n % 2 == 0:
            found = found * square + coefficients[n]
        else:
            more = more * square + coefficients[n]
    return found + x * more


@overload(math.erf, jit_options={"error_model": "numpy", "fastmath": {"contract"}})
def _error_function(x):
    """The error function, with an error below 3 ulp (largest found)."""
    if x != LANES:
        return None

    def error_function(x):
        size = abs(x)
        small = size < 1.0
        near = chosen(small, size, 1.0)
        far = min(max(size, 1.0), 6.0)
        w = (far - 2.4) / (far + 2.4)
        beyond = 1.0 - math.exp(-far * far) * _polynomial(_ERROR_TAIL, w)
        found = chosen(small, near * _polynomial(_ERROR, near * near), beyond)
        return chosen(x == x, math.copysign(found, x), x)

    return error_function


@intrinsic
def unit_scale(typing_context, variance):
    """The power of two that brings the square root of a number near 1; 1 for 0."""

    def lowered(context, builder, signature, arguments):
        whole = cgutils.ir.VectorType(cgutils.ir.IntType(64), WIDTH)

        def all_lanes(number):
            return cgutils.ir.Constant(whole, [number] * WIDTH)

        bits = builder.bitcast(arguments[0], whole)
        exponent = builder.and_(builder.lshr(bits, all_lanes(52)), all_lanes(0x7FF))
        half = builder.ashr(builder.sub(exponent, all_lanes(1022)), all_lanes(1))
        power = builder.shl(builder.sub(all_lanes(1023), half), all_lanes(52))
        found = builder.bitcast(power, _EIGHT)
        nothing = builder.icmp_signed("==", exponent, all_lanes(0))
        return builder.select(nothing, _constant(1.0), found)

    return LANES(LANES), lowered


@njit(cache=True, error_model="numpy", fastmath={"contract"}, no_cfunc_wrapper=True)
def to_inverse_roots(values, count):
    """Replace the first lane values of an array by their inverse square roots.

    0 gives infinity, a negative number NaN.
    """
    for k in range(count):
        values[k] = inverse_root(values[k])


@njit(cache=True, error_model="numpy", fastmath={"contract"}, no_cfunc_wrapper=True)
def to_arcsines(values, count):
    """Replace the first lane values of an array by their arcsines."""
    for k in range(count):
        values[k] = math.asin(values[k])
