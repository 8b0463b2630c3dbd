"""The processor that code is compiled for."""

from __future__ import annotations

from functools import cache
from typing import Any

__all__ = ["machine"]


@cache
def machine() -> Any:
    """Return LLVM's description of this processor, as numba asks for it."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.Target.from_triple(binding.get_process_triple()).create_target_machine(
        cpu=binding.get_host_cpu_name(),
        features=binding.get_host_cpu_features().flatten(),
        opt=3,
        reloc="default",
        codemodel="jitdefault",
        jit=True,
    )
