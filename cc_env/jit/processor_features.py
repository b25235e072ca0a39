"""The features of the processor for which numba generates code, in LLVM's notation."""

import ctypes
import platform
import sys

from cc_env.jit.numba_internals import codegen, config, cpu_target

IS_X86 = platform.machine() in ("x86_64", "AMD64")
_IS_ARM = platform.machine() in ("aarch64", "arm64", "ARM64")
DOT_PRODUCTS = "+dotprod"
# Linux: type of the entry of the auxiliary vector, and its bit for dot products (ASIMDDP).
_AT_HWCAP, _HWCAP_ASIMDDP = 16, 1 << 20
# Windows: PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE.
_WINDOWS_DOT_PRODUCTS = 43
_MACOS_DOT_PRODUCTS = b"hw.optional.arm.FEAT_DotProd"


def select_features() -> str:
    """Return the features, separated by commas, and make numba generate code for them.

    LLVM does not report ARM's dot products, so they are added, unless the user chose the features
    or numba chose them before, for a function of another package. `cc_env.jit.compiler` calls this
    when it is imported, since numba chooses them with the first function.
    """
    if config.CPU_FEATURES is not None:
        return str(config.CPU_FEATURES)
    features: str = codegen.get_host_cpu_features()
    is_chosen = "_toplevel_target_context" in vars(cpu_target)
    if DOT_PRODUCTS in features.split(",") or is_chosen or not has_dot_products():
        return features
    config.CPU_FEATURES = ",".join(filter(None, (features, DOT_PRODUCTS)))
    return str(config.CPU_FEATURES)


def has_dot_products() -> bool:
    """Return whether this is an ARM processor with dot products of bytes (SDOT)."""
    if not _IS_ARM:
        return False
    if sys.platform == "darwin":
        value, size = ctypes.c_int(), ctypes.c_size_t(ctypes.sizeof(ctypes.c_int))
        read = ctypes.CDLL(None).sysctlbyname
        error = read(_MACOS_DOT_PRODUCTS, ctypes.byref(value), ctypes.byref(size), None, 0)
        return not error and bool(value.value)
    if sys.platform == "win32":
        kernel = ctypes.WinDLL("kernel32")
        return bool(kernel.IsProcessorFeaturePresent(_WINDOWS_DOT_PRODUCTS))
    read_capabilities = ctypes.CDLL(None).getauxval
    read_capabilities.argtypes, read_capabilities.restype = (ctypes.c_ulong,), ctypes.c_ulong
    return bool(read_capabilities(_AT_HWCAP) & _HWCAP_ASIMDDP)
