"""The processors for which code is compiled."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def machine() -> Any:
    """Return LLVM's description of this processor."""
    from llvmlite import binding

    return _machine(binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten(), 2)


@cache
def level_three() -> Any:
    """Return LLVM's description of processors with level 3 of x86-64."""
    return _machine("x86-64-v3", "", 3)


def _machine(cpu: str, features: str, level: int) -> Any:
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.Target.from_triple(binding.get_process_triple()).create_target_machine(
        cpu=cpu,
        features=features,
        opt=level,
        reloc="default",
        codemodel="jitdefault",
        jit=True,
    )


def optimised() -> Any:
    """Return the options of LLVM's optimisation passes.

    Level 3 and unrolled loops, which numba asks for, take twice the time to compile; right-hand
    sides of erf, ReLU, SiLU and softsign are no faster for it, those of tanh by a tenth.
    """
    from llvmlite import binding

    options = binding.create_pipeline_tuning_options()
    options.speed_level = 2
    options.loop_unrolling = False
    options.loop_vectorization = True
    options.slp_vectorization = False
    return options


_LEVEL_THREE = frozenset(("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"))
"""The features that make up level 3 of x86-64."""


def for_this_processor(code: bytes, bitcode: bytes) -> bytes:
    """Return the given instructions if this processor has level 3, else compile the bitcode."""
    import lzma

    from llvmlite import binding

    features = binding.get_host_cpu_features()
    if all(features.get(name) for name in _LEVEL_THREE):
        return lzma.decompress(code)
    made: bytes = machine().emit_object(binding.parse_bitcode(lzma.decompress(bitcode)))
    return made
