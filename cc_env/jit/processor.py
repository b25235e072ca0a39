"""The processor of this machine, for reports of measurements."""

import platform
from pathlib import Path

from cc_env.jit.matrix_units import request_matrix_units
from cc_env.jit.simd import FEATURES

# Features and names of instructions for products of bytes, the fastest first.
_BYTE_PRODUCTS = {
    "+avx512vnni": "AVX512-VNNI",
    "+avxvnni": "AVX-VNNI",
    "+avx2": "AVX2",
    "+dotprod": "dot products",
}


def processor_name() -> str:
    """Return the model of the processor, as far as the system reports it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, "") or platform.processor() or platform.machine()


def describe_processor() -> str:
    """Return the model of the processor, and its instructions that evaluate networks fastest."""
    available = (name for feature, name in _BYTE_PRODUCTS.items() if feature in FEATURES)
    instructions = "AMX" if request_matrix_units() else next(available, "")
    return ", ".join(filter(None, (processor_name(), instructions)))
