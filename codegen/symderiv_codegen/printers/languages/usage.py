"""An example with a small integrator at the end of a readable module that stands alone."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

from symderiv_codegen.ir.arrays import Vector
from symderiv_codegen.printers.formulas import Example
from symderiv_codegen.printers.header import digest
from symderiv_codegen.printers.lines import INDENT, Bracket, Text, statement


def with_example(
    text: str,
    vectors: Sequence[Vector],
    ranges: Sequence[str],
    example: Example,
    outputs: Sequence[tuple[str, ...]],
) -> str:
    """Return a module with an example that runs with the file, and the new digest in its header.

    Args:
        text: The result of :func:`symderiv_codegen.print_readable`.
        vectors: State and parameters.
        ranges: Names of the ranges, in the order of sizes.
        example: The numbers of the example.
        outputs: Shapes of the arrays that the observables write.
    """
    sizes = ", ".join(str(example.sizes[name]) for name in ranges)
    lines = [f"    sizes = np.array([{sizes}])"]
    for vector in vectors:
        numbers = [repr(x) for array in vector.fields for x in example.values[array.name]]
        entries = Bracket("[", tuple(map(Text, numbers)), "]")
        lines.append(statement(f"{vector.name} = ", Bracket("np.array(", (entries,)), INDENT))
    shapes = [tuple(example.sizes[size] for size in shape) for shape in outputs]
    usage = resources.files(__package__).joinpath("runtime_module.txt").read_text(encoding="utf-8")
    for word, value in (
        ("    NUMBERS", "\n".join(lines)),
        ("OUTPUTS", ", ".join(f"np.empty({shape})" for shape in shapes)),
        ("STEPS", str(example.steps)),
        ("END", repr(example.end)),
    ):
        usage = usage.replace(word, value)
    head, closed, code = text.partition('\n"""\n\n')
    return head.replace(digest(code), digest(code + usage)) + closed + code + usage
