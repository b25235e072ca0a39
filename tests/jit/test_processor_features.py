"""The features for which numba generates code."""

import ctypes

import pytest

from cc_env.jit import processor_features


class Library:
    """A system library that reports the instructions of an ARM processor."""

    def __init__(self, has_dot_products):
        self.has_dot_products = has_dot_products
        # ctypes.CDLL would return a function object whose types can be set.
        self.getauxval = lambda kind: (kind == 16) * (0xFFF & ~(1 << 20)) | has_dot_products << 20
        self.IsProcessorFeaturePresent = lambda feature: feature == 43 and has_dot_products

    def sysctlbyname(self, name, value, size, new, new_size):
        """Write the value, as macOS does; return an error for another name."""
        if name != b"hw.optional.arm.FEAT_DotProd":
            return -1
        value._obj.value = self.has_dot_products
        return 0


@pytest.fixture
def arm(monkeypatch):
    """Return a function that simulates an ARM processor with a system, with dot products or not."""

    def simulate(system, has_dot_products, features="+neon,+crc"):
        library = Library(has_dot_products)
        monkeypatch.setattr(processor_features, "_IS_ARM", True)
        monkeypatch.setattr(processor_features.sys, "platform", system)
        monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
        monkeypatch.setattr(ctypes, "WinDLL", lambda name: library, raising=False)
        monkeypatch.setattr(processor_features.config, "CPU_FEATURES", None)
        monkeypatch.setattr(processor_features.codegen, "get_host_cpu_features", lambda: features)

    return simulate


def set_chosen(monkeypatch, is_chosen):
    """Simulate that numba has chosen the features of its code, or not."""
    target = type("Target", (), {})()
    if is_chosen:
        target._toplevel_target_context = object()
    monkeypatch.setattr(processor_features, "cpu_target", target)


@pytest.mark.parametrize("has_dot_products", [True, False])
@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_dot_products_of_arm_are_added(arm, monkeypatch, system, has_dot_products):
    arm(system, has_dot_products)
    set_chosen(monkeypatch, False)
    expected = "+neon,+crc,+dotprod" if has_dot_products else "+neon,+crc"
    assert processor_features.select_features() == expected
    # numba generates code for the same features.
    assert (expected if has_dot_products else None) == processor_features.config.CPU_FEATURES


def test_features_that_numba_has_chosen_are_not_extended(arm, monkeypatch):
    arm("linux", True)
    set_chosen(monkeypatch, True)
    assert processor_features.select_features() == "+neon,+crc"
    assert processor_features.config.CPU_FEATURES is None


def test_features_of_the_user_are_kept(arm, monkeypatch):
    arm("linux", True)
    monkeypatch.setattr(processor_features.config, "CPU_FEATURES", "+neon")
    assert processor_features.select_features() == "+neon"


def test_features_that_llvm_reports_are_not_repeated(arm, monkeypatch):
    arm("linux", True, "+neon,+dotprod")
    set_chosen(monkeypatch, False)
    assert processor_features.select_features() == "+neon,+dotprod"


def test_other_processors_have_no_dot_products(monkeypatch):
    monkeypatch.setattr(processor_features, "_IS_ARM", False)
    assert not processor_features.has_dot_products()
