"""The processor that code is compiled for."""

from __future__ import annotations

from functools import cache
from typing import Any

__all__ = ["level_three", "machine"]


@cache
def machine() -> Any:
    """Return LLVM's description of this processor."""
    from llvmlite import binding

    return _machine(binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten(), 2)


@cache
def level_three() -> Any:
    """Return that of processors with level 3 of x86-64."""
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
