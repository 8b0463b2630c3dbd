"""The state that all pieces of a translated function share: its text, module and needs."""

from __future__ import annotations

from collections.abc import Callable

from symderiv.compiled_code.translation.ir_module import IrModule
from symderiv.compiled_code.translation.ir_values import IrNumber
from symderiv.compiled_code.translation.ir_writer import Writer
from symderiv.compiled_code.translation.module_source import FunctionSource


class FunctionBody:
    """A function while its instructions are written.

    Args:
        module: The module of other functions and constants.
        source: The function.

    Attributes:
        writer: Its instructions.
        gives_arrays: Whether its result has arrays, which must outlive it.
        takes_memory: Whether it has arrays that are not on the stack.
        apart: Whether its argument ``derivative`` overlaps with no other.
    """

    def __init__(self, module: IrModule, source: FunctionSource) -> None:
        self.module, self.source = module, source
        self.writer = Writer(source.flags)
        self.gives_arrays = self.takes_memory = self.apart = False

    def repeated(self, count: IrNumber, body: Callable[[IrNumber], None]) -> None:
        """Write a loop over 0, 1, ... below a count."""
        writer = self.writer
        before, head, inside, after = (
            writer.here,
            *(writer.block(name) for name in ("head", "inside", "after")),
        )
        writer.jump(head)
        writer.go_to(head)
        index = f"%{writer.name()}"
        following = f"%{writer.name()}"
        latch = writer.block("latch")
        writer.line(f"{index} = phi i64 [ 0, %{before} ], [ {following}, %{latch} ]")
        more = writer.made(f"icmp slt i64 {index}, {count.text}")
        writer.branch(IrNumber("b", more), inside, after)
        writer.go_to(inside)
        body(IrNumber("i", index))
        writer.jump(latch)
        writer.go_to(latch)
        writer.line(f"{following} = add nsw i64 {index}, 1")
        writer.jump(head)
        writer.go_to(after)
