"""Instructions of one function as text: blocks, numbered values, and arithmetic as in numba."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

from symderiv.compiled_code.translation.ir_values import (
    LLVM,
    IrArray,
    IrNumber,
    Kind,
    UntranslatableError,
    Value,
    built,
    kind_of,
    known,
    leaves,
    texts,
)

_FLOATS = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_INTEGERS = {"+": "add", "-": "sub", "*": "mul", "&": "and", "<<": "shl", ">>": "ashr"}
_ORDERED = {"==": "oeq", "!=": "une", "<": "olt", "<=": "ole", ">": "ogt", ">=": "oge"}
_COMPARED = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_KNOWN: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": operator.and_,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "//": operator.floordiv,
    "%": operator.mod,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Writer:
    """The text of a function while it is written.

    Args:
        flags: LLVM's flags of arithmetic with doubles, with a blank behind.
    """

    def __init__(self, flags: str) -> None:
        self.flags = flags
        self._count = 0
        self._reserved: list[str] = []
        self._blocks: dict[str, list[str]] = {"start": []}
        self._here = "start"
        self._ended: set[str] = set()

    # blocks

    @property
    def here(self) -> str:
        """Return the name of the block that is written to."""
        return self._here

    @property
    def ended(self) -> bool:
        """Return whether this block has ended, so that nothing can follow in it."""
        return self._here in self._ended

    def name(self, prefix: str = "v") -> str:
        """Return a new unique name."""
        self._count += 1
        return f"{prefix}{self._count}"

    def block(self, prefix: str) -> str:
        """Return the name of a new block, placed behind the others."""
        name = self.name(prefix)
        self._blocks[name] = []
        return name

    def go_to(self, block: str) -> None:
        """Move a block to the end of the text, and write to it from now on."""
        # blocks stand in the text in the order in which they are begun
        self._blocks[block] = self._blocks.pop(block)
        self._here = block

    def back_to(self, block: str) -> None:
        """Write again to a block that was begun before."""
        self._here = block

    def line(self, text: str) -> None:
        """Write an instruction."""
        if not self.ended:
            self._blocks[self._here].append(text)

    def jump(self, block: str) -> None:
        """End the block with a jump."""
        self.end(f"br label %{block}")

    def branch(self, condition: IrNumber, yes: str, no: str) -> None:
        """End the block with a conditional branch."""
        self.end(f"br i1 {condition.text}, label %{yes}, label %{no}")

    def end(self, text: str) -> None:
        """End the block with an instruction."""
        self.line(text)
        self._ended.add(self._here)

    def made(self, text: str) -> str:
        """Write an instruction with a result; return the name of the result."""
        name = f"%{self.name()}"
        self.line(f"{name} = {text}")
        return name

    def reserved(self, words: str) -> str:
        """Reserve memory on the stack when the function is entered; return its name."""
        name = f"%{self.name('room')}"
        self._reserved.append(f"{name} = alloca {words}")
        return name

    def text(self) -> str:
        """Return the text of all blocks."""
        blocks = []
        for name, lines in self._blocks.items():
            reserved = self._reserved if name == "start" else []
            body = [*reserved, *lines]
            if name not in self._ended:
                body.append("unreachable")
            blocks.append("\n".join([f"{name}:", *(f"  {line}" for line in body)]))
        return "\n".join(blocks)

    # numbers

    def converted(self, value: Value, kind: Kind) -> Value:
        """Return a value converted to a wider kind."""
        own = kind_of(value)
        if own == kind:
            return value
        if isinstance(value, IrNumber) and isinstance(kind, str):
            return self.number(value, kind)
        if isinstance(value, IrArray):
            return IrArray(value.item, value.data, value.shape, self.steps_of(value))
        if isinstance(value, tuple) and kind[0] == "tuple":
            pairs = zip(value, kind[1], strict=True)
            return tuple(self.converted(each, wanted) for each, wanted in pairs)
        raise UntranslatableError(f"{own} in place of {kind}")

    def number(self, value: IrNumber, kind: str) -> IrNumber:
        """Return a number converted to another kind, as Python's float, int and bool do."""
        if value.kind == kind:
            return value
        if value.constant is not None:
            if kind == "f":
                return known(float(value.constant))
            if kind == "u":
                return IrNumber("u", value.text, int(value.constant))
            if kind == "i":
                return known(int(value.constant))
            return known(bool(value.constant))
        old, new = LLVM[value.kind], LLVM[kind]
        if kind == "b":
            return self.compared("!=", value, self.number(known(0), value.kind))
        if value.kind == "f":
            return IrNumber(kind, self.made(f"fptosi double {value.text} to i64"))
        if value.kind == "b":
            how = "uitofp" if kind == "f" else "zext"
            return IrNumber(kind, self.made(f"{how} i1 {value.text} to {new}"))
        if kind == "f":
            how = "uitofp" if value.kind == "u" else "sitofp"
            return IrNumber(kind, self.made(f"{how} {old} {value.text} to double"))
        return IrNumber(kind, value.text)

    def alike(self, one: IrNumber, other: IrNumber) -> tuple[IrNumber, IrNumber]:
        """Return two numbers converted to one kind."""
        kinds = {one.kind, other.kind}
        if "f" in kinds:
            wanted = "f"
        elif "u" in kinds:
            if not all(n.kind == "u" or n.constant is not None for n in (one, other)):
                raise UntranslatableError("arithmetic with integers of both kinds")
            wanted = "u"
        else:
            wanted = "i" if kinds != {"b"} else "b"
        return self.number(one, wanted), self.number(other, wanted)

    def arithmetic(self, sign: str, one: IrNumber, other: IrNumber) -> IrNumber:
        """Return the result of one of Python's binary operations."""
        if sign == "/":
            one, other = self.number(one, "f"), self.number(other, "f")
        else:
            if one.kind == other.kind == "b":
                one = self.number(one, "i")
            one, other = self.alike(one, other)
        both = one.constant is not None and other.constant is not None
        if both and ((sign in _KNOWN and one.kind != "f") or (one.kind == "f" and sign in "+-*")):
            constant = known(_KNOWN[sign](one.constant, other.constant))
            return IrNumber("u", constant.text, constant.constant) if one.kind == "u" else constant
        if both and sign == "/" and other.constant:
            return known(one.constant / other.constant)
        if one.kind == "f":
            if sign not in _FLOATS:
                raise UntranslatableError(f"{sign} of doubles")
            made = self.made(f"{_FLOATS[sign]} {self.flags}double {one.text}, {other.text}")
            return IrNumber("f", made)
        if sign in ("//", "%"):
            return self._divided(sign, one, other)
        how = "lshr" if sign == ">>" and one.kind == "u" else _INTEGERS[sign]
        exact = " nsw" if sign in "+-*" and one.kind == "i" else ""
        return IrNumber(one.kind, self.made(f"{how}{exact} i64 {one.text}, {other.text}"))

    def _divided(self, sign: str, one: IrNumber, other: IrNumber) -> IrNumber:
        """Return the quotient, or the remainder, of division rounded down."""
        if one.kind == "u":
            how = "udiv" if sign == "//" else "urem"
            return IrNumber("u", self.made(f"{how} i64 {one.text}, {other.text}"))
        rest = self.made(f"srem i64 {one.text}, {other.text}")
        signs = self.made(f"xor i64 {rest}, {other.text}")
        apart = self.made(f"icmp slt i64 {signs}, 0")
        some = self.made(f"icmp ne i64 {rest}, 0")
        wrong = self.made(f"and i1 {apart}, {some}")
        if sign == "%":
            more = self.made(f"select i1 {wrong}, i64 {other.text}, i64 0")
            return IrNumber("i", self.made(f"add i64 {rest}, {more}"))
        quotient = self.made(f"sdiv i64 {one.text}, {other.text}")
        less = self.made(f"sext i1 {wrong} to i64")
        return IrNumber("i", self.made(f"add i64 {quotient}, {less}"))

    def compared(self, sign: str, one: IrNumber, other: IrNumber) -> IrNumber:
        """Return the truth value of a comparison of two numbers."""
        one, other = self.alike(one, other)
        if one.constant is not None and other.constant is not None:
            return known(bool(_KNOWN[sign](one.constant, other.constant)))
        if one.kind == "f":
            made = self.made(f"fcmp {self.flags}{_ORDERED[sign]} double {one.text}, {other.text}")
        else:
            signed = "" if sign in ("==", "!=") else "u" if one.kind == "u" else "s"
            how = f"{signed}{_COMPARED[sign]}"
            made = self.made(f"icmp {how} {LLVM[one.kind]} {one.text}, {other.text}")
        return IrNumber("b", made)

    def negative(self, value: IrNumber) -> IrNumber:
        """Return a number with its sign changed."""
        if value.constant is not None:
            return known(-value.constant)
        if value.kind == "f":
            return IrNumber("f", self.made(f"fneg {self.flags}double {value.text}"))
        return self.arithmetic("-", known(0), value)

    def inverted(self, value: IrNumber) -> IrNumber:
        """Return the negation of a truth value."""
        value = self.number(value, "b")
        if value.constant is not None:
            return known(not value.constant)
        return IrNumber("b", self.made(f"xor i1 {value.text}, true"))

    def power(self, base: IrNumber, exponent: IrNumber) -> IrNumber:
        """Return a power, by multiplications if the exponent is a constant integer."""
        count = exponent.constant
        if isinstance(count, int):
            if base.constant is not None:
                return known(base.constant**count)
            square, product = base, None
            left = abs(count)
            while left:
                if left & 1:
                    product = square if product is None else self.arithmetic("*", product, square)
                left >>= 1
                if left:
                    square = self.arithmetic("*", square, square)
            product = product or known(1.0)
            return self.arithmetic("/", known(1.0), product) if count < 0 else product
        if base.constant is not None and count is not None:
            return known(math.pow(base.constant, count))
        both = self.number(base, "f"), self.number(exponent, "f")
        return self.called("llvm.pow.f64", both)

    def selected(self, condition: IrNumber, yes: IrNumber, no: IrNumber) -> IrNumber:
        """Return one of two numbers, by a condition."""
        yes, no = self.alike(yes, no)
        word = LLVM[yes.kind]
        chosen = f"select i1 {condition.text}, {word} {yes.text}, {word} {no.text}"
        return IrNumber(yes.kind, self.made(chosen))

    def called(self, function: str, values: Iterable[IrNumber]) -> IrNumber:
        """Return the result of a function of doubles, of LLVM or of the C library."""
        given = ", ".join(f"double {self.number(value, 'f').text}" for value in values)
        return IrNumber("f", self.made(f"call {self.flags}double @{function}({given})"))

    # values in memory

    def stored(self, value: Value, places: Iterable[str]) -> None:
        """Write the words of a value to these addresses."""
        for word, text, place in zip(leaves(kind_of(value)), texts(value), places, strict=True):
            self.line(f"store {word} {text}, ptr {place}")

    def loaded(self, kind: Kind, places: Iterable[str]) -> Value:
        """Return a value read from the addresses of its words."""
        pairs = zip(leaves(kind), places, strict=True)
        return built(kind, [self.made(f"load {word}, ptr {place}") for word, place in pairs])

    def merged(self, one: tuple[Value, str], other: tuple[Value, str], kind: Kind) -> Value:
        """Return the value that has come from one of two blocks, at the begin of a third."""
        words = []
        pairs = zip(leaves(kind), texts(one[0]), texts(other[0]), strict=True)
        for word, mine, its in pairs:
            both = f"[ {mine}, %{one[1]} ], [ {its}, %{other[1]} ]"
            words.append(self.made(f"phi {word} {both}"))
        return built(kind, words)

    # arrays

    def steps_of(self, array: IrArray) -> tuple[IrNumber, ...]:
        """Return the steps, in numbers, from one entry to the next along each axis."""
        if array.steps is not None:
            return array.steps
        steps = [known(1)]
        for length in array.shape[:0:-1]:
            steps.insert(0, self.arithmetic("*", steps[0], length))
        return tuple(steps)

    def place(self, array: IrArray, indices: Iterable[IrNumber]) -> str:
        """Return the address of an entry of an array."""
        where: IrNumber | None = None
        for index, length, step in zip(indices, array.shape, self.steps_of(array), strict=False):
            if index.constant is not None and index.constant < 0:
                index = self.arithmetic("+", length, index)
            if index.kind == "u":
                index = IrNumber("i", index.text, index.constant)
            part = self.arithmetic("*", index, step) if step.constant != 1 else index
            where = part if where is None else self.arithmetic("+", where, part)
        assert where is not None
        return self.moved(array, where)

    def moved(self, array: IrArray, offset: IrNumber) -> str:
        """Return the address at an offset, in numbers, from the first entry."""
        word = LLVM[array.item]
        return self.made(f"getelementptr inbounds {word}, ptr {array.data}, i64 {offset.text}")

    def size_of(self, array: IrArray) -> IrNumber:
        """Return the number of entries of an array."""
        size = known(1)
        for length in array.shape:
            size = self.arithmetic("*", size, length)
        return size
